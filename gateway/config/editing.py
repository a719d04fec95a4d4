"""Changing one key: in config.yaml with every comment kept, or, for a secret, in `.env`.

Nothing that is wrong gets written.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

from pydantic import BaseModel
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.util import load_yaml_guess_indent

from gateway.config.document import parse, parse_flow
from gateway.config.environment import parse_env
from gateway.config.keys import parse_key, platform_types
from gateway.config.loading import load_document, read_bytes
from gateway.config.models import Annotation, Place, find, load_class, shape
from gateway.config.problems import Path, Problem, Problems, Raw
from gateway.config.secrets import secret_name
from gateway.home import atomic_write, file_lock
from hermes.config import Schema, Snapshot
from hermes.home import Home

__all__ = [
    "Addition",
    "Change",
    "add_platform",
    "place_of",
    "remove_platform",
    "set_value",
    "set_values",
    "tried",
    "tried_platform",
]


@dataclass(frozen=True, slots=True)
class Change:
    """What was written: `file`, and for a secret the `variable` that holds it.

    `switched_on`: the platform that the secret belongs to, where config.yaml had no entry of it and got an empty one.
    """

    file: str
    variable: str | None = None
    switched_on: str | None = None


@dataclass(frozen=True, slots=True)
class Addition:
    """What a platform's instance gets. Paths start below `platforms.<instance>`; `secrets` go to .env."""

    instance: str
    values: Mapping[Path, Raw]
    secrets: Mapping[Path, str]

    def variables(self) -> dict[str, str]:
        """The secrets by the names of their variables."""
        return {secret_name(("platforms", self.instance, *path)): text for path, text in self.secrets.items()}


def tried_platform(home: Home, schema: Schema, addition: Addition, environ: Mapping[str, str]) -> Snapshot:
    """The settings as they would be with it; nothing is written. Raises `Problems`."""
    after = _with_platform(read_bytes(home), addition)
    return load_document(parse(after), home, schema, {**environ, **addition.variables()})


def add_platform(home: Home, schema: Schema, addition: Addition, environ: Mapping[str, str]) -> None:
    """Write it: the secrets first, then config.yaml, whose entry switches the platform on. Blocks on files.

    Raises `Problems` when the settings would not hold; nothing was written then. The home must exist.
    """
    with file_lock(home.config):
        after = _with_platform(read_bytes(home), addition)
        load_document(parse(after), home, schema, {**environ, **addition.variables()})
        with file_lock(home.env):
            for name, value in addition.variables().items():
                _write_variable(home, name, value)
        atomic_write(home.config, after)


def _with_platform(data: bytes, addition: Addition) -> bytes:
    place: Path = ("platforms", addition.instance)
    if addition.instance not in (parse(data).values.get("platforms") or {}):
        data = _edited(data, place, CommentedMap())
    for path, value in addition.values.items():
        data = _edited(data, (*place, *path), value)
    return data


def remove_platform(home: Home, schema: Schema, instance: str) -> list[str]:
    """Take an instance out of config.yaml, then its secrets out of .env; their names. Blocks on files."""
    with file_lock(home.config):
        before = read_bytes(home)
        values = parse(before).values
        data = (values.get("platforms") or {}).get(instance) or {}
        kind = platform_types(values).get(instance, instance)
        paths = (
            _secret_paths(load_class(schema.platforms[kind]), data, ("platforms", instance))
            if kind in schema.platforms
            else ()
        )
        names = [secret_name(path) for path in paths]
        atomic_write(home.config, _edited(before, ("platforms", instance), None))
        with file_lock(home.env):
            known = parse_env(home.env.read_text("utf-8-sig")) if home.env.exists() else {}
            removed = [name for name in names if name in known]
            for name in removed:
                _write_variable(home, name, None)
    return removed


def _secret_paths(model: type[BaseModel], data: Raw, path: Path) -> Iterator[Path]:
    for name, field in model.model_fields.items():
        here = shape(field.annotation)
        if here.kind == "secret":
            yield (*path, name)
        elif here.kind == "map" and shape(here.inner).kind == "model" and isinstance(data, dict):
            for key, item in (data.get(name) or {}).items():
                yield from _secret_paths(shape(here.inner).inner, item, (*path, name, key))


def place_of(home: Home, schema: Schema, path: Path) -> Place:
    """What stands at `path`. Raises `Problems` for an unknown key, with the nearest one."""
    return find(schema, path, platform_types(parse(read_bytes(home)).values))


def set_value(home: Home, schema: Schema, path: Path, text: str, environ: Mapping[str, str]) -> Change:
    """Give the key at `path` the value `text`; `null` removes it. Blocks on files.

    Raises `Problems`, then nothing was written. The home must exist.
    """
    with file_lock(home.config):
        before = read_bytes(home)
        values = parse(before).values
        place = find(schema, path, platform_types(values))
        if place.secret:
            return _set_secret(home, place, text, before)
        value = parse_flow(text) if text == "null" or not _takes_text(place.annotation) else text
        after = _edited(before, path, value)
        _refuse_new_problems(home, schema, (before, after), environ)
        atomic_write(home.config, after)
        return Change(str(home.config))


def set_values(home: Home, schema: Schema, values: Mapping[str, str], environ: Mapping[str, str]) -> None:
    """Give several keys, none of them a secret, these values: all of them, or none. Blocks on files.

    Raises `Problems` as `tried` does, then nothing was written. The home must exist.
    """
    with file_lock(home.config):
        before = read_bytes(home)
        after = _with_values(before, values)
        load_document(parse(after), home, schema, environ)
        atomic_write(home.config, after)


def tried(home: Home, schema: Schema, values: Mapping[str, str], environ: Mapping[str, str]) -> Snapshot:
    """The settings as they would be with these values; nothing is written. Raises `Problems`."""
    return load_document(parse(_with_values(read_bytes(home), values)), home, schema, environ)


def _with_values(data: bytes, values: Mapping[str, str]) -> bytes:
    for key, text in values.items():
        data = _edited(data, parse_key(key), text)
    return data


def _takes_text(annotation: Annotation) -> bool:
    """Whether a value there is text as it stands, such as a model named 4."""
    return annotation is str or any(
        a is str or isinstance(a, str) or _takes_text(a)
        for a in get_args(annotation)
        if not _holds_many(annotation)
    )


def _holds_many(annotation: Annotation) -> bool:
    origin = getattr(annotation, "__origin__", None)
    return isinstance(origin, type) and origin in {dict, list, tuple, set, frozenset}


def _refuse_new_problems(
    home: Home, schema: Schema, versions: tuple[bytes, bytes], environ: Mapping[str, str]
) -> None:
    """What was wrong before may stay, so that a broken file can be mended key by key."""
    before, after = (_problems(home, schema, data, environ) for data in versions)
    known = {(p.path, p.text) for p in before}
    fresh = [p for p in after if (p.path, p.text) not in known]
    if fresh:
        raise Problems("config.yaml", fresh)


def _problems(home: Home, schema: Schema, data: bytes, environ: Mapping[str, str]) -> tuple[Problem, ...]:
    try:
        load_document(parse(data), home, schema, environ)
    except Problems as error:
        return error.problems
    return ()


# --- config.yaml


def _edited(data: bytes, path: Path, value: Raw) -> bytes:
    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    document, indent, offset = load_yaml_guess_indent(text, yaml=yaml)
    yaml.indent(mapping=2, sequence=indent or 2, offset=offset or 0)
    if document is None:
        # A file of comments alone has no node that they could hang on.
        document = CommentedMap()
        _put(document, path, value)
        kept = text if not text or text.endswith("\n") else text + "\n"
        result = kept + _dumped(yaml, document)
    else:
        _put(document, path, value)
        result = _dumped(yaml, document)
    return (result.replace("\n", "\r\n") if b"\r\n" in data else result).encode()


def _dumped(yaml: YAML, document: CommentedMap) -> str:
    if not document:
        return ""
    stream = io.StringIO()
    yaml.dump(document, stream)
    return stream.getvalue()


def _put(document: CommentedMap, path: Path, value: Raw) -> None:
    here: CommentedMap | CommentedSeq = document
    for index, part in enumerate(path[:-1]):
        inner = here.get(part) if isinstance(here, CommentedMap) else _item(here, part, path[: index + 1])
        if inner is None:
            if value is None:
                return
            inner = here[part] = CommentedMap()
        if not isinstance(inner, CommentedMap | CommentedSeq):
            raise Problems("config.yaml", [Problem(path[: index + 1], "has no keys, but a single value")])
        here = inner
    if value is None:
        if isinstance(here, CommentedMap):
            here.pop(path[-1], None)
        return
    if isinstance(here, CommentedSeq):
        _item(here, path[-1], path)
    here[path[-1]] = value


def _item(here: CommentedSeq, part: str | int, path: Path) -> Raw:
    if not isinstance(part, int) or part >= len(here):
        raise Problems("config.yaml", [Problem(path, f"does not exist; the list has {len(here)} items")])
    return here[part]


# --- .env


def _set_secret(home: Home, place: Place, text: str, before: bytes) -> Change:
    """The value goes to .env; config.yaml loses it, or refers to it where a name alone would not find it."""
    variable = secret_name(place.path)
    if not text:
        raise Problems(
            "config.yaml", [Problem(place.path, "is empty; give the secret, or null to remove it")]
        )
    removed = text == "null"
    reference = None if removed or place.field is not None else f"${{{variable}}}"
    after = _edited(before, place.path, reference)
    instance = None if removed else _absent_platform(parse(after).values, place.path)
    if instance is not None:
        # Only an entry switches a platform on.
        after = _edited(after, ("platforms", instance), CommentedMap())
    with file_lock(home.env):
        _write_variable(home, variable, None if removed else text)
    if parse(after).values != parse(before).values:
        atomic_write(home.config, after)
    return Change(str(home.env), variable, instance)


def _absent_platform(values: Mapping[str, Raw], path: Path) -> str | None:
    if path[0] != "platforms" or str(path[1]) in (values.get("platforms") or {}):
        return None
    return str(path[1])


def _write_variable(home: Home, name: str, value: str | None) -> None:
    text = home.env.read_text("utf-8-sig") if home.env.exists() else ""
    lines = [line for line in text.splitlines() if not re.match(rf"\s*(?:export\s+)?{name}\s*=", line)]
    if value is not None:
        lines.append(f"{name}={_quoted(value)}")
    result = "\n".join([*lines, ""]) if lines else ""
    if value is not None and parse_env(f"{name}={_quoted(value)}").get(name) != value:
        raise Problems(
            ".env", [Problem((), f"cannot hold {name} as it is (line ends or control characters)")]
        )
    atomic_write(home.env, result.encode())


def _quoted(value: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_./:+=@,~-]+", value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
