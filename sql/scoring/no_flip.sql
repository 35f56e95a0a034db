-- Takes away what a preview compared.
-- No rows.
-- Nothing else is touched.
-- Source: the table `flip`.
drop table if exists temp.flip
