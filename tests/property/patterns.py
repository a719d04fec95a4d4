"""Every regular expression of the program, and texts made of a pattern's own repeated parts to wear it out with."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["USES", "Expression", "all_expressions", "pumped"]

# How `re` itself reads a pattern; its types are published nowhere.
op: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

_ROOMS = ("hermes", "agent_core", "gateway", "adapters", "tools", "media")
USES = frozenset({"search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"})
"""The methods that look at a text."""
_TAILS = ("", "\0!", "\n")
_CATEGORIES = {
    op.CATEGORY_DIGIT: "7",
    op.CATEGORY_SPACE: " ",
    op.CATEGORY_WORD: "a",
    op.CATEGORY_NOT_DIGIT: "a",
    op.CATEGORY_NOT_SPACE: "a",
    op.CATEGORY_NOT_WORD: "-",
}
_USUAL = "a -\n<>\"'.;x1\x01"

Words = list[tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Expression:
    """A pattern, where it stands, and by which of its methods it is used."""

    place: str
    pattern: re.Pattern[Any]
    uses: frozenset[str]


def all_expressions() -> list[Expression]:
    """What modules hold under a name or in a table, and what is written out in a call of `re`."""
    modules = list(_modules())
    calls: defaultdict[str, set[str]] = defaultdict(set)
    for module in modules:
        for name, use in re.findall(r"\b(\w+)\.(\w+)\(", _source(module)):
            calls[name].add(use)
    found: dict[tuple[Any, int], Expression] = {}
    for module in modules:
        named = [(name, p) for name, value in vars(module).items() for p in _held(value)]
        for name, pattern in named:
            each = Expression(f"{module.__name__}:{name}", pattern, USES & calls[name] or USES)
            found.setdefault((pattern.pattern, pattern.flags), each)
        for line, use, pattern in _written(module):
            each = Expression(f"{module.__name__}:{line}", pattern, USES & {use})
            found.setdefault((pattern.pattern, pattern.flags), each)
    return [each for each in found.values() if each.uses]


def _modules() -> Iterator[ModuleType]:
    for room in _ROOMS:
        package = importlib.import_module(room)
        for info in pkgutil.walk_packages(package.__path__, room + "."):
            if not info.name.endswith("__main__"):
                yield importlib.import_module(info.name)


def _source(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text(encoding="utf-8")


def _held(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, dict):
        for each in [*value.keys(), *value.values()]:
            yield from _held(each, depth + 1)
    elif depth < 4 and isinstance(value, tuple | list | frozenset):
        for each in value:
            yield from _held(each, depth + 1)


def _written(module: ModuleType) -> Iterator[tuple[int, str, re.Pattern[Any]]]:
    for node in ast.walk(ast.parse(_source(module))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        owner, first = node.func.value, node.args[0]
        if isinstance(owner, ast.Name) and owner.id == "re" and isinstance(first, ast.Constant):
            yield node.lineno, node.func.attr, re.compile(first.value)


def pumped(pattern: re.Pattern[Any], size: int) -> Iterator[Any]:
    """Texts of about `size` characters: for each repetition what leads to it, then its own part again and again."""
    is_bytes = isinstance(pattern.pattern, bytes)
    text = pattern.pattern.decode("latin-1") if is_bytes else pattern.pattern
    seen: set[tuple[str, str]] = set()
    for before, part in _repetitions(list(parser.parse(text, pattern.flags & ~re.UNICODE.value)), []):
        for pick in range(2):
            lead, piece = _sample(before, pick), _sample(part, pick)
            if not piece or (lead, piece) in seen:
                continue
            seen.add((lead, piece))
            for unit in (piece, lead + piece):
                for tail in _TAILS:
                    made = lead + unit * (size // len(unit)) + tail
                    yield made.encode("latin-1", "replace") if is_bytes else made


def _repetitions(words: Words, before: Words) -> Iterator[tuple[Words, Words]]:
    for at, (code, value) in enumerate(words):
        lead = before + words[:at]
        if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            if value[1] > 3:
                yield lead, list(value[2])
            yield from _repetitions(list(value[2]), lead)
        elif code is op.BRANCH:
            for branch in value[1]:
                yield from _repetitions(list(branch), lead)
        elif code is op.SUBPATTERN:
            yield from _repetitions(list(value[-1]), lead)
        elif code is op.ATOMIC_GROUP:
            yield from _repetitions(list(value), lead)


def _sample(words: Words, pick: int) -> str:
    """A text that these words match; `pick` chooses among the ways."""
    made = ""
    for code, value in words:
        if code is op.LITERAL:
            made += chr(value)
        elif code is op.NOT_LITERAL:
            made += next(c for c in _USUAL if ord(c) != value)
        elif code is op.ANY:
            made += "a <"[pick % 3]
        elif code is op.IN:
            made += _one_of(value, pick)
        elif code is op.BRANCH:
            made += _sample(list(value[1][pick % len(value[1])]), pick)
        elif code is op.SUBPATTERN:
            made += _sample(list(value[-1]), pick)
        elif code is op.ATOMIC_GROUP:
            made += _sample(list(value), pick)
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            least, most, part = value
            made += _sample(list(part), pick) * min(most, least + pick % 2)
    return made


def _one_of(options: Words, pick: int) -> str:
    if options[0][0] is op.NEGATE:
        kept = re.compile("[^" + "".join(_class(o) for o in options[1:]) + "]", re.DOTALL)
        fitting = [c for c in _USUAL if kept.match(c)]
        return fitting[pick % len(fitting)] if fitting else "\x7f"
    code, value = options[-1 - pick % len(options)]
    if code is op.CATEGORY:
        return _CATEGORIES.get(value, "a")
    return chr(value[pick % 2] if code is op.RANGE else value)


def _class(option: tuple[Any, Any]) -> str:
    code, value = option
    if code is op.CATEGORY:
        return {"7": r"\d", " ": r"\s", "a": r"\w", "-": r"\W"}.get(_CATEGORIES.get(value, ""), "")
    if code is op.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return re.escape(chr(value))
