"""Filling in secrets that stand outside config.yaml, under the name that follows from their key.

`llm.<provider>.api_key` is <PROVIDER>_API_KEY; `platforms.<instance>.<key>` is <INSTANCE>_<KEY>
(TELEGRAM_TOKEN); any other key is its whole path (NETWORK_PROXY). What config.yaml says goes before.
A list of secrets (`llm.<provider>.api_keys`, <PROVIDER>_API_KEYS) is parted by commas there.
`<key>_file: PATH` reads a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import BaseModel

from gateway.config.environment import Environment
from gateway.config.models import Annotation, shape
from gateway.config.problems import Path, Problem, Problems, Raw, dotted

__all__ = ["Filler", "secret_name", "secret_values"]


def secret_name(path: Path) -> str:
    """The variable that holds the secret at `path`."""
    short = path[1:] if path[0] in {"llm", "platforms"} else path
    return re.sub(r"[^A-Z0-9]+", "_", "_".join(str(p) for p in short).upper())


class Filler:
    """Walks raw values beside their model, fills in secrets, notes those that stand in plain text."""

    def __init__(self, environment: Environment, is_literal: Callable[[Path], bool]) -> None:
        self._environment = environment
        self._is_literal = is_literal
        self.literals: list[Path] = []
        self._holders: dict[str, Path] = {}

    def fill(self, model: type[BaseModel], data: dict[str, Any], path: Path) -> None:
        """Change `data` in place. Raises `Problems` for a file that cannot be read."""
        for name, field in model.model_fields.items():
            here, inner = shape(field.annotation), (*path, name)
            if here.kind == "secret":
                self._secret(data, name, inner, f"{name}_file" in model.model_fields)
            elif here.kind == "model":
                self._model(here.inner, data, name, inner)
            elif here.kind == "list" and shape(here.inner).kind == "secret":
                self._secrets(data, name, inner)
            elif here.kind in {"map", "list"}:
                self._each(here.inner, data.get(name), inner)

    def _secret(self, data: dict[str, Any], name: str, path: Path, file_is_own_key: bool) -> None:
        file = None if file_is_own_key else data.pop(f"{name}_file", None)
        if file:
            data[name] = self._environment.read_secret(str(file), f"{dotted(path)}_file")
        elif data.get(name) is None or data[name] == "":
            data.pop(name, None)
            found = self._environment.lookup(secret_name(path))
            if found is not None:
                self._claim(path)
                data[name] = found
        elif self._is_literal(path):
            self.literals.append(path)

    def _claim(self, path: Path) -> None:
        """One variable is one secret: `my-bot` and `my_bot` would both be given MY_BOT_TOKEN."""
        other = self._holders.setdefault(secret_name(path), path)
        if other != path:
            told = f"would have the variable of {dotted(other)}, {secret_name(path)}; rename one of them"
            raise Problems("config.yaml", [Problem(path, told)])

    def _secrets(self, data: dict[str, Any], name: str, path: Path) -> None:
        given = data.get(name)
        if not given:
            given = self._environment.lookup(secret_name(path))
        elif self._is_literal(path):
            self.literals.append(path)
        if isinstance(given, str):
            given = [part for part in (p.strip() for p in given.split(",")) if part]
        if given:
            data[name] = given
        else:
            data.pop(name, None)

    def _model(self, model: type[BaseModel], data: dict[str, Any], name: str, path: Path) -> None:
        value = data.get(name)
        if value is None:
            data.pop(name, None)
            value = {}
            self.fill(model, value, path)
            if value:
                data[name] = value
        elif isinstance(value, dict):
            self.fill(model, value, path)

    def _each(self, annotation: Annotation, values: Raw, path: Path) -> None:
        inner = shape(annotation)
        if inner.kind != "model":
            return
        keys = (
            list(values)
            if isinstance(values, dict)
            else range(len(values))
            if isinstance(values, list)
            else ()
        )
        for key in keys:
            if values[key] is None:  # `main:` with nothing after it: everything at its default
                values[key] = {}
            if isinstance(values[key], dict):
                self.fill(inner.inner, values[key], (*path, key))


def secret_values(model: type[BaseModel], data: Raw) -> Iterator[str]:
    """Every secret text in raw `data` of `model`, so that it can be kept out of messages."""
    if not isinstance(data, dict):
        return
    for name, field in model.model_fields.items():
        yield from _secrets_of(field.annotation, data.get(name))


def _secrets_of(annotation: Annotation, value: Raw) -> Iterator[str]:
    here = shape(annotation)
    if here.kind == "secret" and value is not None:
        yield str(value)
    elif here.kind == "model":
        yield from secret_values(here.inner, value)
    elif here.kind in {"map", "list"}:
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from _secrets_of(here.inner, item)
