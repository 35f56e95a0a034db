-- Everything that is known of a sample: what was asked, answered and graded in every run.
-- One row per (run_id, model, prompt, sample_id, epoch, scorer, metric), from the oldest run to the newest.
-- Scores in the scorer's unit; NULL score leaves the mean; $task NULL means all; $sample_id may be the beginning of several.
-- Source: graded.
select
    graded.task,
    graded.sample_id,
    graded.run_id,
    graded.model,
    graded.prompt,
    graded.epoch,
    graded.scorer,
    graded.metric,
    graded.score,
    graded.is_pass,
    graded.outcome,
    graded.target,
    graded.extracted,
    graded.detail,
    graded.status,
    graded.error_type,
    graded.error_message,
    graded.stop_reason,
    graded.confidence,
    graded.latency_ms,
    graded.output_tokens,
    graded.response,
    graded.reasoning,
    graded.tool_calls,
    graded.messages,
    cast(graded.sample as varchar) as sample
from graded
where
    starts_with(graded.sample_id, $sample_id)
    and graded.task = coalesce($task, graded.task)
order by
    graded.task asc,
    graded.sample_id asc,
    graded.run_id asc,
    graded.model asc,
    graded.prompt asc,
    graded.epoch asc,
    graded.is_primary desc,
    graded.scorer asc,
    graded.metric asc
