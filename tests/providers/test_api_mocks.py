import json
from decimal import Decimal
from pathlib import Path

import pytest

from gradetrail.errors import ProviderError
from gradetrail.providers import anthropic, chat
from gradetrail.providers.response import Response
from gradetrail.spec import Spec
from tests.providers.calls import CHAT, SpecAt, anthropic_spec, call
from tests.servers import FakeApi, Reply

DATA = Path(__file__).parent / "data"
MOCKS = {row["case"]: row for row in map(json.loads, (DATA / "api_mocks.jsonl").read_text().splitlines())}
COSTS = {row["case"]: row for row in map(json.loads, (DATA / "cost.jsonl").read_text().splitlines())}


def outcomes(api: FakeApi, spec: Spec, case: str) -> list[Response | ProviderError]:
    """Make one call for each reply of a case; nothing is tried again."""
    found: list[Response | ProviderError] = []
    for reply in MOCKS[case]["replies"]:
        api.script(Reply(reply["status"], reply["body"], reply["headers"]))
        try:
            found.append(call(spec))
        except ProviderError as error:
            found.append(error)
    assert api.n_calls == len(found)
    return found


def error_types(found: list[Response | ProviderError]) -> list[str | None]:
    return [one.error_type if isinstance(one, ProviderError) else None for one in found]


@CHAT
def test_a_budget_spent_on_reasoning_is_a_truncated_empty_answer(api: FakeApi, spec_at: SpecAt) -> None:
    # H63: Tongyi-MAI/MobileWorld PR #61, 64bit/async-openai #424
    (response,) = outcomes(api, spec_at(api), "H63")
    assert isinstance(response, Response)
    assert (response.text, response.stop_reason) == ("", "length")
    assert (response.usage.output_tokens, response.usage.reasoning_tokens) == (64, 64)


@CHAT
def test_an_error_inside_http_200_counts_as_its_own_code(api: FakeApi, spec_at: SpecAt) -> None:
    # H64: UKGovernmentBEIS/inspect_ai #1534
    error, response = outcomes(api, spec_at(api), "H64")
    assert isinstance(error, ProviderError)
    assert isinstance(response, Response)
    assert (error.error_type, error.http_status, response.text) == ("rate_limit", 200, "4")


@pytest.mark.parametrize(("case", "wait"), [("H67a", 3.0), ("H67b", 1.5), ("H67c", None)])
@CHAT
def test_the_stated_wait_is_read(api: FakeApi, spec_at: SpecAt, case: str, wait: float | None) -> None:
    # H67: openai/openai-node #1108
    *errors, response = outcomes(api, spec_at(api), case)
    assert isinstance(response, Response)
    for error in errors:
        assert isinstance(error, ProviderError)
        assert (error.error_type, error.retry_after_s) == ("rate_limit", wait)


@CHAT
def test_an_unsupported_parameter_is_named_with_the_fix(api: FakeApi, spec_at: SpecAt) -> None:
    # H68: EleutherAI/lm-evaluation-harness #2441
    (error,) = outcomes(api, spec_at(api), "H68")
    assert isinstance(error, ProviderError)
    assert error.error_type == "bad_request"
    assert "parameter `max_tokens`: use the `openai` provider" in str(error)


@pytest.mark.parametrize(("case", "output"), [("H72a", None), ("H72b", None)])
@CHAT
def test_missing_usage_keeps_the_answer_and_its_tokens_are_none(
    api: FakeApi, spec_at: SpecAt, case: str, output: None
) -> None:
    # H72: compl-ai/compl-ai #20
    (response,) = outcomes(api, spec_at(api), case)
    assert isinstance(response, Response)
    assert (response.text, response.usage.output_tokens) == ("4", output)
    assert response.usage.input_tokens == (12 if case == "H72b" else None)


@CHAT
def test_a_500_is_a_server_error_each_time(api: FakeApi, spec_at: SpecAt) -> None:
    assert error_types(outcomes(api, spec_at(api), "H57")) == ["server"] * 3


def test_overloaded_is_told_apart_from_a_server_error(api: FakeApi) -> None:
    # H65: anthropics/anthropic-sdk-python #688
    assert error_types(outcomes(api, anthropic_spec(api), "H65")) == ["overloaded"] * 6 + [None]


@CHAT
def test_a_content_filter_is_an_error_before_an_answer_and_a_stop_reason_in_one(
    api: FakeApi, spec_at: SpecAt
) -> None:
    # H69: tatsu-lab/alpaca_eval #227, stanford-crfm/helm PR #3327
    spec = spec_at(api)
    assert error_types(outcomes(api, spec, "H69a")) == ["filtered"]
    api.reset()
    (whole,) = outcomes(api, spec, "H69b")
    api.reset()
    (partial,) = outcomes(api, spec, "H69c")
    assert isinstance(whole, Response)
    assert isinstance(partial, Response)
    assert (whole.text, whole.stop_reason, whole.usage.input_tokens) == ("", "filter", 55)
    assert (partial.text, partial.stop_reason) == ("partial te", "filter")


def test_every_case_of_the_file_has_its_test() -> None:
    tested = {
        "H63",
        "H64",
        "H67a",
        "H67b",
        "H67c",
        "H68",
        "H72a",
        "H72b",
        "H57",
        "H65",
        "H69a",
        "H69b",
        "H69c",
    }
    assert set(MOCKS) == tested


@pytest.mark.parametrize("case", ["H84", "H85"])
def test_token_kinds_are_disjoint_so_that_their_prices_add_up(case: str) -> None:
    # H84: BerriAI/litellm #9812; H85: BerriAI/litellm #6215
    row = COSTS[case]
    usage = (anthropic if row["provider"] == "anthropic" else chat).usage_of(row["usage"])
    price = {kind: Decimal(str(value)) for kind, value in row["usd_per_mtok"].items()}
    tokens = {
        "input": usage.input_tokens,
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens,
        "output": usage.output_tokens,
    }
    cost = (
        sum((price[kind] * (count or 0) for kind, count in tokens.items() if kind in price), Decimal(0))
        / 1_000_000
    )
    assert cost == Decimal(str(row["expect_usd"]))
