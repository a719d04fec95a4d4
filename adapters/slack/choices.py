"""Buttons under a message, and what a press says. Pure.

Source: https://docs.slack.dev/reference/block-kit/blocks/actions-block , /section-block , /block-elements/button-element
and https://docs.slack.dev/reference/interaction-payloads/block_actions-payload . A message with blocks shows them in
place of its text, so the text stands in sections, in which Slack is to find no names by itself (`verbatim`): `@here`
would notify. Slack writes buttons' words anew in what it sends back (`&amp;`, `:tada:`), so the label is read from the
button's value, where no such character is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from adapters.fields import objects, text
from adapters.markdown.cuts import Region, cut_ranges
from adapters.markdown.mrkdwn import escape
from adapters.markdown.split import utf16_len
from hermes.messages import JSONObject, scrub_surrogates

__all__ = ["blocks", "labels_of", "listed", "pressed"]

_ACTION = "hermes.choice."
_LONGEST_LABEL, _LONGEST_SECTION = 75, 3000
_FENCE = "```"
_FENCES_TAKE = 8  # "```" and a line break, at both ends
_WHOLE = re.compile(
    r"```.*?```|<[^<>\n]*>|`[^`\n]+`|([*_~])(?:<[^<>\n]*>|`[^`\n]+`|(?!\1)[^<>`\n])+\1", re.DOTALL
)
_LINK = re.compile(
    r"(```.*?```|<[^<>\n]*>|`[^`\n]+`)"
    r"|https?://(?:[^\s<>|`&\u200b]|&amp;)*(?:&amp;|[^\s<>|`&\u200b.,;:!?)\]}'\"*_~])",
    re.DOTALL,
)
# An escaped character is one character while the text is cut; these three stand for nothing else.
_ESCAPES = {"&amp;": "\ufdd0", "&lt;": "\ufdd1", "&gt;": "\ufdd2"}
_ESCAPED = {ord(one): escaped for escaped, one in _ESCAPES.items()}


def labels_of(stored: Mapping[str, Any]) -> tuple[str, ...]:
    """The labels that a piece's `format` holds."""
    found = stored.get("choices")
    return tuple(label for label in found if isinstance(label, str)) if isinstance(found, list) else ()


def blocks(source: str, labels: Sequence[str]) -> list[JSONObject]:
    """A message's mrkdwn with a button for each label under it."""
    sections: list[JSONObject] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": part, "verbatim": True}, "expand": True}
        for part in _sections(_LINK.sub(_linked, source))
    ]
    return [*sections, {"type": "actions", "elements": [_button(*pair) for pair in enumerate(labels)]}]


def listed(source: str, labels: Sequence[str]) -> str:
    """The mrkdwn with the labels as a list at its end."""
    return "\n".join([source, "", *(f"{n}. {escape(label)}" for n, label in enumerate(labels, 1))])


def pressed(payload: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The label of the button that was pressed, and its action; `None`: it is none of ours."""
    for action in objects(payload, "actions"):
        if text(action, "action_id").startswith(_ACTION):
            label = " ".join(scrub_surrogates(unquote(text(action, "value"))).split())
            return (label, action) if label else None
    return None


def _button(number: int, label: str) -> JSONObject:
    return {
        "type": "button",
        "action_id": f"{_ACTION}{number}",
        "text": {"type": "plain_text", "text": _short(label)},
        "value": quote(label, safe=""),
    }


def _short(label: str) -> str:
    """As much as a button takes; the press says all of it."""
    if utf16_len(label) <= _LONGEST_LABEL:
        return label
    cuts = cut_ranges(label, _LONGEST_LABEL - 1, utf16_len)
    return f"{label[: cuts[0][1]]}…" if cuts else "…"


def _linked(found: re.Match[str]) -> str:
    """A bare address as a link, since in a section Slack finds none by itself."""
    return found[0] if found[1] else f"<{found[0]}>"


def _sections(source: str) -> list[str]:
    """The mrkdwn in parts that a section takes, each valid alone."""
    if utf16_len(source) <= _LONGEST_SECTION:
        return [source]
    for escaped, one in _ESCAPES.items():
        source = source.replace(escaped, one)
    room, parts, is_code = _LONGEST_SECTION - _FENCES_TAKE, [], False
    for start, end in cut_ranges(source, room, _length, _regions(source, room)):
        part = f"{_FENCE}\n{source[start:end]}" if is_code else source[start:end]
        is_code = part.count(_FENCE) % 2 == 1
        parts.append((f"{part}\n{_FENCE}" if is_code else part).translate(_ESCAPED))
    return parts


def _length(part: str) -> int:
    return utf16_len(part) + sum(part.count(one) * (len(escaped) - 1) for escaped, one in _ESCAPES.items())


def _regions(source: str, room: int) -> list[Region]:
    """What has marks around it is kept whole; a code block that is too long is cut between its lines."""
    regions: list[Region] = []
    for found in _WHOLE.finditer(source):
        if _length(found[0]) <= room:
            regions.append(Region(*found.span()))
        elif found[0].startswith(_FENCE):
            regions.append(Region(*found.span(), is_code=True))
    return regions
