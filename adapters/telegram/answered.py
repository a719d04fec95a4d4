"""What a message answers: what is quoted of it, and its files. Pure.

Source: https://core.telegram.org/bots/api#message (reply_to_message, external_reply, quote).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.fields import text
from adapters.telegram.addressing import Account
from adapters.telegram.media import attachments
from adapters.telegram.wording import worded
from hermes.events import Attachment

__all__ = ["answers_us", "beginning", "files_answered", "quoted"]

_QUOTE = 500  # characters


def answers_us(message: Mapping[str, Any], account: Account) -> bool:
    """Whether it replies to one of our messages."""
    answered = _answered(message)
    author = answered.get("from") if answered is not None else None
    return isinstance(author, Mapping) and author.get("id") == account.id


def quoted(message: Mapping[str, Any]) -> str | None:
    """The part that was chosen, else what the answered message says, cut where it is long."""
    chosen = message.get("quote")
    answered = _answered(message) or _elsewhere(message)
    said = text(chosen, "text") if isinstance(chosen, Mapping) else ""
    return beginning(said or text(answered, "text") or text(answered, "caption") or worded(answered))


def beginning(said: str) -> str | None:
    """What is quoted of a message that says this."""
    said = said.strip()
    return (said if len(said) <= _QUOTE else said[:_QUOTE] + "…") or None


def files_answered(message: Mapping[str, Any], account: Account) -> tuple[Attachment, ...]:
    """The files of what it answers: to reply to a picture is to speak of it. Ours are known already."""
    if answers_us(message, account):
        return ()
    return tuple(map(Attachment.overheard, attachments(_answered(message) or _elsewhere(message))))


def _answered(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The message that this one replies to; in topics every message "replies" to the topic's beginning."""
    answered = message.get("reply_to_message")
    if not isinstance(answered, Mapping) or "forum_topic_created" in answered:
        return None
    return answered


def _elsewhere(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is told of a message in another chat or topic."""
    answered = message.get("external_reply")
    return answered if isinstance(answered, Mapping) else {}
