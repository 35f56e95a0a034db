-- What Python judged.
-- One row per row of `verdict`.
-- NULL as in `verdict`.
-- Source: the table `verdict`.
create or replace temp view judged as
select
    verdict.row,
    verdict.score,
    verdict.extracted,
    verdict.extracted_by,
    verdict.detail,
    verdict.fault
from verdict
