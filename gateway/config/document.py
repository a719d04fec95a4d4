"""config.yaml as plain values with the line of each key. YAML 1.2: `off`, `yes` and `on` are words.

Source: https://yaml.org/spec/1.2.2/
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import ConstructorError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from gateway.config.problems import Path, Problem, Problems, Raw

__all__ = ["Document", "parse", "parse_flow", "walk"]

MAX_VALUES = 100_000
"""More values than any configuration has; stops aliases that multiply."""
MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Document:
    """The file's values, and for each key's path the line (from 1) where it stands."""

    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[Path, int] = field(default_factory=dict)


def parse(data: bytes, name: str = "config.yaml") -> Document:
    """The document in `data`. Raises `Problems` that name the line; never echoes a value."""
    text = _decode(data, name)
    yaml = YAML(typ="safe", pure=True)
    try:
        node = yaml.compose(text)
    except MarkedYAMLError as error:
        raise Problems(name, [_syntax(error)]) from None
    except (YAMLError, ValueError) as error:
        raise Problems(name, [Problem((), f"cannot be read as YAML: {type(error).__name__}")]) from None
    if node is None or (isinstance(node, ScalarNode) and _tag(node).endswith(":null")):
        return Document()
    if not isinstance(node, MappingNode):
        what = "a list" if isinstance(node, SequenceNode) else "a single value"
        raise Problems(
            name,
            [
                Problem(
                    (), f"holds {what}; it must hold keys, for example: gateway: {{http: {{port: 8642}}}}", 1
                )
            ],
        )
    reader = _Reader(yaml)
    values = reader.mapping(node, ())
    if reader.problems:
        raise Problems(name, reader.problems)
    return Document(values, reader.lines)


def parse_flow(text: str) -> Raw:
    """The value that `text` is as YAML, as the command line and environment variables give it.

    A number, true/false, null, `[a, b]`, `{a: b}`; text that is no YAML is itself.
    """
    yaml = YAML(typ="safe", pure=True)
    try:
        node = yaml.compose(text)
    except (YAMLError, ValueError):
        return text
    if node is None:
        return text
    reader = _Reader(yaml)
    value = reader.value(node, ())
    return text if reader.problems else value


def _decode(data: bytes, name: str) -> str:
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Problems(name, [Problem((), "is not UTF-8 text; save it as UTF-8", line)]) from None


def _syntax(error: MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    line = None if mark is None else mark.line + 1
    said = " ".join((error.problem or "").split()) or "it cannot be understood"
    if "'\\t'" in said or "\\t" in said:
        said = "a tab stands where YAML wants spaces; use two spaces for each level"
    elif "mapping values are not allowed" in said:
        said += ' (a text with ": " in it needs quotes; a nested key needs its own, deeper line)'
    elif "found undefined alias" in said or "could not determine a constructor" in said:
        said = "a value begins with a sign that means something in YAML (* & ! % @ `); put it in quotes"
    elif "cannot start any token" in said:
        said = "a value begins with a sign that YAML reserves (@ ` %); put it in quotes"
    return Problem((), f"YAML syntax: {said}", line)


class _Reader:
    """Turns nodes into values, and keeps where they stood."""

    def __init__(self, yaml: YAML) -> None:
        self._constructor = yaml.constructor
        self._left = MAX_VALUES
        self.lines: dict[Path, int] = {}
        self.problems: list[Problem] = []

    def value(self, node: Node, path: Path) -> Raw:
        self._left -= 1
        if self._left < 0 or len(path) > MAX_DEPTH:
            if self._left >= 0 or not self.problems:
                self._problem(path[:3], "is too large or refers to itself (aliases)", node)
            self._left = min(self._left, -1)
            return None
        if isinstance(node, MappingNode):
            return self.mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.item(child, (*path, index)) for index, child in enumerate(node.value)]
        return self._scalar(node, path)

    def item(self, node: Node, path: Path) -> Raw:
        self.lines[path] = node.start_mark.line + 1
        return self.value(node, path)

    def mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if _tag(key_node).endswith(":merge"):
                found = self._merged(value_node, path) | found
        own: dict[str, int] = {}
        for key_node, value_node in node.value:
            if _tag(key_node).endswith(":merge"):
                continue
            if not isinstance(key_node, ScalarNode):
                self._problem(path, "has a key that is no plain word", key_node)
                continue
            key = str(key_node.value)
            inner = (*path, key)
            if key in own:
                self._problem(inner, f"stands here twice, first in line {own[key]}; keep one", key_node)
                continue
            own[key] = self.lines[inner] = key_node.start_mark.line + 1
            found[key] = self.value(value_node, inner)
        return found

    def _merged(self, node: Node, path: Path) -> dict[str, Any]:
        parts = node.value if isinstance(node, SequenceNode) else [node]
        found: dict[str, Any] = {}
        for part in parts:
            if isinstance(part, MappingNode):
                found = self.value(part, (*path, "<<")) | found
            else:
                self._problem(path, "merges (<<) something that has no keys", part)
        return found

    def _scalar(self, node: Node, path: Path) -> Raw:
        kind = _tag(node).rsplit(":", 1)[-1]
        if kind in {"null", "bool", "int", "float"}:
            try:
                return self._constructor.construct_object(node)
            except (ConstructorError, ValueError):
                self._problem(path, f"is no {kind} that can be read; put it in quotes", node)
                return None
        if _tag(node).startswith("!"):
            self._problem(
                path, "begins with `!`, which means something in YAML; put the value in quotes", node
            )
        return node.value

    def _problem(self, path: Path, text: str, node: Node) -> None:
        if len(self.problems) < 20:
            self.problems.append(Problem(path, text, node.start_mark.line + 1))


def _tag(node: Node) -> str:
    return node.tag or ""


def walk(values: Raw, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every scalar with its path."""
    if isinstance(values, dict):
        for key, value in values.items():
            yield from walk(value, (*path, key))
    elif isinstance(values, list):
        for index, value in enumerate(values):
            yield from walk(value, (*path, index))
    else:
        yield path, values
