-- Price of tokens of one kind, exact.
-- US dollars as DECIMAL(38, 15); the price is per million tokens.
-- No tokens cost nothing whatever the price; NULL where tokens were used and the price is not known.
-- Source: tokens x price / 1,000,000.
create or replace macro tokens_usd(tokens, price) as
case
    when coalesce(tokens, 0) = 0 then cast(0 as decimal(38, 15))
    else cast(tokens as decimal(13, 0)) * (cast(price as decimal(18, 9)) * cast(0.000001 as decimal(7, 6)))
end;
