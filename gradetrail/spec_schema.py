"""The JSON Schema of a spec, for editors: generated from the models, with the short and older forms."""

from __future__ import annotations

from typing import Any

from gradetrail.scorer_spec import NAMED_RULES
from gradetrail.spec import Spec

TITLE = "gradetrail spec"


def spec_schema() -> dict[str, Any]:
    """Give a JSON Schema (2020-12) that accepts every form that `load_spec` accepts."""
    schema = Spec.model_json_schema(by_alias=True)
    definitions, properties = schema["$defs"], schema["properties"]
    text = {"type": "string"}
    dataset = {"anyOf": [text, _with(definitions["Dataset"], {"id_field": text})]}
    scorer = {"anyOf": [text, _scorer_form(properties["scorers"]["additionalProperties"])]}
    model = {"anyOf": [text, definitions["Model"], _older_model(definitions)]}
    prompt = _prompt_form(definitions["Prompt"])
    extract = _extract_form()
    properties.update(
        dataset=dataset,
        prompt=prompt,
        prompts={"type": "object", "additionalProperties": prompt, "minProperties": 1},
        model=model,
        models={"anyOf": [model, {"type": "array", "items": model, "minItems": 1}]},
        scorer=scorer,
        scorers={
            "anyOf": [
                {"type": "object", "additionalProperties": scorer, "minProperties": 1},
                {"type": "array", "items": scorer, "minItems": 1},
            ]
        },
        extract=extract,
        confidence={"anyOf": [text, definitions["Confidence"], {"type": "null"}]},
        few_shot={"anyOf": [text, definitions["FewShot"], {"type": "null"}]},
    )
    for definition in definitions.values():
        if "extract" in definition.get("properties", {}):
            definition["properties"]["extract"] = extract
    schema["required"] = ["name", "dataset"]
    schema["allOf"] = [
        {"oneOf": [{"required": [one]}, {"required": [many]}]}
        for one, many in (("prompt", "prompts"), ("model", "models"), ("scorer", "scorers"))
    ]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": TITLE}


def _with(block: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    return {**block, "properties": {**block["properties"], **more}}


def _scorer_form(full: dict[str, Any]) -> dict[str, Any]:
    older = {
        "type": "object",
        "properties": {"type": {"const": "exact"}, "target_field": {"type": "string"}, "normalize": {"type": "array"}},
        "required": ["type", "target_field"],
        "additionalProperties": False,
    }
    return {"anyOf": [full, older]}


def _older_model(definitions: dict[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in definitions["Model"]["properties"].items() if name != "model"}
    params = {"type": "object", "properties": definitions["RequestParams"]["properties"], "additionalProperties": False}
    return {
        "type": "object",
        "properties": {**own, "provider": {"type": "string"}, "name": {"type": "string"}, "params": params},
        "required": ["provider", "name"],
        "additionalProperties": False,
    }


def _prompt_form(full: dict[str, Any]) -> dict[str, Any]:
    text = {"type": "string"}
    short = {
        "type": "object",
        "properties": {"system": text, "user": text},
        "required": ["user"],
        "additionalProperties": False,
    }
    messages = full["properties"]["messages"]
    return {"anyOf": [text, messages, full, short]}


def _extract_form() -> dict[str, Any]:
    options = {
        "which": {"enum": ["first", "last"]},
        "flags": {"type": "array", "items": {"enum": ["IGNORECASE", "MULTILINE", "DOTALL"]}},
    }
    named = {name: {} for name in (*NAMED_RULES, "regex", "rule", "pattern", "path")}
    mapping = {"type": "object", "properties": {**named, **options}, "additionalProperties": False}
    rule = {"anyOf": [{"type": "string"}, mapping]}
    return {"anyOf": [rule, {"type": "array", "items": rule}, {"type": "null"}]}
