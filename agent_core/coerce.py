"""Arguments as models write them, brought to what a tool's JSON Schema wants.

Pure. What already fits stays as it is; what can be read in one way only is converted; the rest becomes
sentences for the model.
Understood of JSON Schema (https://json-schema.org/draft/2020-12/json-schema-validation): type, enum, const,
properties, required,
additionalProperties, items, anyOf, oneOf, local $ref, bounds of numbers, lengths and patterns. Other
keywords are not checked.
"""

# ruff: noqa: ANN401  the values are JSON of any shape

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from hermes.messages import JSONObject

__all__ = ["Coerced", "coerce"]

_MISSING = object()


@dataclass(frozen=True, slots=True)
class Coerced:
    """`arguments` fit the schema when `errors` is empty; each error is a sentence naming the argument."""

    arguments: JSONObject
    errors: tuple[str, ...] = ()


def coerce(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Coerced:
    """The arguments in the types that `schema` (of an object) asks for. The input is not changed."""
    fitting = _Fitting(schema)
    fitted = fitting.object(dict(arguments), schema, "")
    return Coerced(fitted, tuple(fitting.errors))


class _Fitting:
    """One run over a value: collects errors, knows the root for `$ref`."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.errors: list[str] = []

    def value(self, value: Any, schema: Any, path: str) -> Any:
        if not isinstance(schema, Mapping):
            return value
        schema = self._resolved(schema)
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return self._one_of(value, schema[word], path)
        if "const" in schema or "enum" in schema:
            return self._choice(value, schema.get("enum", [schema.get("const")]), path)
        types = _types(schema)
        if types and not any(_is(value, t) for t in types):
            value = _converted(value, types, _is_list_of_objects(schema))
            if value is _MISSING:
                return _MISSING
        return self._inside(value, schema, path)

    def fit(self, value: Any, schema: Any, path: str) -> Any:
        """`value` fitted, or itself with an error noted."""
        fitted = self.value(value, schema, path)
        if fitted is _MISSING:
            self.errors.append(f"`{path}` must be {_wanted(self._resolved(schema))}, not {_shown(value)}.")
            return value
        return fitted

    def object(self, value: dict[str, Any], schema: Mapping[str, Any], path: str) -> dict[str, Any]:
        properties: Mapping[str, Any] = schema.get("properties", {})
        required: Sequence[str] = schema.get("required", ())
        out: dict[str, Any] = {}
        for name, item in value.items():
            at = f"{path}.{name}" if path else str(name)
            if name in properties:
                # "null" for something that may be left out means that it is left out.
                if item is None and name not in required and not self._takes_null(properties[name]):
                    continue
                out[name] = self.fit(item, properties[name], at)
            else:
                self._extra(out, name, item, schema, at)
        for name in required:
            if name not in value:
                at = f"{path}.{name}" if path else name
                self.errors.append(f"`{at}` is missing: {_wanted(self._resolved(properties.get(name, {})))}.")
        return out

    def _extra(self, out: dict[str, Any], name: str, item: Any, schema: Mapping[str, Any], at: str) -> None:
        extra = schema.get("additionalProperties", True)
        if extra is False:
            known = list(schema.get("properties", {}))
            near = get_close_matches(str(name), known, 1) or known
            hint = f" Known: {', '.join(near)}." if near else " It takes no arguments."
            self.errors.append(f"`{at}` is unknown.{hint}")
            return
        out[name] = self.fit(item, extra, at) if isinstance(extra, Mapping) else item

    def _takes_null(self, schema: Any) -> bool:
        if not isinstance(schema, Mapping):
            return True
        schema = self._resolved(schema)
        branches = schema.get("anyOf") or schema.get("oneOf")
        if branches:
            return any(self._takes_null(b) for b in branches)
        if "enum" in schema or "const" in schema:
            return None in schema.get("enum", [schema.get("const")])
        types = _types(schema)
        return not types or "null" in types

    def _one_of(self, value: Any, branches: Sequence[Any], path: str) -> Any:
        """The first branch that takes the value as it is, else the first that takes it converted."""
        first: Any = _MISSING
        for branch in branches:
            trial = _Fitting(self.root)
            fitted = trial.value(value, branch, path)
            if fitted is _MISSING or trial.errors:
                continue
            if _same(fitted, value):
                return fitted
            if first is _MISSING:
                first = fitted
        return first

    def _choice(self, value: Any, choices: Sequence[Any], path: str) -> Any:
        for choice in choices:
            if _same(choice, value):
                return choice
        folded = _folded(value)
        near = [c for c in choices if _folded(c) == folded]
        if len(near) == 1:
            return near[0]
        self.errors.append(
            f"`{path}` must be one of {', '.join(map(json.dumps, choices))}, not {_shown(value)}."
        )
        return value

    def _inside(self, value: Any, schema: Mapping[str, Any], path: str) -> Any:
        if isinstance(value, dict):
            return self.object(value, schema, path)
        if isinstance(value, list):
            items = schema.get("items")
            out = [self.fit(v, items, f"{path}[{i}]") for i, v in enumerate(value)] if items else value
            self._bounds(len(out), schema, path, ("minItems", "maxItems", "items"))
            return out
        if isinstance(value, str):
            self._bounds(len(value), schema, path, ("minLength", "maxLength", "characters"))
            pattern = schema.get("pattern")
            if pattern is not None and re.search(pattern, value) is None:
                self.errors.append(f"`{path}` must match {pattern}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self._bounds(value, schema, path, ("minimum", "maximum", ""))
        return value

    def _bounds(self, size: float, schema: Mapping[str, Any], path: str, words: tuple[str, str, str]) -> None:
        low, high, unit = words
        unit = f" {unit}" if unit else ""
        if low in schema and size < schema[low]:
            self.errors.append(f"`{path}` must be at least {schema[low]}{unit}, not {size}.")
        if high in schema and size > schema[high]:
            self.errors.append(f"`{path}` must be at most {schema[high]}{unit}, not {size}.")

    def _resolved(self, schema: Any) -> Mapping[str, Any]:
        """The schema that a local reference points to; at most 20 hops, so that a circle ends."""
        for _ in range(20):
            if not isinstance(schema, Mapping) or not str(schema.get("$ref", "")).startswith("#"):
                break
            found: Any = self.root
            for part in str(schema["$ref"]).removeprefix("#").strip("/").split("/"):
                found = found.get(part.replace("~1", "/").replace("~0", "~"), {}) if part else found
            schema = found
        return schema if isinstance(schema, Mapping) else {}


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    kind = schema.get("type", ())
    return (kind,) if isinstance(kind, str) else tuple(kind)


def _is(value: Any, kind: str) -> bool:
    if kind == "null":
        return value is None
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    wanted: dict[str, type] = {"string": str, "object": dict, "array": list}
    return isinstance(value, wanted[kind]) if kind in wanted else True


def _same(a: Any, b: Any) -> bool:
    """Equal as JSON: `1` and `true` differ, `1` and `1.0` do not."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    return bool(a == b)


def _folded(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text.strip().casefold().replace("-", "_").replace(" ", "_")


def _is_list_of_objects(schema: Mapping[str, Any]) -> bool:
    items = schema.get("items")
    return isinstance(items, Mapping) and items.get("type") == "object"


def _converted(value: Any, types: Sequence[str], objects: bool) -> Any:
    for kind in types:
        found = _CONVERSIONS.get(kind, _never)(value)
        if found is not _MISSING:
            return found
    # One thing where a list of things is wanted; a text that is no object stays an error there.
    if "array" in types and value is not None and (isinstance(value, dict) or not objects):
        return [value]
    return _MISSING


def _never(_: Any) -> Any:
    return _MISSING


def _parsed(value: Any, kind: type) -> Any:
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return _MISSING
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return _MISSING
    return found if isinstance(found, kind) else _MISSING


def _to_integer(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and (match := re.fullmatch(r"\s*([+-]?[0-9]{1,60})(?:\.0+)?\s*", value)):
        return int(match[1])
    return _MISSING


def _to_number(value: Any) -> Any:
    whole = _to_integer(value)
    if whole is not _MISSING or not isinstance(value, str) or len(value) > 60:
        return whole
    if re.fullmatch(r"\s*[+-]?([0-9]++\.?[0-9]*+|\.[0-9]+)([eE][+-]?[0-9]+)?\s*", value) is None:
        return _MISSING
    found = float(value)
    return found if math.isfinite(found) else _MISSING


def _to_boolean(value: Any) -> Any:
    words = {"true": True, "false": False}
    return words.get(value.strip().lower(), _MISSING) if isinstance(value, str) else _MISSING


def _to_null(value: Any) -> Any:
    is_null = isinstance(value, str) and value.strip().lower() in ("null", "none")
    return None if is_null else _MISSING


def _to_string(value: Any) -> Any:
    # A text that is itself JSON (the content of a file, say) is often sent as the object it describes.
    return _MISSING if value is None else json.dumps(value, ensure_ascii=False)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "integer": _to_integer,
    "number": _to_number,
    "boolean": _to_boolean,
    "null": _to_null,
    "object": lambda value: _parsed(value, dict),
    "array": lambda value: _parsed(value, list),
    "string": _to_string,
}

_NAMES = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "object": "an object",
    "array": "a list",
    "string": "a text",
}


def _wanted(schema: Mapping[str, Any]) -> str:
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return " or ".join(_wanted(b) for b in branches if isinstance(b, Mapping))
    if "enum" in schema:
        return "one of " + ", ".join(map(json.dumps, schema["enum"]))
    names = [_NAMES.get(t, t) for t in _types(schema)]
    return " or ".join(names) or "a value"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."
