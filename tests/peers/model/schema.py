"""The chat-completions schemas as validators, and the rules that the schemas do not state."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, SchemaError, ValidationError, validators
from jsonschema.protocols import Validator

ORACLE = Path(__file__).resolve().parents[2] / "oracles" / "openai-chat.json"
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_EXTRA_MESSAGE_FIELDS = frozenset({"reasoning_content"})


def _one_of(
    validator: Any, branches: Sequence[Any], instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    """`oneOf` that goes straight to the branch its discriminator names: quicker, and the error says more."""
    name = schema.get("discriminator", {}).get("propertyName")
    if name is None or not isinstance(instance, dict):
        yield from Draft202012Validator.VALIDATORS["oneOf"](validator, branches, instance, schema)
        return
    for branch in branches:
        found = _resolve(branch) if "$ref" in branch else branch
        if instance.get(name) in found.get("properties", {}).get(name, {}).get("enum", ()):
            yield from validator.descend(instance, branch)
            return
    yield ValidationError(f"{name} {instance.get(name)!r} is not known here")


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(ORACLE.read_text(encoding="utf-8"))
    return document


def _resolve(branch: Mapping[str, Any]) -> Mapping[str, Any]:
    schemas: Mapping[str, Any] = _document()["components"]["schemas"]
    found: Mapping[str, Any] = schemas[branch["$ref"].rsplit("/", 1)[1]]
    return found


@cache
def validator(name: str) -> Validator:
    """Validator of one component, for example `CreateChatCompletionRequest`; made once."""
    extend: Any = validators.extend  # the library leaves it untyped
    kind: Any = extend(Draft202012Validator, {"oneOf": _one_of})
    built: Validator = kind({**_document(), "$ref": f"#/components/schemas/{name}"})
    return built


@cache
def _names(component: str) -> frozenset[str]:
    """Property names of a component, through allOf and references."""
    schema = _document()["components"]["schemas"][component]
    names = set(schema.get("properties", {}))
    for part in schema.get("allOf", ()):
        names |= _names(part["$ref"].rsplit("/", 1)[1]) if "$ref" in part else set(part.get("properties", {}))
    return frozenset(names)


def schema_faults(body: Any, component: str = "CreateChatCompletionRequest") -> list[str]:
    """What the OpenAPI schema has against a body (the first three points)."""
    faults = []
    for error in validator(component).iter_errors(body):
        faults.append(f"{'/'.join(map(str, error.absolute_path)) or 'body'}: {error.message[:200]}")
        if len(faults) == 3:
            break
    return faults


def strict_faults(body: Mapping[str, Any], extra: Collection[str] = ()) -> list[str]:
    """Breaches of the rules that providers enforce beyond the schema.

    Unknown fields; illegal roles and order; tool results that do not follow their call, are missing or
    doubled; repeated ids; arguments that are no JSON object; empty text; lone surrogates; bad tools.
    """
    faults = [f"unrecognized request argument: {k}" for k in body.keys() - _request_names() - set(extra)]
    if _has_lone_surrogate(body):
        faults.append("the body contains a lone surrogate")
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        return [*faults, "messages: a list of objects is expected"]
    return faults + _message_faults(messages) + _order_faults(messages) + _tool_faults(body)


def _request_names() -> frozenset[str]:
    return _names("CreateChatCompletionRequest")


def _has_lone_surrogate(body: Any) -> bool:
    try:
        json.dumps(body, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _message_faults(messages: list[dict[str, Any]]) -> list[str]:
    faults: list[str] = []
    for number, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if role not in _ROLES:
            faults.append(f"messages[{number}]: illegal role {role!r}")
            continue
        known = _names(f"ChatCompletionRequest{str(role).capitalize()}Message") | _EXTRA_MESSAGE_FIELDS
        faults += [f"messages[{number}]: unknown field {key!r}" for key in message.keys() - known]
        if _has_empty_text(role, content):
            faults.append(f"messages[{number}]: empty text in a {role} message")
        if role == "assistant" and content is None and not message.get("tool_calls"):
            faults.append(f"messages[{number}]: an assistant message without content and without calls")
        faults += _call_faults(number, message.get("tool_calls"))
    return faults


def _has_empty_text(role: Any, content: Any) -> bool:
    """A tool may say nothing; everybody else who says nothing must leave the content out."""
    if isinstance(content, str):
        return content == "" and role != "tool"
    parts = content if isinstance(content, list) else ()
    return any(isinstance(p, dict) and p.get("type") == "text" and p.get("text") == "" for p in parts)


def _call_faults(number: int, calls: Any) -> list[str]:
    faults: list[str] = []
    if calls is not None and not calls:
        faults.append(f"messages[{number}]: tool_calls is empty")
    for call in calls or ():
        try:
            arguments = json.loads(call["function"]["arguments"])
        except (KeyError, TypeError, ValueError):
            arguments = None
        if not isinstance(arguments, dict):
            faults.append(f"messages[{number}]: arguments of {call.get('id')!r} are no JSON object")
    return faults


def _order_faults(messages: list[dict[str, Any]]) -> list[str]:
    faults: list[str] = []
    waiting: list[str] = []
    used: Counter[str] = Counter()
    for number, message in enumerate(messages):
        if message.get("role") == "tool":
            call_id = str(message.get("tool_call_id"))
            if call_id in waiting:
                waiting.remove(call_id)
            else:
                faults.append(f"messages[{number}]: result {call_id!r} does not follow its call")
            continue
        faults += [f"messages[{number}]: call {call_id!r} has no result before it" for call_id in waiting]
        waiting = [str(call.get("id")) for call in message.get("tool_calls") or ()]
        used.update(waiting)
    faults += [f"call {call_id!r} has no result" for call_id in waiting]
    faults += [f"tool call id {call_id!r} is used {n} times" for call_id, n in used.items() if n > 1]
    if not messages or messages[-1].get("role") == "assistant":
        faults.append("the last message must not be the assistant's")
    if not any(m.get("role") in ("user", "tool") for m in messages):
        faults.append("there is no user message")
    return faults


def _tool_faults(body: Mapping[str, Any]) -> list[str]:
    functions = [t.get("function", {}) for t in body.get("tools") or () if isinstance(t, dict)]
    names = Counter(str(f.get("name")) for f in functions)
    faults = [f"tool {name!r}: illegal name" for name in names if not _TOOL_NAME.match(name)]
    faults += [f"tool {name!r} is defined {n} times" for name, n in names.items() if n > 1]
    if "tools" in body and not functions:
        faults.append("tools is empty")
    for function in functions:
        if fault := _parameters_fault(json.dumps(function.get("parameters", {}), sort_keys=True)):
            faults.append(f"tool {function.get('name')!r}: {fault}")
    return faults


@lru_cache(maxsize=512)
def _parameters_fault(parameters: str) -> str | None:
    schema = json.loads(parameters)
    if schema and schema.get("type") != "object":
        return "parameters must be an object schema"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as wrong:
        return f"parameters are no JSON Schema: {wrong.message[:120]}"
    return None
