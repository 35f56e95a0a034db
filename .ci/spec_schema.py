"""Builds the JSON Schema of a spec file for editors, from the models that validate it.

pydantic's own schema describes the full form. Users write the short and the older forms too, which
`spec_forms` expands before validation, so each place that takes one is widened here.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

from gradetrail import model_spec, scorer_spec, spec
from gradetrail.scorer_spec import NAMED_RULES

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}


def ref(name: str) -> Schema:
    """Point to a definition."""
    return {"$ref": f"#/$defs/{name}"}


def either(*options: Schema) -> Schema:
    """Take any of several forms."""
    return {"anyOf": list(options)}


def mapping(values: Schema) -> Schema:
    """Take a mapping of names."""
    return {"type": "object", "additionalProperties": values, "minProperties": 1}


def several(items: Schema) -> Schema:
    """Take a list that is not empty."""
    return {"type": "array", "items": items, "minItems": 1}


def field_docs() -> dict[tuple[str, str], str]:
    """Collect the string that stands under each field of the models."""
    docs = {}
    parts = Path(inspect.getfile(scorer_spec)).parent.glob("*.py")
    for source in (
        *map(inspect.getsource, (spec, model_spec)),
        *(part.read_text(encoding="utf-8") for part in parts),
    ):
        for block in ast.parse(source).body:
            if not isinstance(block, ast.ClassDef):
                continue
            for field, below in zip(block.body, block.body[1:], strict=False):
                match field, below:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                        value=ast.Constant(value=str(text))
                    ):
                        docs[block.name, name.rstrip("_")] = text
    return docs


def rule_forms() -> list[Schema]:
    """List the short forms of an extraction rule."""
    which = {"which": {"enum": ["first", "last"]}}
    forms: list[Schema] = [
        {"type": "string", "description": f"A regular expression, or one of {', '.join(NAMED_RULES)}."},
        {
            "type": "object",
            "properties": {"regex": TEXT, "flags": {"type": "array", "items": TEXT}, **which},
            "required": ["regex"],
            "additionalProperties": False,
        },
    ]
    for name in NAMED_RULES:
        value = {"type": ["string", "null"]}
        forms.append(
            {
                "type": "object",
                "properties": {name: value, **which},
                "required": [name],
                "additionalProperties": False,
            }
        )
    return forms


def older_model() -> Schema:
    """Describe `{provider, name, params, base_url}`."""
    return {
        "type": "object",
        "properties": {
            "provider": {"enum": list(spec.PROVIDERS)},
            "name": TEXT,
            "params": {"type": "object"},
        },
        "required": ["provider", "name"],
    }


def _widen_judge(judge: Schema) -> None:
    """Add the short forms of its model and opponent, and the older names of options."""
    properties = judge["properties"]
    properties["model"] = {**ref("AnyModel"), "description": properties["model"]["description"]}
    properties["against"]["anyOf"].insert(0, TEXT)
    properties["judge_prompt"] = {**TEXT, "description": "Older name of `file`."}
    properties["samples"] = {**properties["votes"], "description": "Older name of `votes`."}
    judge["required"].remove("file")
    judge["oneOf"] = [{"required": ["file"]}, {"required": ["judge_prompt"]}]


def widened(full: Schema, definitions: Schema) -> None:
    """Add the short and older forms."""
    kinds = {
        name: block["properties"]["type"]["const"]
        for name, block in definitions.items()
        if "const" in block.get("properties", {}).get("type", {})
    }
    for name in kinds:
        definitions[name].setdefault("required", []).append("type")
    messages = several(
        {"type": "object", "additionalProperties": TEXT, "minProperties": 1, "maxProperties": 1}
    )
    user = {
        "type": "object",
        "properties": {"system": {"type": ["string", "null"]}, "user": TEXT},
        "required": ["user"],
        "additionalProperties": False,
    }
    older_exact = {
        "type": "object",
        "properties": {"type": {"const": "exact"}, "target_field": TEXT},
        "required": ["type", "target_field"],
    }
    definitions["AnyPrompt"] = either(TEXT, user, messages, ref("Prompt"))
    definitions["AnyModel"] = either(TEXT, ref("Model"), older_model())
    definitions["AnyScorer"] = either(
        {"enum": sorted(kinds.values())}, *(ref(name) for name in sorted(kinds)), older_exact
    )
    definitions["AnyRule"] = either(*rule_forms(), ref("ExtractRule"))
    definitions["AnyExtract"] = either(
        {"type": "null"}, ref("AnyRule"), {"type": "array", "items": ref("AnyRule")}
    )
    definitions["Dataset"]["properties"]["id_field"] = {**TEXT, "description": "Older name of `id`."}
    definitions["Switch"]["properties"]["cases"] = mapping(ref("AnyScorer"))
    field_rules = mapping(either({"type": "null"}, ref("FieldRule")))
    fields = definitions["JsonMatch"]["properties"]["fields"]
    definitions["JsonMatch"]["properties"]["fields"] = fields | either(
        {"type": "null"}, several(TEXT), field_rules
    )
    parts = definitions["Combine"]["properties"]["of"]
    del parts["type"], parts["additionalProperties"]
    definitions["Combine"]["properties"]["of"] = parts | either(several(TEXT), mapping({"type": "number"}))
    _widen_judge(definitions["Judge"])
    for name in kinds:
        definitions[name]["properties"]["extract"] = ref("AnyExtract")
    properties = full["properties"]
    properties |= {
        "dataset": either(TEXT, ref("Dataset")),
        "prompt": ref("AnyPrompt"),
        "prompts": mapping(ref("AnyPrompt")),
        "model": ref("AnyModel"),
        "models": either(ref("AnyModel"), several(ref("AnyModel"))),
        "scorer": ref("AnyScorer"),
        "scorers": either(mapping(ref("AnyScorer")), several(ref("AnyScorer"))),
        "extract": ref("AnyExtract"),
        "few_shot": either({"type": "null"}, TEXT, ref("FewShot")),
        "confidence": either({"type": "null"}, TEXT, ref("Confidence")),
    }
    full["required"] = ["name", "dataset"]
    full["allOf"] = [
        {"oneOf": [{"required": [one]}, {"required": [f"{one}s"]}]} for one in ("prompt", "model", "scorer")
    ]


def spec_schema() -> Schema:
    """Give the JSON Schema (draft 2020-12) of everything that `load_spec` takes."""
    full: Schema = spec.Spec.model_json_schema()
    definitions: Schema = full["$defs"]
    docs = field_docs()
    for name, block in {"Spec": full, **definitions}.items():
        for field, value in block.get("properties", {}).items():
            value.pop("title", None)
            for owner in (name, "ScorerBase", "Scaled", "RequestParams"):
                if (owner, field) in docs:
                    value["description"] = docs[owner, field]
                    break
    widened(full, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **full,
        "title": "gradetrail spec",
        "description": "One evaluation: dataset, prompt(s), target, model(s), scorer(s) and how to run them.",
    }
