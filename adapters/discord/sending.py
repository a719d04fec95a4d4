"""What one send asks of the API. Pure.

Source: https://discord.com/developers/docs/resources/message#create-message .
"""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePath
from typing import Any

from adapters.discord.answers import Answers
from adapters.discord.failures import Refused
from adapters.discord.render import AGAIN
from hermes.adapter import Piece
from hermes.errors import Rejected
from hermes.events import Target

__all__ = [
    "answers_of",
    "changed_body",
    "channel_of",
    "is_bad_reference",
    "is_for_buttons",
    "message_body",
    "person_of",
    "shown_body",
    "thread_body",
]

_SILENT = {"parse": [], "replied_user": False}
"""Nobody is pinged by what a model writes."""
_DAY = 1440
_LONGEST_NAME = 1024
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]+")
_INVALID_FORM, _NO_HISTORY, _SYSTEM_MESSAGE = 50035, 160002, 50021


def channel_of(target: Target) -> str:
    """The channel to send to: a thread is one itself. Raises `Rejected` for what cannot be one.

    A thread beside the chat would be another channel than the one that was asked for, and allowed.
    """
    if target.thread not in (None, target.chat):
        raise Rejected(f"A Discord thread is a channel of its own: write {target.instance}:{target.thread}.")
    return _number(target.chat, "channel; write its number (Copy Channel ID), or @ and a person's")


def person_of(target: Target) -> str | None:
    """The person to whom a target as `@500` sends a direct message. Raises `Rejected` for what cannot be one."""
    if not target.chat.startswith("@") or target.thread is not None:
        return None
    return _number(target.chat[1:], "person; write @ and a number")


def _number(text: str, what: str) -> str:
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        raise Rejected(f"{text!r} is no Discord {what}.")
    return text


def answers_of(piece: Piece) -> Answers:
    """What the piece answers, as `render` noted it."""
    return Answers(**{k: str(v) for k, v in piece.format.items() if k in Answers.__slots__})


def text_body(text: str) -> dict[str, Any]:
    """A message's text, which pings nobody."""
    return {"content": text, "allowed_mentions": dict(_SILENT)}


def changed_body(piece: Piece) -> dict[str, Any]:
    """What a message says from now on: buttons that the piece has not are taken away."""
    return {**text_body(piece.text), "components": piece.format.get("components", [])}


def shown_body(piece: Piece, *, again: bool = False) -> dict[str, Any]:
    """A message's text and buttons, its file, or both; a file alone has no text beside it, which would be refused as empty."""
    text = f"{AGAIN}{piece.text}".strip() if again else piece.text
    body = text_body(text)
    if "components" in piece.format:
        body["components"] = piece.format["components"]
    if piece.file is not None:
        body["attachments"] = [_attachment(piece.file.name[:_LONGEST_NAME])]
        if not text:
            del body["content"]
    return body


def _attachment(name: str) -> dict[str, str]:
    """Discord writes names anew that have more than letters, digits and a few marks; the title keeps them."""
    told = {"id": "0", "filename": name}
    return told if _PLAIN_NAME.fullmatch(name) else {**told, "title": PurePath(name).stem}


def message_body(piece: Piece, key: str, *, again: bool, reference: str) -> dict[str, Any]:
    """A new message. One with the same nonce within minutes is not shown again: the first one is the answer then."""
    body = shown_body(piece, again=again)
    nonce = hashlib.sha256(key.encode()).hexdigest()[:25]
    body |= {"nonce": nonce, "enforce_nonce": True}
    if reference:
        body["message_reference"] = {"message_id": reference, "fail_if_not_exists": False}
    return body


def thread_body(name: str) -> dict[str, Any]:
    """A thread that begins at a message."""
    return {"name": name[:100] or "Conversation", "auto_archive_duration": _DAY}


def is_for_buttons(refused: Refused) -> bool:
    """Whether it was refused for the buttons under it."""
    return refused.code == _INVALID_FORM and "components" in str(refused)


def is_bad_reference(refused: Refused) -> bool:
    """Whether it was refused for the message that it answers."""
    if refused.code in (_NO_HISTORY, _SYSTEM_MESSAGE):
        return True
    return refused.code == _INVALID_FORM and "message_reference" in str(refused)
