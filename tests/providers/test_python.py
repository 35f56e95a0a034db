import time
from pathlib import Path
from textwrap import dedent

import pytest

from gradetrail.errors import SpecError
from gradetrail.providers.check import check_model
from gradetrail.providers.response import ToolCall, Usage
from tests.providers.calls import Asked, call, failure, faults_of, spec_of

MODEL = {"model": "python/mine", "path": "adapter.py"}
ASKED = Asked([{"role": "user", "content": "hi"}], sample={"q": "hi", "n": 2})


def adapter(folder: Path, body: str, head: str = "") -> None:
    source = f"{dedent(head)}\nclass Adapter:\n    model_id = 'mine-1'\n{body}\n"
    (folder / "adapter.py").write_text(source)


@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_generate_is_given_messages_and_sample_and_its_text_is_the_answer(
    tmp_path: Path, keyword: str
) -> None:
    adapter(
        tmp_path,
        f"    {keyword} generate(self, messages, sample): return messages[-1]['content'] * sample['n']",
    )
    response = call(spec_of(MODEL, tmp_path), ASKED)
    assert (response.text, response.served_model, response.origin) == ("hihi", "mine-1", "api")


def test_a_generation_says_more_than_its_text(tmp_path: Path) -> None:
    adapter(
        tmp_path,
        "    def generate(self, messages, sample):\n"
        "        more = {'stop_reason': 'length', 'reasoning': 'r', 'input_tokens': 7, 'output_tokens': 3}\n"
        "        return Generation('a', 0.5, 1.5, 3, **more)",
        "from gradetrail.providers.python import Generation",
    )
    response = call(spec_of(MODEL, tmp_path), ASKED)
    assert (response.text, response.confidence, response.token_nll, response.token_count) == (
        "a",
        0.5,
        1.5,
        3,
    )
    assert (response.stop_reason, response.reasoning) == ("length", "r")
    assert response.usage == Usage(input_tokens=7, output_tokens=3)


@pytest.mark.parametrize(
    "calls",
    [
        "[ToolCall('add', '{\"a\": 1}'), ToolCall('now', '{}', 'c2')]",
        "[{'name': 'add', 'arguments': {'a': 1}}, {'name': 'now', 'id': 'c2'}]",
        "[{'name': 'add', 'arguments': '{\"a\": 1}'}, {'name': 'now', 'arguments': {}, 'id': 'c2'}]",
    ],
)
def test_tool_calls_are_records_or_mappings(tmp_path: Path, calls: str) -> None:
    adapter(
        tmp_path,
        f"    def generate(self, messages, sample): return Generation('', tool_calls={calls})",
        "from gradetrail import Generation, ToolCall",
    )
    response = call(spec_of(MODEL, tmp_path), ASKED)
    assert response.tool_calls == (ToolCall("add", '{"a": 1}'), ToolCall("now", "{}", "c2"))


@pytest.mark.parametrize("calls", ["['add']", "[{'arguments': {}}]"])
def test_a_tool_call_without_a_name_says_what_to_give(tmp_path: Path, calls: str) -> None:
    adapter(
        tmp_path,
        f"    def generate(self, messages, sample): return Generation('', tool_calls={calls})",
        "from gradetrail import Generation",
    )
    error = failure(spec_of(MODEL, tmp_path), ASKED)
    assert "give ToolCall(name, arguments) or {'name': ..., 'arguments': {...}}" in str(error)


def test_a_class_without_its_parts_is_told_how_to_add_both(tmp_path: Path) -> None:
    (tmp_path / "adapter.py").write_text("class Adapter:\n    pass\n")
    spec = spec_of(MODEL, tmp_path)
    found = check_model(spec, spec.models[0], "models.0")
    assert [fault.message for fault in found] == [
        "`Adapter` has no `model_id`",
        "`Adapter` has no `generate`",
    ]
    assert ["model_id = " in found[0].fix, "def generate(" in found[1].fix] == [True, True]


def test_an_adapter_cannot_change_what_the_others_are_given(tmp_path: Path) -> None:
    adapter(
        tmp_path,
        "    def generate(self, messages, sample): messages[0]['content'] = sample['q'] = ''; return 'x'",
    )
    call(spec_of(MODEL, tmp_path), ASKED)
    assert ASKED.messages == [{"role": "user", "content": "hi"}]
    assert ASKED.sample == {"q": "hi", "n": 2}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise ValueError('too hot')", "ValueError: too hot (adapter.py:5)"),
        ("raise KeyError", "KeyError (adapter.py:5)"),
        ("import sys; sys.exit(3)", "SystemExit: 3 (adapter.py:5)"),
        ("raise StopIteration", "StopIteration"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise TimeoutError('mine')", "TimeoutError: mine"),
        ("import asyncio; raise asyncio.CancelledError", "CancelledError"),
        ("return 5", "`generate` returned int"),
        ("return None", "`generate` returned NoneType"),
        ("return Said(confidence=1.5)", "`confidence` 1.5 is not in [0, 1]"),
        ("return Said(confidence=float('nan'))", "`confidence` nan"),
        ("return Said(token_nll=-1)", "`token_nll` -1"),
        ("return Said(token_count=1.5)", "`token_count` 1.5"),
        ("import os; raise ValueError(os.environ['LAB_API_KEY'])", "ValueError: [redacted]"),
    ],
)
def test_whatever_an_adapter_does_wrong_is_one_error_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, told: str
) -> None:
    monkeypatch.setenv("LAB_API_KEY", "hunter2-hunter2")
    said = "from functools import partial\nSaid = partial(Generation, 'a')"
    head = f"from gradetrail.providers.python import Generation\n{said}"
    generate = f"    def generate(self, messages, sample):\n        {body}"
    source = f"{head}\nclass Adapter:\n    model_id = 'm'\n{generate}\n"
    (tmp_path / "adapter.py").write_text(source)
    error = failure(spec_of(MODEL, tmp_path), ASKED)
    assert error.error_type == "adapter"
    assert told.replace(":5", ":7") in str(error)


@pytest.mark.parametrize(
    "wait", ["import threading; threading.Event().wait()", "await asyncio.Event().wait()"]
)
def test_an_adapter_that_hangs_is_a_timeout(tmp_path: Path, wait: str) -> None:
    keyword = "async def" if "await" in wait else "def"
    adapter(tmp_path, f"    {keyword} generate(self, messages, sample):\n        {wait}", "import asyncio")
    started = time.monotonic()
    assert failure(spec_of(MODEL, tmp_path), ASKED, timeout_s=0.1).error_type == "timeout"
    assert time.monotonic() - started < 10


def test_a_hanging_adapter_does_not_keep_the_process_alive(tmp_path: Path) -> None:
    import subprocess
    import sys

    adapter(tmp_path, "    def generate(self, messages, sample): import threading; threading.Event().wait()")
    code = (
        "import pathlib, sys; from tests.providers.calls import *; base = pathlib.Path(sys.argv[1]);"
        "print(failure(spec_of({'model': 'python/m', 'path': 'adapter.py'}, base), timeout_s=0.1).error_type)"
    )
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=root, check=True)
    assert done.stdout.strip() == "timeout"


def test_close_is_called_where_there_is_one(tmp_path: Path) -> None:
    adapter(
        tmp_path,
        "    def generate(self, messages, sample): return 'x'\n"
        "    def close(self): import pathlib; pathlib.Path(__file__).with_name('closed').touch()",
    )
    call(spec_of(MODEL, tmp_path), ASKED)
    assert (tmp_path / "closed").exists()


def test_a_failing_close_does_not_lose_the_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    body = "    def generate(self, messages, sample): return 'x'\n    def close(self): 1 / 0"
    adapter(tmp_path, body)
    assert call(spec_of(MODEL, tmp_path), ASKED).text == "x"
    assert "closing adapter.py: ZeroDivisionError: division by zero (adapter.py:5)" in caplog.text


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (None, "there is no file `adapter.py`"),
        ("class Adapter(:", "SyntaxError"),
        (
            "import nothing_of_that_name",
            "ModuleNotFoundError: No module named 'nothing_of_that_name' (adapter.py:1)",
        ),
        ("class Other: pass", "there is no class `Adapter` in it"),
        ("class Adapter:\n    model_id = 'm'", "`Adapter` has no `generate`"),
        ("class Adapter:\n    def generate(self, m, s): pass", "`Adapter` has no `model_id`"),
        ("class Adapter:\n    model_id = 'm'\n    generate = 5", "`Adapter.generate` is not a method"),
        (
            "class Adapter:\n    def __init__(self): 1 / 0",
            "ZeroDivisionError: division by zero (adapter.py:2)",
        ),
    ],
)
def test_an_adapter_that_cannot_be_used_is_refused_before_any_call(
    tmp_path: Path, source: str | None, told: str
) -> None:
    if source is not None:
        (tmp_path / "adapter.py").write_text(source)
    (fault,) = faults_of(MODEL, tmp_path)
    assert fault.startswith("models.0.path: ")
    assert told in fault
    with pytest.raises((SpecError, OSError)):
        call(spec_of(MODEL, tmp_path), ASKED)


def test_a_class_may_set_its_model_id_when_made_and_is_made_once_for_check_and_run(tmp_path: Path) -> None:
    source = (
        "import pathlib\nclass Mine:\n    def __init__(self):\n        self.model_id = 'late'\n"
        "        with pathlib.Path(__file__).with_name('made').open('a') as f: f.write('x')\n"
        "    def generate(self, messages, sample): return 'x'\n"
    )
    (tmp_path / "adapter.py").write_text(source)
    model = {**MODEL, "class": "Mine"}
    assert faults_of(model, tmp_path) == []
    assert call(spec_of(model, tmp_path), ASKED).served_model == "late"
    assert (tmp_path / "made").read_text() == "x"


def test_an_edited_file_is_a_new_source_and_is_loaded_anew(tmp_path: Path) -> None:
    from gradetrail.providers import call_shape

    shapes = []
    for answer in ("one", "two"):
        adapter(tmp_path, f"    def generate(self, messages, sample): return {answer!r}")
        spec = spec_of(MODEL, tmp_path)
        assert faults_of(MODEL, tmp_path) == []
        shapes.append(call_shape(spec, spec.models[0]))
        assert call(spec, ASKED).text == answer
    assert shapes[0].source_digest != shapes[1].source_digest
    assert shapes[0].sees_sample
