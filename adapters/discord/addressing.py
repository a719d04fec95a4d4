"""Who a message speaks to, and its text as people read it. Pure.

In `content` people, roles and emoji stand as marks: https://discord.com/developers/docs/reference#message-formatting .
Only a mark names us: the list `mentions` also holds whom a reply pings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["names_us", "readable"]

_PERSON = re.compile(r"<@!?(\d{1,20})>")
_EMOJI = re.compile(r"<a?:(\w{1,64}):\d{1,20}>")


def names_us(content: str, account: str) -> bool:
    """Whether the text holds our mark."""
    return any(found[1] == account for found in _PERSON.finditer(content))


def readable(content: str, mentions: Iterable[Any], account: str = "") -> str:
    """The text with names in place of marks, without ours (`account`); empty where it is only our mark."""
    names = {str(m.get("id")): _name(m) for m in mentions if isinstance(m, Mapping)}
    rest = re.sub(rf"[ \t]?<@!?{re.escape(account)}>", "", content).strip() if account else content.strip()
    named = _PERSON.sub(lambda found: f"@{names.get(found[1]) or found[1]}", rest)
    return _EMOJI.sub(r":\1:", named)


def _name(person: Mapping[str, Any]) -> str:
    return str(person.get("global_name") or person.get("username") or "")
