"""Messages that somebody passes on: Slack puts them into `attachments`. Pure.

Source: https://docs.slack.dev/reference/events/message , https://docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from adapters.fields import objects
from adapters.slack.markup import read_text
from hermes.messages import scrub_surrogates

__all__ = ["shared", "shared_text"]

_MOST = 10
_LONGEST = 8000


def shared(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """What is passed on."""
    return list(islice(objects(message, "attachments"), _MOST))


def shared_text(message: Mapping[str, Any], *, only_shares: bool) -> str:
    """The words of what is passed on, with their authors; our name in them speaks to nobody, and stays.

    only_shares: without what Slack itself adds to a message, such as the beginning of a page that is linked to.
    """
    items = [item for item in shared(message) if not only_shares or item.get("is_share") is True]
    return "\n\n".join(text for item in items if (text := _said(item)))


def _said(item: Mapping[str, Any]) -> str:
    words = _field(item, "text") or _field(item, "fallback")
    said = read_text(words[:_LONGEST]).text
    parts = (_field(item, "author_name"), _field(item, "title"))
    head = " - ".join(part for part in parts if part and part != said)
    return f"{head}: {said}" if head and said else said or head


def _field(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    return scrub_surrogates(value).strip() if isinstance(value, str) else ""
