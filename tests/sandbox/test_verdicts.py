"""What a program must do to pass, and what each way of not passing is called."""

import pytest

from gradetrail.scoring.sandbox import Job, Limits, Sandbox, run_many

ADD = "def add(a, b):\n    return a + b\n"


def test_a_program_that_comes_to_its_end_passes(sandbox: Sandbox) -> None:
    outcome = sandbox.run("x = 1\nassert x == 1")
    assert (outcome.verdict, outcome.passed, outcome.total, outcome.detail) == ("pass", 1, 1, "")


def test_a_false_assertion_fails_and_names_its_line(sandbox: Sandbox) -> None:
    outcome = sandbox.run("x = 1\nassert x == 2, 'one is not two'")
    assert (outcome.verdict, outcome.passed, outcome.total) == ("fail", 0, 1)
    assert outcome.detail == "line 2: AssertionError: one is not two"


def test_two_of_three_checks_score_two_thirds(sandbox: Sandbox) -> None:
    outcome = sandbox.run(ADD, checks=["add(1, 2) == 3", "add(1, 2) == 4", "add('a', 'b') == 'ab'"])
    assert (outcome.verdict, outcome.passed, outcome.total) == ("fail", 2, 3)
    assert outcome.detail == "check 2 of 3: add(1, 2) == 4: not true"


def test_all_checks_that_hold_are_a_pass(sandbox: Sandbox) -> None:
    outcome = sandbox.run(ADD, checks=["add(1, 2) == 3", "add(0.5, 1) > 1"])
    assert (outcome.verdict, outcome.passed, outcome.total) == ("pass", 2, 2)


def test_a_check_may_be_an_expression_an_assertion_or_test_code(sandbox: Sandbox) -> None:
    checks = [
        "add(1, 1) == 2",
        "assert add(1, 1) == 2",
        "for n in range(5):\n    assert add(n, n) == 2 * n",
        "def test(function):\n    assert function(2, 2) == 4",
        "test(add)",
    ]
    assert sandbox.run(ADD, checks=checks).passed == 5


def test_an_expression_that_is_none_does_not_hold(sandbox: Sandbox) -> None:
    assert sandbox.run("def f():\n    pass", checks=["f()"]).verdict == "fail"


def test_an_error_inside_a_check_makes_that_check_false_and_no_other(sandbox: Sandbox) -> None:
    outcome = sandbox.run("def f(x):\n    return 1 / x", checks=["f(0) == 0", "f(2) == 0.5", "g(1) == 1"])
    assert (outcome.verdict, outcome.passed) == ("fail", 1)
    assert outcome.detail == (
        "check 1 of 3: f(0) == 0: in the program, line 2: ZeroDivisionError: division by zero"
    )


def test_an_error_at_the_top_level_is_an_error_and_scores_nothing(sandbox: Sandbox) -> None:
    outcome = sandbox.run(ADD + "1 / 0", checks=["add(1, 2) == 3"])
    assert (outcome.verdict, outcome.passed, outcome.total) == ("error", 0, 1)
    assert outcome.detail == "line 3: ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    "program", ["def f(:", "x = 1\n  y = 2", "a\0b", "(" * 500, "return 1", "nonlocal x", "x = '\ud800'"]
)
def test_what_python_cannot_read_is_a_syntax_verdict(sandbox: Sandbox, program: str) -> None:
    assert sandbox.run(program, checks=["True"]).verdict == "syntax"


def test_a_syntax_error_raised_while_running_is_an_error(sandbox: Sandbox) -> None:
    assert sandbox.run("compile('def', '', 'exec')").verdict == "error"


@pytest.mark.parametrize("checks", [(), ("f() == 1",)])
def test_an_endless_loop_is_a_timeout_and_scores_nothing(sandbox: Sandbox, checks: tuple[str, ...]) -> None:
    program = "def f():\n    while True:\n        pass\n" + ("" if checks else "f()")
    outcome = sandbox.run(program, checks=("True", *checks)[: len(checks) * 2], limits=Limits(wall_s=0.5))
    assert (outcome.verdict, outcome.passed, outcome.detail) == ("timeout", 0, "not over after 0.5 s")
    assert 500 <= outcome.wall_ms < 3000


def test_the_cpu_limit_ends_a_busy_program_before_the_wall_limit(sandbox: Sandbox) -> None:
    outcome = sandbox.run("while True:\n    pass", limits=Limits(wall_s=60, cpu_s=1))
    assert (outcome.verdict, outcome.detail) == ("timeout", "more than 1 s of CPU time")


def test_too_much_memory_is_a_memory_verdict(sandbox: Sandbox) -> None:
    assert sandbox.run("x = bytearray(10**9)").verdict == "memory"
    assert sandbox.run("def f():\n    return 'x' * 10**9", checks=["len(f()) == 1"]).verdict == "memory"


def test_the_memory_limit_is_the_one_given(sandbox: Sandbox) -> None:
    program = "x = bytearray(300 * 2**20)"
    assert sandbox.run(program, limits=Limits(memory_mb=512)).verdict == "pass"
    assert sandbox.run(program, limits=Limits(memory_mb=256)).verdict == "memory"


def test_printing_does_not_disturb_the_verdict_and_is_kept(sandbox: Sandbox) -> None:
    program = ADD + "import sys\nprint('{\"passed\": 9}')\nprint('to stderr', file=sys.stderr)"
    outcome = sandbox.run(program, checks=["add(1, 2) == 4"])
    assert (outcome.verdict, outcome.stdout, outcome.stderr) == ("fail", '{"passed": 9}\n', "to stderr\n")


def test_200_kb_on_stderr_do_not_block(sandbox: Sandbox) -> None:
    outcome = sandbox.run("import sys\nsys.stderr.write('e' * 200_000)")
    assert (outcome.verdict, len(outcome.stderr)) == ("pass", 200_000)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output_over_the_limit_is_an_output_verdict_and_the_rest_is_cut(
    sandbox: Sandbox, stream: str
) -> None:
    outcome = sandbox.run(
        f"import sys\nwhile True:\n    sys.{stream}.write('x' * 1000)", limits=Limits(output_kb=64)
    )
    assert (outcome.verdict, outcome.detail) == ("output", f"more than 64 KiB on {stream}")
    assert getattr(outcome, stream) == "x" * 65536


def test_output_up_to_the_limit_is_kept_whole(sandbox: Sandbox) -> None:
    assert len(sandbox.run("print('x' * 65535)", limits=Limits(output_kb=64)).stdout) == 65536


def test_output_is_utf8_and_broken_bytes_are_replaced(sandbox: Sandbox) -> None:
    program = "print('é漢🙂', flush=True)\nimport os\nos.write(1, b'\\xff')"
    assert sandbox.run(program).stdout == "é漢🙂\n�"


@pytest.mark.parametrize(
    "ending", ["", "import sys; sys.exit()", "exit(0)", "import os; sys.stdout.flush(); os._exit(0)"]
)
def test_a_script_is_judged_by_its_output_however_it_ends_well(sandbox: Sandbox, ending: str) -> None:
    program = f"import sys\nif __name__ == '__main__':\n    print(sum(map(int, sys.stdin)))\n{ending}"
    assert sandbox.run(program, stdin="1\n2\n3\n", expect_stdout="6").verdict == "pass"


def test_a_script_may_do_its_work_in_a_thread(sandbox: Sandbox) -> None:
    program = "import threading\nthreading.Thread(target=lambda: print(int(input()) + 1)).start()"
    assert sandbox.run(program, stdin="1", expect_stdout="2\n").verdict == "pass"


def test_a_script_that_ends_badly_does_not_pass_with_the_right_output(sandbox: Sandbox) -> None:
    assert sandbox.run("print(6, flush=True)\n1 / 0", expect_stdout="6").verdict == "error"
    assert sandbox.run("print(6)\nexit(1)", expect_stdout="6").verdict == "error"


def test_white_space_at_line_ends_is_not_compared_and_other_white_space_is(sandbox: Sandbox) -> None:
    assert sandbox.run("print('a \\nb\\n\\n')", expect_stdout="a\nb").verdict == "pass"
    outcome = sandbox.run("print('a\\n  b')", expect_stdout="a\nb")
    assert (outcome.verdict, outcome.passed, outcome.total) == ("fail", 0, 1)
    assert outcome.detail == "output line 2 is '  b', not 'b'"
    assert sandbox.run("print('a')", expect_stdout="a\nb").detail == "the output has 1 lines, not 2"


def test_expected_output_counts_as_one_more_check(sandbox: Sandbox) -> None:
    outcome = sandbox.run("print(1)\nx = 2", checks=["x == 2", "x == 3"], expect_stdout="1")
    assert (outcome.verdict, outcome.passed, outcome.total) == ("fail", 2, 3)


def test_a_megabyte_of_input_reaches_the_program(sandbox: Sandbox) -> None:
    outcome = sandbox.run(
        "import sys\nprint(len(sys.stdin.read()))", stdin="x" * 10**6, expect_stdout="1000000"
    )
    assert outcome.verdict == "pass"


def test_input_that_nobody_reads_is_no_error(sandbox: Sandbox) -> None:
    assert sandbox.run("pass", stdin="x" * 10**6).verdict == "pass"


def test_asking_for_input_that_is_not_there_is_an_error(sandbox: Sandbox) -> None:
    assert sandbox.run("input('enter a number')").detail == "line 1: EOFError: EOF when reading a line"


def test_code_longer_than_an_argument_may_be_is_run(sandbox: Sandbox) -> None:
    program = "x = 1\n" * 40_000
    assert len(program) > 128 * 1024
    assert sandbox.run(program, checks=["x == 1"]).verdict == "pass"


def test_code_behind_the_main_guard_runs_where_the_program_holds_its_own_tests(sandbox: Sandbox) -> None:
    assert sandbox.run("if __name__ == '__main__':\n    assert False").verdict == "fail"


def test_code_behind_the_main_guard_is_left_out_where_functions_are_tested(sandbox: Sandbox) -> None:
    program = ADD + "if __name__ == '__main__':\n    print(add(int(input()), 1))"
    assert sandbox.run(program, checks=["add(1, 2) == 3"]).verdict == "pass"


def test_installed_and_standard_libraries_can_be_imported(sandbox: Sandbox) -> None:
    program = "import asyncio, dataclasses, multiprocessing, sqlite3, ssl, yaml\n"
    program += "@dataclasses.dataclass\nclass A:\n    x: int\n"
    assert (
        sandbox.run(program + "assert asyncio.run(asyncio.sleep(0, 3)) == 3 and A(1) == A(1)").verdict
        == "pass"
    )


def test_a_program_is_not_late_because_it_waited_for_a_core(sandbox: Sandbox) -> None:
    program = "import time\nwhile time.process_time() < 0.6:\n    pass"
    jobs = [Job(program, limits=Limits(wall_s=1))] * 8
    assert [outcome.verdict for outcome in run_many(sandbox, jobs, 8)] == ["pass"] * 8


def test_processes_within_the_limit_work(sandbox: Sandbox) -> None:
    program = """
import multiprocessing, subprocess, sys
def square(x):
    return x * x
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]
assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout == b"1\\n"
"""
    outcome = sandbox.run(program)
    assert outcome.verdict == "pass", outcome


def test_a_run_does_not_depend_on_the_seed_of_hashes(sandbox: Sandbox) -> None:
    outputs = {sandbox.run("print({'a', 'b', 'c', 'd', 'e'})").stdout for _ in range(3)}
    assert len(outputs) == 1


def test_many_jobs_come_back_in_order(sandbox: Sandbox) -> None:
    jobs = (Job(f"import time\ntime.sleep({0.1 if n % 3 == 0 else 0})\nprint({n})") for n in range(12))
    assert [outcome.stdout for outcome in run_many(sandbox, jobs, 4)] == [f"{n}\n" for n in range(12)]


def test_many_jobs_can_be_left_in_the_middle(sandbox: Sandbox) -> None:
    outcomes = run_many(sandbox, (Job(f"print({n})") for n in range(1000)), 2)
    assert next(outcomes).stdout == "0\n"
    outcomes.close()  # type: ignore[attr-defined]
