-- Takes what the first rule of a chain found as the beginning of `piece`.
-- One row per row of `haystack`.
-- text is NULL where it found nothing.
-- Source: the table `found`, which is gone afterwards.
drop table if exists temp.piece;
alter table found rename to piece;
