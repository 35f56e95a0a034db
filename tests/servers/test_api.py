import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.servers import FakeApi, Reply
from tests.servers.api import Behaviour
from tests.servers.replies import Manner

ROOT = Path(__file__).parents[2]


def post(url: str, body: Any) -> tuple[int, dict[str, str], Any]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return reply.status, dict(reply.headers), json.loads(reply.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), json.loads(error.read())


def chat(prompt: str, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": prompt}], **fields}


def test_each_api_gets_the_same_answer_in_its_own_form() -> None:
    with FakeApi() as api:
        prompt = "How many? [[gold=72]]"
        plain = post(f"{api.v1}/chat/completions", chat(prompt))[2]["choices"][0]["message"]["content"]
        message = post(f"{api.v1}/messages", chat(prompt))[2]["content"][0]["text"]
        item = post(f"{api.v1}/responses", {"model": "m", "input": chat(prompt)["messages"]})[2]["output"][0]
    assert plain == message == item["content"][0]["text"]


def test_an_answer_depends_on_the_request_alone_and_is_right_for_the_stated_share() -> None:
    with FakeApi(behaviour=Behaviour(manner=Manner(accuracy=0.7, words=5))) as api:
        texts = [
            post(f"{api.v1}/chat/completions", chat(f"{n} [[gold={n}]]"))[2]["choices"][0]["message"][
                "content"
            ]
            for n in [*range(200), *range(200)]
        ]
        assert texts[:200] == texts[200:]
        right = sum(text.endswith(f"Answer: {n}") for n, text in enumerate(texts[:200]))
        assert 0.6 < right / 200 < 0.8
        assert (api.n_calls, api.by_path["/v1/chat/completions"], len(api.bodies)) == (400, 400, 400)


def test_a_script_is_followed_in_order_and_then_ends() -> None:
    with FakeApi() as api:
        api.script(Reply(429, {"error": {}}, {"retry-after": "3"}), Reply(500, {"error": {}}))
        replies = [post(f"{api.v1}/chat/completions", chat("x")) for _ in range(3)]
    assert [status for status, _, _ in replies] == [429, 500, 200]
    assert replies[0][1]["retry-after"] == "3"


def test_failures_at_a_rate_can_succeed_when_asked_again() -> None:
    with FakeApi(behaviour=Behaviour(fail_rate=0.5)) as api:
        first = [post(f"{api.v1}/chat/completions", chat(str(n)))[0] for n in range(60)]
        again = [post(f"{api.v1}/chat/completions", chat(str(n)))[0] for n in range(60) if first[n] == 500]
    assert 10 < first.count(500) < 50
    assert 200 in again


def test_it_runs_as_a_process_that_reports_its_counts() -> None:
    command = [sys.executable, "-m", "tests.servers", "--latency-ms", "1", "--words", "4"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        url = f"http://127.0.0.1:{ready['port']}"
        status, _, body = post(f"{url}/v1/chat/completions", chat("x", logprobs=True, top_logprobs=2))
        process.send_signal(signal.SIGTERM)
        counts = json.loads(process.stdout.read())
    assert (status, process.returncode) == (200, 0)
    assert len(body["choices"][0]["logprobs"]["content"][0]["top_logprobs"]) == 2
    assert counts["by_path"] == {"/v1/chat/completions": 1}


@pytest.mark.parametrize("path", ["/v1/nothing", "/"])
def test_an_unknown_path_is_a_404(path: str) -> None:
    with FakeApi() as api:
        assert post(api.url + path, {})[0] == 404
