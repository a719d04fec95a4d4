"""A prompt with holes: `{{ payload.issue.title }}`, `{{ payload.commits.0.id }}`, `{{ payload }}`.

An index may also be written `[0]`. A hole is a path and nothing else; nothing is evaluated, and text that
was filled in is not looked at again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hermes.messages import scrub_surrogates

__all__ = ["Expanded", "Template"]

_HOLE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_PATH = re.compile(r"\s*payload((?:\.[\w@$:-]+|\[\d{1,6}\])*)\s*")
_STEP = re.compile(r"\.([\w@$:-]+)|\[(\d+)\]")
_MOST = 64_000  # characters of an expanded prompt; what a model can take in beside everything else
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Expanded:
    """The prompt, and the holes for which the payload had nothing."""

    text: str
    missing: tuple[str, ...] = ()


class Template:
    """A parsed template. Raises `ValueError` with a sentence for a hole that is no path."""

    def __init__(self, source: str) -> None:
        self._parts: list[str | tuple[str, ...]] = []
        end = 0
        for hole in _HOLE.finditer(source):
            path = _PATH.fullmatch(hole[1])
            if path is None:
                example = "{{ payload.issue.title }}"
                raise ValueError(f"{hole[0]} is no path into the payload; write for example {example}")
            self._parts += [source[end : hole.start()], tuple(k or i for k, i in _STEP.findall(path[1]))]
            end = hole.end()
        self._parts.append(source[end:])

    def expand(self, payload: Mapping[str, Any], most: int = _MOST) -> Expanded:
        """Fill the holes.

        Text goes in as it is, numbers, lists and objects as compact JSON, null and missing fields as nothing.
        Longer than `most` characters: cut, with a mark that says so.
        """
        pieces: list[str] = []
        missing: list[str] = []
        room = most
        for part in self._parts:
            piece = part if isinstance(part, str) else _fill(payload, part, missing)
            pieces.append(piece)
            room -= len(piece)
            if room < 0:
                break
        text = scrub_surrogates("".join(pieces))
        if room < 0:
            text = text[:most] + "\n[cut: the payload is longer]"
        return Expanded(text, tuple(missing))


def _fill(payload: Mapping[str, Any], path: tuple[str, ...], missing: list[str]) -> str:
    value: Any = payload
    for step in path:
        value = _enter(value, step)
        if value is _MISSING:
            missing.append(".".join(("payload", *path)))
            return ""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _enter(value: Any, step: str) -> Any:  # noqa: ANN401  JSON
    if isinstance(value, dict):
        return value.get(step, _MISSING)
    if isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(value):
        return value[int(step)]
    return _MISSING
