-- Price of tokens, exact.
-- US dollars as DECIMAL(38, 15); prices are per million tokens. NULL tokens of a kind cost nothing.
-- NULL where input and output are both unknown, or a kind that was used has no price.
-- Source: tokens x price / 1,000,000, summed over kinds that do not overlap.
create or replace macro token_cost_usd(
    input, cache_read, cache_write, output, input_price, cache_read_price, cache_write_price, output_price
) as
case
    when input is not null or output is not null
        then tokens_usd(input, input_price) + tokens_usd(cache_read, cache_read_price)
            + tokens_usd(cache_write, cache_write_price) + tokens_usd(output, output_price)
end;
