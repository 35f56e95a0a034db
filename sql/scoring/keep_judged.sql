-- Keeps what SQL judged as a table, which Python's judgement then changes.
-- One row per row of `judged`.
-- NULL as in `judged`.
-- Source: the view `judged`.
create or replace temp table verdict as
select
    judged.row,
    judged.score,
    judged.extracted,
    judged.extracted_by,
    judged.detail,
    judged.fault
from judged
