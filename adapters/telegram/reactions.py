"""A reaction that somebody sets becomes a short message, where that is wanted. Pure.

Source: https://core.telegram.org/bots/api#messagereactionupdated; it does not tell whose the message was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.fields import integer, mapping, objects, text
from adapters.telegram.origin import chat_kind, person
from hermes.events import Event, Ignored, Parsed, Target

__all__ = ["reaction"]


def reaction(update: Mapping[str, Any], instance: str, account: str) -> Parsed:
    """The event. Only in private chats: elsewhere most reactions are to what others say."""
    chat, emoji = mapping(update, "chat"), _added(update)
    if chat_kind(chat) != "direct" or not emoji:
        return Ignored("reaction")
    place, number, date = str(integer(chat, "id")), integer(update, "message_id"), integer(update, "date")
    return Event(
        platform="telegram",
        instance=instance,
        account=account,
        kind="direct",
        chat=place,
        sender=person(mapping(update, "user")),
        text=f"[Reaction {' '.join(emoji)} to an earlier message]",
        dedupe_key=f"{place}:{number}:reaction:{date}:{''.join(emoji)}",
        command_text=False,
        reply_to=(Target(instance, place),),
        private_notice=True,
        sent_at=float(date),
    )


def _added(update: Mapping[str, Any]) -> list[str]:
    old = [_emoji(one) for one in objects(update, "old_reaction")]
    return [emoji for one in objects(update, "new_reaction") if (emoji := _emoji(one)) not in old]


def _emoji(one: Mapping[str, Any]) -> str:
    """A picture of somebody's own has no name."""
    return text(one, "emoji") or ("⭐" if one.get("type") == "paid" else "(a picture)")
