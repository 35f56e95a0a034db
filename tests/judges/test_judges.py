"""A judge from start to end, on a server that counts."""

from __future__ import annotations

from tests.judges.bench import Bench


def test_the_server_counts_the_calls_of_the_plan_and_none_the_second_time(bench: Bench) -> None:
    spec = bench.spec()
    done = bench.lab.run(spec)
    assert (done.status, bench.lab.api.n_calls, bench.n_judged) == ("complete", 12, 6)
    assert bench.scores() == {f"s{n}": 1.0 for n in range(1, 7)}
    assert bench.calls(lambda: bench.score(spec)) == 0
    assert bench.calls(lambda: bench.lab.run(spec)) == 0
    assert bench.lab.api.n_calls == 12
    grade = bench.grade("s1")
    assert (grade["outcome"], grade["detail"], grade["extracted"]) == ("scored", "it is", "1")
    assert (grade["confidence"], grade["confidence_source"]) == (0.9, "judge")
    assert len(grade["judge_response_ids"]) == 1
