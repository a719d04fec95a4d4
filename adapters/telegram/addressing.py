"""Who a message speaks to: mentions and commands, and the text without our name. Pure.

Entity offsets and lengths count UTF-16 code units (https://core.telegram.org/bots/api#messageentity).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Account", "Addressed", "read_text"]

_COMMAND = re.compile(r"/([A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]{1,64}))?(?=\s|\Z)")


@dataclass(frozen=True, slots=True)
class Account:
    """Our own bot, as getMe tells it."""

    id: int
    username: str


@dataclass(frozen=True, slots=True)
class Addressed:
    """A text without our name in it. elsewhere: it is a command for another bot."""

    text: str
    to_us: bool = False
    elsewhere: bool = False


def read_text(text: str, entities: Iterable[Mapping[str, Any]], account: Account) -> Addressed:
    """Whether `text` names us, and the text without our name. Entities that do not fit are passed over."""
    command = _COMMAND.match(text)
    if command is not None:
        return _command(text, command, account)
    units = text.encode("utf-16-le")
    spans = [span for entity in entities if (span := _mention(entity, units, account)) is not None]
    if not spans:
        return Addressed(text)
    rest = _without(units, spans)
    return Addressed(rest or text, to_us=True)


def _command(text: str, command: re.Match[str], account: Account) -> Addressed:
    name, bot = command.groups()
    if bot is not None and bot.casefold() != account.username.casefold():
        return Addressed(text, elsewhere=True)
    return Addressed(f"/{name}{text[command.end() :]}", to_us=True)


def _mention(entity: Mapping[str, Any], units: bytes, account: Account) -> tuple[int, int] | None:
    """The bytes of `units` in which this entity names us."""
    offset, length = entity.get("offset"), entity.get("length")
    if not isinstance(offset, int) or not isinstance(length, int) or offset < 0 or length <= 0:
        return None
    start, end = 2 * offset, 2 * (offset + length)
    if end > len(units):
        return None
    user = entity.get("user")
    if entity.get("type") == "text_mention" and isinstance(user, Mapping):
        return (start, end) if user.get("id") == account.id else None
    named = units[start:end].decode("utf-16-le", "replace").casefold()
    is_us = entity.get("type") == "mention" and named == f"@{account.username}".casefold()
    return (start, end) if is_us else None


def _without(units: bytes, spans: list[tuple[int, int]]) -> str:
    text, at = "", 0
    for start, end in sorted(spans):
        before, at = units[at:start].decode("utf-16-le", "replace"), max(at, end)
        text = _join(text, before)
    return _join(text, units[at:].decode("utf-16-le", "replace")).strip()


def _join(left: str, right: str) -> str:
    return left + (right[1:] if left.endswith(" ") and right.startswith(" ") else right)
