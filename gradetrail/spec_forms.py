"""Expands the short and the older forms of a spec into the one form that is validated."""

from __future__ import annotations

from typing import Any

from gradetrail.errors import Fault


def expand_spec(raw: dict[str, Any], faults: list[Fault]) -> dict[str, Any]:
    """Give the full form; what contradicts itself is added to `faults`."""
    spec = dict(raw)
    _one_of(spec, "prompt", "prompts", faults)
    _one_of(spec, "model", "models", faults)
    _one_of(spec, "scorer", "scorers", faults)
    if "dataset" in spec:
        spec["dataset"] = _dataset(spec["dataset"])
    if "prompt" in spec:
        spec["prompts"] = {"default": spec.pop("prompt")}
    if isinstance(spec.get("prompts"), dict):
        spec["prompts"] = {str(name): expand_prompt(value) for name, value in spec["prompts"].items()}
    if "model" in spec:
        spec["models"] = [spec.pop("model")]
    if isinstance(spec.get("models"), str | dict):
        spec["models"] = [spec["models"]]
    if "scorer" in spec:
        scorer = spec.pop("scorer")
        spec["scorers"] = {_scorer_type(scorer): scorer}
    if isinstance(spec.get("scorers"), list):
        spec["scorers"] = {_scorer_type(item): item for item in spec["scorers"]}
    if isinstance(spec.get("scorers"), dict):
        spec["scorers"] = {str(name): expand_scorer_form(value) for name, value in spec["scorers"].items()}
    if isinstance(spec.get("confidence"), str):
        spec["confidence"] = {"regex": spec["confidence"]}
    if isinstance(spec.get("few_shot"), str):
        spec["few_shot"] = {"path": spec["few_shot"], "n": 5}
    return spec


def _one_of(spec: dict[str, Any], one: str, many: str, faults: list[Fault]) -> None:
    if one in spec and many in spec:
        faults.append(Fault(f"`{one}` and `{many}` exclude each other", field=one, fix=f"keep `{many}`"))
        del spec[one]


def _scorer_type(scorer: Any) -> str:
    kind = scorer.get("type") if isinstance(scorer, dict) else scorer
    return kind if isinstance(kind, str) else "scorer"


def _dataset(value: Any) -> Any:
    if isinstance(value, str):
        return {"path": value}
    if isinstance(value, dict) and "id_field" in value:
        value = dict(value)
        value["id"] = value.pop("id_field")
    return value


def expand_prompt(value: Any) -> Any:
    """Turn a string, `{system, user}` or a list of messages into `{messages: [...]}`."""
    if isinstance(value, str):
        return {"messages": [{"user": value}]}
    if isinstance(value, list):
        return {"messages": value}
    if isinstance(value, dict) and "user" in value and "messages" not in value:
        rest = {key: item for key, item in value.items() if key not in ("system", "user")}
        system = [{"system": value["system"]}] if value.get("system") is not None else []
        return {"messages": [*system, {"user": value["user"]}], **rest}
    if isinstance(value, dict) and "turns" in value and value.get("system") is not None:
        rest = {key: item for key, item in value.items() if key != "system"}
        return {"messages": [{"system": value["system"]}], **rest}
    return value


def expand_scorer_form(value: Any) -> Any:
    """Turn a scorer's string form and its older options into the full form."""
    if isinstance(value, str):
        return {"type": value}
    if isinstance(value, dict) and value.get("type") == "exact" and "target_field" in value:
        rest = {key: item for key, item in value.items() if key != "target_field"}
        rest.setdefault("normalize", [])
        return {**rest, "target": "{{ " + str(value["target_field"]) + " }}"}
    if isinstance(value, dict) and value.get("type") == "judge":
        older = {"judge_prompt": "file", "samples": "votes"}
        return {older.get(name, name): item for name, item in value.items()}
    return value
