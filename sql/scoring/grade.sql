-- The grades of the answers in `subject`.
-- One row per row of `subject`.
-- score is NULL unless the outcome is `scored`; $source says whose confidence counts.
-- Source: the table `verdict`; the order of the branches is the order of precedence.
insert into grade
with joined as (
    select
        subject.row,
        subject.status,
        subject.error_type,
        subject.stop_reason,
        subject.targets,
        subject.text,
        verdict.score,
        verdict.extracted,
        verdict.extracted_by,
        verdict.detail,
        verdict.fault,
        case
            when subject.status <> 'answered' then null
            when $source = 'provider' then subject.confidence
            when $source = 'logprobs' then exp(-subject.token_nll / nullif(subject.token_count, 0))
        end as confidence
    from subject
    left join verdict on subject.row = verdict.row
)

select
    joined.row,
    'score' as metric,
    joined.score,
    case
        when $higher_is_better then joined.score >= $threshold
        else joined.score <= $threshold
    end as is_pass,
    case
        when joined.status in ('pending', 'skipped') then joined.status
        when joined.status = 'error' and joined.error_type in ('over_context', 'filtered')
            then joined.error_type
        when joined.status = 'error' then 'provider_error'
        when joined.score is not null then 'scored'
        when joined.fault is not null then 'scorer_error'
        when joined.targets is null and $needs_target then 'no_target'
        when joined.stop_reason = 'length' then 'truncated'
        when joined.stop_reason = 'refusal' then 'refused'
        when joined.stop_reason = 'filter' then 'filtered'
        when is_blank(final_text(joined.text)) then 'empty'
        else 'unparsed'
    end as outcome,
    joined.extracted,
    joined.extracted_by,
    case when joined.confidence between 0 and 1 then joined.confidence end as confidence,
    case when joined.confidence between 0 and 1 then $source end as confidence_source,
    case
        when joined.confidence is not null and not joined.confidence between 0 and 1
            then concat_ws(
                '; ',
                joined.detail,
                joined.fault,
                'confidence ' || joined.confidence::varchar || ' is outside 0..1'
            )
        when joined.fault is not null then concat_ws('; ', joined.detail, joined.fault)
        else joined.detail
    end as detail
from joined
