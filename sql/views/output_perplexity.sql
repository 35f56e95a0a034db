-- Perplexity that a model gives to its own answers.
-- One row per (run_id, model, prompt) with token log-probabilities.
-- exp of nats per token, from 1; NULL for no tokens, or 700 nats a token and more. It depends on the tokenizer: compare within a model.
-- Source: exp(sum of -ln p / number of tokens).
create or replace view output_perplexity as
select
    trials.run_id,
    trials.task,
    trials.model,
    trials.prompt,
    count(*) as n,
    cast(sum(trials.token_count) as bigint) as n_tokens,
    exact_sum(trials.token_nll) / nullif(sum(trials.token_count), 0) as nll_per_token,
    case
        when exact_sum(trials.token_nll) / nullif(sum(trials.token_count), 0) < 700
            then exp(exact_sum(trials.token_nll) / nullif(sum(trials.token_count), 0))
    end as perplexity,
    case
        when sum(trials.token_count) = 0 then 'no tokens'
        when exact_sum(trials.token_nll) / sum(trials.token_count) >= 700 then 'too large for a number'
    end as reason
from trials
where
    trials.token_nll is not null
    and trials.token_count is not null
group by
    trials.run_id,
    trials.task,
    trials.model,
    trials.prompt
order by
    trials.run_id asc,
    trials.model asc,
    trials.prompt asc;

comment on view output_perplexity is 'Perplexity that a model gives to its own answers.';
comment on column output_perplexity.run_id is 'Run.';
comment on column output_perplexity.task is 'Name of the spec.';
comment on column output_perplexity.model is 'Display name of the model.';
comment on column output_perplexity.prompt is 'Name of the prompt.';
comment on column output_perplexity.n is 'Answers with token log-probabilities.';
comment on column output_perplexity.n_tokens is 'Their tokens.';
comment on column output_perplexity.nll_per_token is 'Mean of -ln p, in nats.';
comment on column output_perplexity.perplexity is 'exp(nll_per_token), from 1; NULL: see reason.';
comment on column output_perplexity.reason is 'Why perplexity is NULL; NULL if it is not.';
