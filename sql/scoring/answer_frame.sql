-- The answers as a scorer over whole rows sees them.
-- One row per answered row of `subject`, in the order of `row`.
-- text is without reasoning, response as it came; extracted is NULL where nothing was extracted.
-- Source: the views `gradable` and `haystack`, the relations `answer` and `answer_detail`.
select
    gradable.row,
    answer.sample_id,
    answer.model,
    answer.prompt,
    answer.epoch,
    gradable.text,
    answer.text as response,
    answer_detail.reasoning,
    haystack.text as extracted,
    haystack.extracted_by,
    answer.target,
    answer.targets,
    answer.choices,
    answer.tool_calls,
    answer.stop_reason,
    answer_detail.served_model,
    answer_detail.category,
    answer_detail.latency_ms,
    answer_detail.output_tokens,
    answer_detail.reasoning_tokens,
    answer.confidence,
    answer.token_nll,
    answer.token_count
from gradable
inner join answer on gradable.row = answer.row
left join haystack
    on gradable.row = haystack.row
    and $is_extracted
left join answer_detail
    on answer.model = answer_detail.model
    and answer.prompt = answer_detail.prompt
    and answer.sample_id = answer_detail.sample_id
    and answer.epoch = answer_detail.epoch
order by gradable.row asc
