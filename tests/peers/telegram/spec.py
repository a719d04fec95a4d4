"""Checks calls against the Bot API description: method, parameters, types, nested objects."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

ORACLE = Path(__file__).resolve().parents[2] / "oracles" / "telegram-bot-api.json"
_ARRAY = "Array of "


@dataclass(frozen=True, slots=True)
class Upload:
    """A file part of a multipart call."""

    filename: str
    data: bytes
    content_type: str = "application/octet-stream"


@dataclass(slots=True)
class Checked:
    """A call after the check: typed parameters, and what was wrong (empty means allowed)."""

    params: dict[str, Any]
    faults: list[str] = field(default_factory=list)
    uploads: dict[str, Upload] = field(default_factory=dict)


class BotApiSpec:
    """The description, ready for look-ups. Method names are matched without regard to case."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._methods = {name.lower(): method for name, method in description["methods"].items()}
        self._types: Mapping[str, Any] = description["types"]

    def method_name(self, name: str) -> str | None:
        """The official spelling, or None when there is no such method."""
        method = self._methods.get(name.lower())
        return str(method["name"]) if method else None

    def returns(self, name: str) -> list[str]:
        """Types that the method may answer with."""
        return list(self._methods[name.lower()]["returns"])

    def check(self, name: str, raw: Mapping[str, Any], uploads: Mapping[str, Upload]) -> Checked:
        """Typed parameters of a known method and every breach of the description."""
        fields = {f["name"]: f for f in self._methods[name.lower()].get("fields", ())}
        call = Checked(params={}, uploads=dict(uploads))
        for key, value in raw.items():
            if key not in fields:
                call.faults.append(f"{name}: unknown parameter {key!r}")
                continue
            self._take(call, name, fields[key], value)
        self._check_uploads(call, name, fields)
        present = call.params.keys() | uploads.keys()
        call.faults += [
            f"{name}: parameter {key!r} is required"
            for key, f in fields.items()
            if f["required"] and key not in present
        ]
        return call

    def _take(self, call: Checked, name: str, spec: Mapping[str, Any], raw: Any) -> None:
        best: list[str] = []
        for type_name in spec["types"]:
            value, faults = self._read(type_name, raw, f"{name}.{spec['name']}")
            if not faults:
                call.params[spec["name"]] = value
                return
            best = faults if not best or len(faults) < len(best) else best
        call.faults += best

    def _check_uploads(self, call: Checked, name: str, fields: Mapping[str, Any]) -> None:
        referred = json.dumps(call.params, default=str)
        for key in call.uploads:
            direct = key in fields and "InputFile" in fields[key]["types"]
            if not direct and f"attach://{key}" not in referred:
                call.faults.append(f"{name}: the file part {key!r} is neither a parameter nor referred to")

    def _read(self, type_name: str, raw: Any, path: str) -> tuple[Any, list[str]]:
        """A top-level value: text of a form is turned into its type first."""
        if isinstance(raw, str) and type_name not in ("String", "InputFile"):
            text = raw.strip().lower() if type_name == "Boolean" else raw
            try:
                value = json.loads(
                    {"1": "true", "0": "false"}.get(text, text) if type_name == "Boolean" else text
                )
            except ValueError:
                return None, [f"{path}: {raw[:60]!r} is not {type_name}"]
            return value, self._faults(type_name, value, path)
        return raw, self._faults(type_name, raw, path)

    def _faults(self, type_name: str, value: Any, path: str) -> list[str]:
        if type_name.startswith(_ARRAY):
            if not isinstance(value, list):
                return [f"{path}: an array is expected"]
            inner = type_name.removeprefix(_ARRAY)
            return [
                fault for i, item in enumerate(value) for fault in self._faults(inner, item, f"{path}[{i}]")
            ]
        if type_name in _SCALARS:
            return (
                []
                if _is_scalar(type_name, value)
                else [f"{path}: {type_name} is expected, got {value!r:.60}"]
            )
        return self._object_faults(type_name, value, path)

    def _object_faults(self, type_name: str, value: Any, path: str) -> list[str]:
        described = self._types.get(type_name, {})
        if type_name == "InputFile":
            return [] if isinstance(value, str) else [f"{path}: a file or a file id is expected"]
        if not isinstance(value, dict):
            return [f"{path}: a {type_name} object is expected"]
        if described.get("subtypes"):
            tries = [self._faults(sub, value, path) for sub in described["subtypes"]]
            return min(tries, key=len, default=[])
        fields = {f["name"]: f for f in described.get("fields", ())}
        faults = [f"{path}: {type_name} has no field {key!r}" for key in value if key not in fields]
        for key, spec in fields.items():
            if key in value:
                faults += self._any_of(spec["types"], value[key], f"{path}.{key}")
            elif spec["required"]:
                faults.append(f"{path}: {type_name} needs {key!r}")
        return faults

    def _any_of(self, types: list[str], value: Any, path: str) -> list[str]:
        return min((self._faults(name, value, path) for name in types), key=len)


_SCALARS = {"Integer", "String", "Boolean", "Float", "True"}


def _is_scalar(type_name: str, value: Any) -> bool:
    if type_name == "String":
        return isinstance(value, str)
    if type_name in ("Boolean", "True"):
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    return isinstance(value, int) if type_name == "Integer" else isinstance(value, int | float)


@cache
def bot_api() -> BotApiSpec:
    """The description in `tests/oracles/`, read once (it blocks for some milliseconds)."""
    return BotApiSpec(json.loads(ORACLE.read_text(encoding="utf-8")))
