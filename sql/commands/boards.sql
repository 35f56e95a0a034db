-- The leaderboard of some tasks, whole.
-- One row per (task, model, prompt, scorer, metric), in the leaderboard's order; $tasks NULL means all.
-- NULL rank is below the line, with the reason.
-- Source: leaderboard.
from leaderboard
where $tasks::varchar[] is null or list_contains($tasks::varchar[], leaderboard.task)
