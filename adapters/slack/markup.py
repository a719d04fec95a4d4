"""Slack's own markup in what people write: tokens in angle brackets, three escaped characters. Pure.

Source: https://docs.slack.dev/messaging/formatting-message-text. Unescaped `<` and `>` stand around tokens only,
so tokens are read first, and what was escaped is undone once, in one pass.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Said", "beginning", "read_text"]

_TOKEN = re.compile(r"<([^<>\n]*)>")
_ENTITY = re.compile(r"&(amp|lt|gt);")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">"}
_QUOTE = 500  # characters


@dataclass(frozen=True, slots=True)
class Said:
    """A text as people see it, without our name. elsewhere: it begins with somebody else's name."""

    text: str
    to_us: bool = False
    elsewhere: bool = False


def beginning(said: str) -> str | None:
    """As much of a message as is quoted; `None` of one without words."""
    return (said if len(said) <= _QUOTE else said[:_QUOTE] + "…") or None


def read_text(source: str, user: str = "") -> Said:
    """What a message says, without the name of `user`, which is our own user id."""
    text, at, to_us = "", 0, False
    for token in _TOKEN.finditer(source):
        text += unescape(source[at : token.start()])
        at = token.end()
        if not _names(token[1], user):
            text += _shown(token[1])
            continue
        to_us = True
        if source[at : at + 1] == " " and (not text or text[-1].isspace()):
            at += 1  # the blank on one side of our name goes with it
    text = (text + unescape(source[at:])).strip()
    first = _TOKEN.match(source.lstrip())
    elsewhere = first is not None and first[1][:1] == "@" and not to_us
    return Said(text, to_us, elsewhere)


def unescape(text: str) -> str:
    """The three characters that Slack escapes, undone once."""
    return _ENTITY.sub(lambda found: _CHARACTERS[found[1]], text)


def _names(token: str, user: str) -> bool:
    return token.partition("|")[0] == f"@{user}"


def _shown(token: str) -> str:
    target, _, label = (unescape(part) for part in token.partition("|"))
    match target[:1]:
        case "@":
            return f"@{label or target[1:]}"
        case "#":
            return f"#{label or target[1:]}"
        case "!":
            return _special(target[1:], label)
        case _:
            return _link(target, label)


def _special(name: str, label: str) -> str:
    """`<!here>`, `<!subteam^S1|@team>`, `<!date^1392734382^{date}|a day>`."""
    if label:
        return label if label.startswith("@") or name.startswith("date^") else f"@{label}"
    return f"@{name.partition('^')[0]}"


def _link(url: str, label: str) -> str:
    address = url.removeprefix("mailto:").removeprefix("tel:")
    bare = address.removeprefix("https://").removeprefix("http://")
    if not label or label in (url, address, bare):
        return address
    return f"{label} ({url})"
