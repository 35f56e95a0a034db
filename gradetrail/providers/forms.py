"""Tools, tool choice, response format and messages in the form of each API.

Invariant: a spec may state them in any of the forms; each API gets its own, and nothing is added
that the spec does not say. Messages inside gradetrail have the form of OpenAI chat.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gradetrail.request import Json, Message

SCHEMA_NAME = "answer"
"""Name sent with a JSON schema that has none, where the API wants one."""


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay `over` on `base`, mappings inside each other at every depth."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = merged(old, value) if both and isinstance(old, Mapping) else value
    return result


def _function(tool: Json) -> dict[str, Any] | None:
    """Give name, description and parameters of a function tool in any form; None for other tools."""
    if not isinstance(tool, Mapping):
        return None
    if isinstance(tool.get("function"), Mapping):
        return dict(tool["function"])
    if "input_schema" in tool and str(tool.get("type", "custom")) == "custom":
        rest = {key: value for key, value in tool.items() if key not in ("input_schema", "type")}
        return {**rest, "parameters": tool["input_schema"]}
    if tool.get("type") == "function" or ("type" not in tool and "name" in tool):
        return {key: value for key, value in tool.items() if key != "type"}
    return None


def chat_tools(tools: Json) -> Json:
    """Give tools as OpenAI chat completions take them."""
    return [
        tool if (function := _function(tool)) is None else {"type": "function", "function": function}
        for tool in _listed(tools)
    ]


def responses_tools(tools: Json) -> Json:
    """Give tools as OpenAI's Responses API takes them."""
    return [
        tool if (function := _function(tool)) is None else {"type": "function", **function}
        for tool in _listed(tools)
    ]


def anthropic_tools(tools: Json) -> Json:
    """Give tools as Anthropic takes them."""
    made = []
    for tool in _listed(tools):
        function = _function(tool)
        if function is None:
            made.append(tool)
            continue
        schema = function.pop("parameters", None) or {"type": "object", "properties": {}}
        made.append({**function, "input_schema": schema})
    return made


def _listed(tools: Json) -> list[Any]:
    return list(tools) if isinstance(tools, list | tuple) else [tools]


def _chosen(choice: Json) -> tuple[str, str | None]:
    """Give the kind of a tool choice (`auto`, `none`, `any`, `tool`, `other`) and the tool's name."""
    if isinstance(choice, str):
        kinds = {"auto": "auto", "none": "none", "required": "any", "any": "any"}
        return (kinds[choice], None) if choice in kinds else ("tool", choice)
    if isinstance(choice, Mapping):
        function = choice.get("function")
        name = function.get("name") if isinstance(function, Mapping) else choice.get("name")
        if isinstance(name, str):
            return "tool", name
        if choice.get("type") in ("auto", "any", "none"):
            return str(choice["type"]), None
    return "other", None


def chat_tool_choice(choice: Json) -> Json:
    """Give a tool choice as OpenAI chat completions take it."""
    kind, name = _chosen(choice)
    if kind == "tool":
        return {"type": "function", "function": {"name": name}}
    return choice if kind == "other" else "required" if kind == "any" else kind


def responses_tool_choice(choice: Json) -> Json:
    """Give a tool choice as the Responses API takes it."""
    kind, name = _chosen(choice)
    if kind == "tool":
        return {"type": "function", "name": name}
    return choice if kind == "other" else "required" if kind == "any" else kind


def anthropic_tool_choice(choice: Json) -> Json:
    """Give a tool choice as Anthropic takes it, further options kept."""
    kind, name = _chosen(choice)
    if kind == "other":
        return choice
    rest = {}
    if isinstance(choice, Mapping):
        rest = {key: value for key, value in choice.items() if key not in ("type", "name", "function")}
    return {"type": kind, **({"name": name} if name else {}), **rest}


def schema_of(response_format: Json) -> dict[str, Any] | None:
    """Give `{schema, name?, strict?, ...}` of a response format in any form; None if it has no schema."""
    if not isinstance(response_format, Mapping):
        return None
    if isinstance(response_format.get("json_schema"), Mapping):
        return dict(response_format["json_schema"])
    if response_format.get("type") == "json_schema":
        return {key: value for key, value in response_format.items() if key != "type"}
    if response_format.get("type") in ("json_object", "text") and len(response_format) == 1:
        return None
    return {"schema": dict(response_format)}


def chat_response_format(response_format: Json) -> Json:
    """Give a response format as OpenAI chat completions take it."""
    schema = schema_of(response_format)
    if schema is None:
        return response_format
    return {"type": "json_schema", "json_schema": {"name": SCHEMA_NAME, **schema}}


def responses_text_format(response_format: Json) -> Json:
    """Give a response format as `text.format` of the Responses API."""
    schema = schema_of(response_format)
    return response_format if schema is None else {"type": "json_schema", "name": SCHEMA_NAME, **schema}


def anthropic_output_format(response_format: Json) -> Json:
    """Give a response format as `output_config.format` of Anthropic."""
    schema = schema_of(response_format)
    return response_format if schema is None else {"type": "json_schema", "schema": schema.get("schema")}


def plain_text(content: Json) -> str:
    """Give the text of a message's content: the string, or its text parts joined."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else ()
    return "".join(
        part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    )


def split_system(messages: Sequence[Message]) -> tuple[str | None, Sequence[Message]]:
    """Take the system messages off the front; their texts are joined by a blank line."""
    number = 0
    while number < len(messages) and messages[number].get("role") in ("system", "developer"):
        number += 1
    if number == 0:
        return None, messages
    return "\n\n".join(plain_text(message.get("content")) for message in messages[:number]), messages[number:]


def responses_input(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Give messages as `input` items of the Responses API."""
    items: list[dict[str, Any]] = []
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role == "tool":
            output = {"call_id": message.get("tool_call_id"), "output": plain_text(content)}
            items.append({"type": "function_call_output", **output})
            continue
        if content:
            items.append({"role": role, "content": _responses_content(content, str(role))})
        for call in message.get("tool_calls") or ():
            function = call["function"]
            named = {"call_id": call.get("id"), "name": function["name"], "arguments": function["arguments"]}
            items.append({"type": "function_call", **named})
    return items


def _responses_content(content: Json, role: str) -> Json:
    if isinstance(content, str):
        return content
    kind = "output_text" if role == "assistant" else "input_text"
    parts = []
    for part in content:
        if part.get("type") == "text":
            parts.append({"type": kind, "text": part["text"]})
        elif part.get("type") == "image_url":
            parts.append({"type": "input_image", "image_url": part["image_url"]["url"]})
        else:
            parts.append(part)
    return parts


def anthropic_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Give messages as Anthropic takes them; tool results become blocks of a user turn."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role == "tool":
            result = {"tool_use_id": message.get("tool_call_id"), "content": content}
            turns.append({"role": "user", "content": [{"type": "tool_result", **result}]})
            continue
        calls = [
            {
                "type": "tool_use",
                "id": call.get("id"),
                "name": call["function"]["name"],
                "input": json.loads(call["function"]["arguments"] or "{}"),
            }
            for call in message.get("tool_calls") or ()
        ]
        blocks = content if isinstance(content, str) and not calls else [*_anthropic_blocks(content), *calls]
        turns.append({"role": role, "content": blocks})
    return turns


def _anthropic_blocks(content: Json) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [_anthropic_block(part) for part in content or ()]


def _anthropic_block(part: Json) -> Json:
    if not isinstance(part, Mapping) or part.get("type") != "image_url":
        return part
    url = part["image_url"]["url"]
    if not url.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    kind, _, data = url.removeprefix("data:").partition(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
