"""What comes in from the platforms, in one form.

An adapter's `parse` (pure, one update alone) turns every update into exactly one `Parsed`: an `Event`, a
`Deleted`, an `Ignored` or an
`Unparsable`. All are frozen; an `Event` is stored as JSON (`event_to_json`, `event_from_json`) and comes back
equal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hermes.files import StoredFile
from hermes.messages import Message

__all__ = [
    "PRESSED_TWICE",
    "Admission",
    "Attachment",
    "ChatKind",
    "Deleted",
    "Event",
    "Ignored",
    "Parsed",
    "Role",
    "Sender",
    "Target",
    "Unparsable",
    "Verdict",
    "VerdictKind",
    "Watermark",
    "event_from_json",
    "event_to_json",
]

ChatKind = Literal["direct", "group", "channel", "hook", "api", "terminal"]
Admission = Literal["local", "key", "signed", "listed", "paired", "linked", "anyone"]
"""By what right an event was let in.

The machine's own user, an API key, a webhook signature, an allowlist entry, a pairing, another account of the same
person that is admitted, or `*`.
"""

Role = Literal["owner", "member", "guest"]
"""What somebody is to the owner, who says what each may do (`people.roles`)."""

VerdictKind = Literal["accepted", "duplicate", "refused", "ignored", "unparsable"]


PRESSED_TWICE = 5.0
"""Seconds in which a second press of a button by the same person is a double tap; later it is meant anew."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a reply goes: platform instance, chat, and thread where the platform has such.

    answers: what the reply needs to know of the message that it answers, in the adapter's own words (a message
    id, the headers of a mail). `Adapter.render` puts what must be sent of it into `Piece.format`: it is not stored
    with the reply, and a target that somebody names has none.
    """

    instance: str
    chat: str
    thread: str | None = None
    answers: str | None = None


@dataclass(frozen=True, slots=True)
class Sender:
    """Who wrote. `id` is the platform's stable id, never a display name."""

    id: str
    name: str = ""
    username: str | None = None
    is_bot: bool = False


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message; `ref` is the platform's handle to fetch it by.

    What else is said of it is what the sender says. size: bytes, `None` where the platform does not tell.
    file: what it became once it was in the home; then nobody fetches it again. starts: how many processes have ended while
    they fetched or read it.
    """

    kind: Literal["image", "audio", "voice", "video", "document", "sticker", "other"]
    ref: str
    name: str = ""
    mime: str = ""
    size: int | None = None
    file: StoredFile | None = None
    starts: int = 0

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Attachment:
        """An attachment of a stored event. Raises `KeyError`, `TypeError` for anything else."""
        file = raw.get("file")
        known = {name: raw[name] for name in ("kind", "ref", "name", "mime", "size", "starts") if name in raw}
        return cls(**known, file=None if file is None else StoredFile.from_json(file))

    def overheard(self) -> Attachment:
        """The same where somebody else made it: a voice is then no word of the sender's, but a recording."""
        return replace(self, kind="audio") if self.kind == "voice" else self


@dataclass(frozen=True, slots=True)
class Event:
    """One message for the agent.

    dedupe_key: from the message's own identity and revision; the same message delivered again gives the same
    key.
    replay_key, replay_window: a second key, for content that must not be taken twice within that many seconds, even
    under another `dedupe_key` (webhook bodies whose delivery id is not signed, a button that is tapped twice); `None`:
    no such check. replay_open: nor as long as the first waits or is being answered, however long that takes.
    account: the id of our own account on that platform (bot id), so that two bots of one platform never share
    a session.
    edited: a new version of a message that was seen before, with its `message_id`, its sender, and a `dedupe_key` of
    its own.
    addressed: the message is meant for us (direct chat, mention, reply to us, command for us).
    command_text: the text is read as a command when it starts with "/" (never for webhook and API input).
    reply_to: where the answer goes; empty: the answer is only kept (and whoever follows the event reads it).
    session: an own session name where the adapter decides it (webhook delivery, API); else the router makes
    the key.
    history: messages that come before, only used to start a new session (API without a session).
    volatile: nobody can come back for the answer; a restart or `abandon` cancels it instead of resuming.
    private_notice: the chat is private enough for a pairing code, and in it the sender is who he says: only so do
    accounts that were joined count.
    unsupported: what the message holds that the agent cannot take ("photo", "voice"), when there is no text
    to answer.
    untrusted: the text was written by a machine or stranger and is marked so for the model (webhook
    payloads).
    chat_name: what people call the chat, by which it may be named as a target: "#general" for a room, "@ana" for a person
    or a public chat; empty where the platform does not say it with the message.
    album: messages of one sender in one chat that have the same were sent at once and are one message: the files of
    all, and the text of the one that has it. They come in any order.
    """

    platform: str
    instance: str
    account: str
    kind: ChatKind
    chat: str
    sender: Sender
    text: str
    dedupe_key: str
    thread: str | None = None
    message_id: str | None = None
    quoted: str | None = None
    addressed: bool = True
    edited: bool = False
    command_text: bool = True
    reply_to: tuple[Target, ...] = ()
    session: str | None = None
    history: tuple[Message, ...] = ()
    volatile: bool = False
    private_notice: bool = False
    unsupported: str | None = None
    untrusted: bool = False
    sent_at: float | None = None
    attachments: tuple[Attachment, ...] = ()
    replay_key: str | None = None
    replay_window: float = 0.0
    replay_open: bool = False
    chat_name: str = ""
    album: str | None = None
    admitted: Admission | None = None
    """Set by an adapter that has itself checked the right (signature, key, local socket).

    `None`: the door decides.
    """


@dataclass(frozen=True, slots=True)
class Ignored:
    """An update that is not for us.

    `reason` is a short constant, such as "edited", "own message", "not addressed". text: what was said where others read it
    and nobody is answered; it is looked at for a code that is void now, and kept nowhere.
    """

    reason: str
    text: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Unparsable:
    """An update that could not be read; `raw` is kept for a while so that it can be looked at."""

    raw: str
    error: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """A message was taken back by its sender or a moderator: if nothing was done about it yet, nothing is."""

    chat: str
    message_id: str


Parsed = Event | Deleted | Ignored | Unparsable


@dataclass(frozen=True, slots=True)
class Watermark:
    """How far a platform was read: stored in the transaction of the verdicts.

    `name` is unique per instance (for Telegram with the bot id).
    """

    instance: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one `Parsed`.

    ticket: the public id of the stored event (accepted, duplicate; for a duplicate that of the first one).
    reason: why it was refused or ignored, a short constant; "rate" and "backlog" mean that it may be tried
    again later.
    fingerprint, since: only for a duplicate: the stored event's `message_id`, and when it was accepted (epoch
    seconds).
    """

    kind: VerdictKind
    ticket: str | None = None
    reason: str | None = None
    fingerprint: str | None = None
    since: float | None = None


def event_to_json(event: Event) -> str:
    """The event as a JSON object without the fields that have their default."""
    raw = {k: v for k, v in _shallow(event).items() if v not in (None, (), "", False)}
    raw["addressed"] = event.addressed
    raw["command_text"] = event.command_text
    return json.dumps(raw, ensure_ascii=False, separators=(",", ":"))


def event_from_json(text: str) -> Event:
    """The inverse of `event_to_json`. Raises `ValueError` for anything else."""
    raw: dict[str, Any] = json.loads(text)
    try:
        raw["sender"] = Sender(**raw["sender"])
        raw["reply_to"] = tuple(Target(**t) for t in raw.get("reply_to", ()))
        raw["attachments"] = tuple(map(Attachment.from_json, raw.get("attachments", ())))
        raw["history"] = tuple(Message.from_json(m) for m in raw.get("history", ()))
        raw.setdefault("text", "")
        return Event(**raw)
    except (KeyError, TypeError) as e:
        raise ValueError(f"not a stored event: {e}") from e


def _shallow(event: Event) -> dict[str, Any]:
    raw: dict[str, Any] = {name: getattr(event, name) for name in Event.__slots__}
    raw["sender"] = _plain(event.sender)
    raw["reply_to"] = tuple(map(_plain, event.reply_to))
    raw["attachments"] = tuple(map(_attachment, event.attachments))
    raw["history"] = tuple(m.to_json() for m in event.history)
    return raw


def _attachment(attachment: Attachment) -> dict[str, Any]:
    raw = _plain(attachment)
    return raw if attachment.starts else {name: value for name, value in raw.items() if name != "starts"}


def _plain(part: Sender | Target | Attachment) -> dict[str, Any]:
    """A flat dataclass as a dict without what it does not have; `dataclasses.asdict` costs ten times as much."""
    return {
        name: value.to_json() if isinstance(value, StoredFile) else value
        for name in part.__slots__
        if (value := getattr(part, name)) is not None
    }
