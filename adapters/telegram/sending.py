"""What one send asks of the Bot API, and what to ask instead when that is refused. Pure.

Each remedy takes away what was refused, so a send ends after few calls, and no refused call is made twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from adapters.markdown.split import utf16_len
from adapters.telegram.buttons import labels
from adapters.telegram.failures import Refused
from adapters.telegram.render import LIMIT, marked
from adapters.telegram.ways import Way, is_about_the_file, ways
from hermes.adapter import Piece
from hermes.errors import Rejected
from hermes.events import Target

__all__ = ["Call", "chat_id", "is_gone", "is_unchanged", "remedy", "send_call", "thread_id"]

_GENERAL = "1"


@dataclass(frozen=True, slots=True)
class Call:
    """One message. entities: `None` for a plain one; else the field is sent, also when it is empty.

    ways: for a file, whose caption the text is: how it can go, the first one is tried. buttons: an
    InlineKeyboardMarkup. answers: the message that is quoted.
    """

    chat: int | str
    text: str
    entities: tuple[Any, ...] | None
    thread: int | None = None
    moved: bool = False
    ways: tuple[Way, ...] = ()
    buttons: Mapping[str, Any] | None = None
    answers: int | None = None

    @property
    def method(self) -> str:
        """What is called."""
        return self.ways[0].method if self.ways else "sendMessage"

    def params(self) -> dict[str, Any]:
        """The method's parameters, the file aside: https://core.telegram.org/bots/api#sendmessage, #sendphoto ..."""
        params: dict[str, Any] = {"chat_id": self.chat, **self._said()}
        if self.ways:
            params |= self.ways[0].more
        if self.thread is not None:
            params["message_thread_id"] = self.thread
        if self.buttons is not None:
            params["reply_markup"] = self.buttons
        if self.answers is not None:
            params["reply_parameters"] = {"message_id": self.answers, "allow_sending_without_reply": True}
        return params

    def _said(self) -> dict[str, Any]:
        if self.ways and not self.text:
            return {}
        text, entities = ("caption", "caption_entities") if self.ways else ("text", "entities")
        return {text: self.text, **({} if self.entities is None else {entities: list(self.entities)})}


def send_call(target: Target, piece: Piece, *, again: bool) -> Call:
    """The call for a piece. Raises `Rejected` for a target that Telegram cannot have."""
    entities = piece.format.get("entities", [])
    text, listed = piece.text, entities if isinstance(entities, list) else []
    if again:
        text, listed = marked(text, listed)
    found = ways(piece.file) if piece.file is not None else ()
    buttons, answers = piece.format.get("buttons"), piece.format.get("answers")
    return Call(
        chat_id(target),
        text,
        tuple(listed),
        thread_id(target),
        ways=found,
        buttons=buttons if isinstance(buttons, Mapping) else None,
        answers=answers if isinstance(answers, int) else None,
    )


def remedy(call: Call, refused: Refused) -> tuple[Call, str] | None:
    """What to ask instead, with a note for the log; `None`: the refusal stands."""
    told = refused.description.lower()
    if refused.migrated_to is not None and not call.moved:
        moved = replace(call, chat=refused.migrated_to, thread=None, moved=True, answers=None)
        return moved, f"the group is now {refused.migrated_to}"
    if call.thread is not None and ("thread not found" in told or "topic_deleted" in told):
        return replace(call, thread=None), f"topic {call.thread} is gone; sent without it"
    if call.buttons is not None and ("button" in told or "keyboard" in told or "reply_markup" in told):
        return replace(call, text=_listed(call.text, call.buttons), buttons=None), "sent without buttons"
    if call.entities is not None and ("can't parse" in told or "entit" in told):
        return replace(call, entities=None), "sent without formatting"
    if len(call.ways) > 1 and is_about_the_file(told):
        return replace(call, ways=call.ways[1:]), f"{call.method} was refused; sent by {call.ways[1].method}"
    return None


def _listed(text: str, buttons: Mapping[str, Any]) -> str:
    """The text with what the buttons say as a list at its end, if there is room for it."""
    lines = [f"{number}. {label}" for number, label in enumerate(labels(buttons), 1)]
    whole = "\n".join([f"{text}\n", *lines])
    return whole if utf16_len(whole) <= LIMIT else text


def is_unchanged(refused: Refused) -> bool:
    """Whether an edit was refused because the message says that already: then it is done."""
    return "message is not modified" in refused.description.lower()


def is_gone(refused: Refused) -> bool:
    """Whether an edit was refused because the message can no longer be changed."""
    told = refused.description.lower()
    return any(
        words in told
        for words in ("message to edit not found", "message can't be edited", "message_id_invalid")
    )


def chat_id(target: Target) -> int | str:
    """The chat's id, or the @name of a public one. Raises `Rejected`."""
    if target.chat.startswith("@"):
        return target.chat
    return _number(target.chat, "chat")


def thread_id(target: Target) -> int | None:
    """The topic's id; `None` without one and for General, which is not sent to by id. Raises `Rejected`."""
    return None if target.thread in (None, "", _GENERAL) else _number(target.thread or "", "topic")


def _number(text: str, what: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Rejected(f"{text!r} is no Telegram {what}; write its number.") from None
