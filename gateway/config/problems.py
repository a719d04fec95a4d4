"""What is wrong with a configuration, in sentences that name file, line, key and a way out.

Values are never echoed: they may be secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeAlias

from hermes.errors import ConfigError

__all__ = ["Path", "Problem", "Problems", "Raw", "dotted", "unknown"]

Path = tuple[str | int, ...]
"""A key's place: ("gateway", "http", "port"); list items have their index."""

Raw: TypeAlias = Any
"""What YAML can hold, not looked at yet."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `line` counts from 1. `source`: where it stands when not in config.yaml."""

    path: Path
    text: str
    line: int | None = None
    source: str | None = None

    def sentence(self, file: str) -> str:
        """The whole of it in one line."""
        place = self.source or (f"{file}, line {self.line}" if self.line else file)
        key = f" {dotted(self.path)}" if self.path else ""
        return f"{place}:{key} {self.text}" if key else f"{place}: {self.text}"


class Problems(ConfigError):
    """The configuration is wrong in one or more places."""

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        self.file = file
        self.problems: tuple[Problem, ...] = tuple(
            sorted(problems, key=lambda p: (p.line or 0, dotted(p.path)))
        )
        super().__init__("\n".join(self.sentences))

    @property
    def sentences(self) -> tuple[str, ...]:
        """One line for each problem, in the file's order."""
        return tuple(p.sentence(self.file) for p in self.problems)

    @property
    def summary(self) -> str:
        """The first problem, and how many more there are."""
        more = len(self.problems) - 1
        return self.sentences[0] + (f" (and {more} more; see `hermes config check`)" if more else "")

    def without(self, secrets: Iterable[str]) -> Problems:
        """The same with every one of `secrets` replaced by stars."""
        hidden = sorted({s for s in secrets if len(s) > 3}, key=len, reverse=True)
        return Problems(self.file, [replace(p, text=_starred(p.text, hidden)) for p in self.problems])


def dotted(path: Path) -> str:
    """`gateway.http.port`, `bindings[0].agent`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        name = part if re.fullmatch(r"[^\s.\[\]\"]+", part) else f'"{part}"'
        text += f".{name}" if text else name
    return text


def unknown(key: str, known: Sequence[str] | Mapping[str, object], what: str = "key") -> str:
    """The sentence for a word that is not one of `known`."""
    near = get_close_matches(key.lower().replace("-", "_"), known, n=1, cutoff=0.6)
    hint = f'; did you mean "{near[0]}"?' if near else "."
    return f"is an unknown {what}{hint} Known here: {', '.join(known) or 'none'}"


def _starred(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
