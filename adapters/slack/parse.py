"""One delivery of Slack becomes one `Parsed`. Pure; whatever it looks like, nothing is raised.

Source: https://docs.slack.dev/reference/events/message and its subtypes, /app_mention,
https://docs.slack.dev/interactivity/implementing-slash-commands and
https://docs.slack.dev/reference/interaction-payloads/block_actions-payload . `message` and `app_mention` may both tell of one
post, and deliveries are repeated under new envelopes: a post is known by channel, `ts` and `edited.ts` alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from adapters.fields import mapping, objects, text, whole
from adapters.foreseen import or_unparsable
from adapters.slack.choices import pressed
from adapters.slack.fields import identifier, number
from adapters.slack.markup import Said, beginning, read_text
from adapters.slack.threads import thread_name
from adapters.slack.wording import Worded, worded
from hermes.events import PRESSED_TWICE, ChatKind, Deleted, Event, Ignored, Parsed, Sender, Target

__all__ = ["Account", "Reading", "parse_delivery"]

_SPOKEN = frozenset({None, "file_share", "me_message", "thread_broadcast"})
_NAMELESS = frozenset(
    {"", "directmessage", "mpdm", "privategroup"}
)  # what commands say where a name is nobody's business


@dataclass(frozen=True, slots=True)
class Account:
    """Our own app in a workspace, as auth.test tells it."""

    team: str
    user: str
    bot: str = ""

    @property
    def id(self) -> str:
        """The workspace and our user there: two apps never share it."""
        return f"{self.team}.{self.user}"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a delivery is read with.

    threads: names of those in which we take part (`thread_name`). names: what people and channels are called, by id.
    """

    instance: str
    account: Account
    mention: Literal["required", "off"] = "required"
    thread_mention: Literal["required", "off"] = "off"
    reply_in: Literal["thread", "channel"] = "thread"
    commands: Container[str] = frozenset()
    threads: Container[str] = field(default=frozenset())
    names: Mapping[str, str] = field(default_factory=dict)


def parse_delivery(kind: str, payload: object, reading: Reading) -> Parsed:
    """What a delivery holds as an event, or why there is none. kind: the envelope's type."""
    read = _KINDS.get(kind)
    if read is None:
        return Ignored("no message")
    return or_unparsable(payload, lambda: read(whole(payload, "payload"), reading))


def _callback(payload: Mapping[str, Any], reading: Reading) -> Parsed:
    event = mapping(payload, "event")
    match event.get("type"):
        case "message" if event.get("subtype") == "message_changed":
            return _changed(event, reading)
        case "message" if event.get("subtype") == "message_deleted":
            return Deleted(identifier(event, "channel"), number(event, "deleted_ts"))
        case "message":
            return _message(event, reading, is_mention=False)
        case "app_mention":
            return Ignored("edited") if "edited" in event else _message(event, reading, is_mention=True)
        case "assistant_thread_started" | "assistant_thread_context_changed":
            return Ignored("assistant thread")
        case str():
            return Ignored("no message")
    raise ValueError("the event has no type")


def _changed(event: Mapping[str, Any], reading: Reading) -> Parsed:
    """A new version of a message. That a link was unfolded, or a thread begun, changes no word of it."""
    message, before = event.get("message"), event.get("previous_message")
    if not isinstance(message, Mapping):
        return Ignored("edited")
    if message.get("subtype") == "tombstone":  # deleted, but its thread goes on
        return Deleted(identifier(event, "channel"), number(message, "ts"))
    if not isinstance(message.get("edited"), Mapping):
        return Ignored("edited")
    if isinstance(before, Mapping) and _said_and_shown(before) == _said_and_shown(message):
        return Ignored("edited")
    place = {"channel": event.get("channel"), "channel_type": event.get("channel_type")}
    found = _message({**message, **place}, reading, is_mention=False)
    return replace(found, edited=True) if isinstance(found, Event) else found


def _said_and_shown(message: Mapping[str, Any]) -> tuple[object, Sequence[object]]:
    return message.get("text"), [(file.get("id"), file.get("mode")) for file in objects(message, "files")]


def _message(event: Mapping[str, Any], reading: Reading, *, is_mention: bool) -> Parsed:
    subtype = text(event, "subtype") or None
    if event.get("user") == reading.account.user or _bot(event) == reading.account.bot != "":
        return Ignored("own message")
    if subtype not in _SPOKEN or event.get("hidden") is True:
        return Ignored("bot message" if subtype == "bot_message" else "service message")
    if _bot(event) or event.get("user") == "USLACKBOT":
        return Ignored("bot message")
    said = read_text(text(event, "text"), reading.account.user)
    if is_mention and not said.to_us:
        said = Said(said.text, to_us=True)
    words = worded(event, said)
    if words.is_blank and not said.to_us:
        return Ignored("service message")
    return _event(event, said, words, reading)


def _bot(event: Mapping[str, Any]) -> str:
    found = event.get("bot_id")
    return found if isinstance(found, str) else ""


def _event(event: Mapping[str, Any], said: Said, words: Worded, reading: Reading) -> Event:
    chat, ts, user = identifier(event, "channel"), number(event, "ts"), identifier(event, "user")
    kind = _kind(chat, event)
    thread = begun = _begun(event, ts)
    if kind == "group" and begun is None and reading.reply_in == "thread":
        thread = ts
    edited = event.get("edited")
    revision = number(edited, "ts") if isinstance(edited, Mapping) else ""
    return Event(
        platform="slack",
        instance=reading.instance,
        account=reading.account.id,
        kind=kind,
        chat=chat,
        sender=Sender(user, reading.names.get(user, "")),
        text="/help" if words.is_blank else words.text,  # our name alone
        dedupe_key=f"{reading.account.team}:{chat}:{ts}:{revision}",
        thread=thread,
        message_id=ts,
        quoted=words.quoted,
        command_text=words.is_own,
        chat_name=_chat_name(kind, chat, user, reading),
        addressed=kind == "direct" or _is_meant(event, said, begun, reading),
        reply_to=(Target(reading.instance, chat, thread),),
        private_notice=kind == "direct",
        unsupported="shared message" if words.is_lost else None,
        sent_at=float(ts),
        attachments=words.files,
    )


def _begun(message: Mapping[str, Any], ts: str) -> str | None:
    """The number of the thread that the message `ts` stands in."""
    begun = number(message, "thread_ts") if message.get("thread_ts") is not None else None
    return None if begun == ts else begun  # it was answered since, and still is the thread's first message


def _chat_name(kind: ChatKind, chat: str, user: str, reading: Reading) -> str:
    names = reading.names
    return _called("@", names.get(user)) if kind == "direct" else _called("#", names.get(chat))


def _called(mark: str, name: str | None) -> str:
    return f"{mark}{name}" if name else ""


def _is_meant(event: Mapping[str, Any], said: Said, thread: str | None, reading: Reading) -> bool:
    """Whether a message in a channel or a group is for us."""
    if said.to_us or reading.mention == "off":
        return True
    if thread is None or reading.thread_mention == "required" or said.elsewhere:
        return False
    is_ours = event.get("parent_user_id") == reading.account.user
    return is_ours or thread_name(identifier(event, "channel"), thread) in reading.threads


def _kind(chat: str, event: Mapping[str, Any]) -> ChatKind:
    """Channels and group messages are one kind: `app_mention` does not tell them apart."""
    return "direct" if chat.startswith("D") or event.get("channel_type") == "im" else "group"


def _command(payload: Mapping[str, Any], reading: Reading) -> Parsed:
    chat, user, trigger = (identifier(payload, key) for key in ("channel_id", "user_id", "trigger_id"))
    kind = _kind(chat, {})
    link = text(payload, "response_url") or None
    said, name = read_text(text(payload, "text"), ""), text(payload, "channel_name")
    return Event(
        platform="slack",
        instance=reading.instance,
        account=reading.account.id,
        kind=kind,
        chat=chat,
        sender=Sender(user, text(payload, "user_name")),
        text=_spelled(said.text, reading.commands),
        dedupe_key=f"{reading.account.team}:{chat}:command:{trigger}",
        reply_to=(Target(reading.instance, chat, None, link),),
        private_notice=kind == "direct",
        chat_name="" if name in _NAMELESS or kind == "direct" else _called("#", name),
    )


def _spelled(said: str, commands: Container[str]) -> str:
    """Slack keeps the line that begins with "/" for itself, so `/hermes stop` means our `/stop`."""
    if not said:
        return "/help"
    return f"/{said}" if said in commands else said


def _press(payload: Mapping[str, Any], reading: Reading) -> Parsed:
    """A button was pressed: that person says its label, where the message with the button stands."""
    if payload.get("type") != "block_actions":
        return Ignored("no message")
    if (found := pressed(payload)) is None:
        return Ignored("unknown button")
    label, action = found
    place, person = mapping(payload, "container"), mapping(payload, "user")
    message = mapping(payload, "message") if isinstance(payload.get("message"), Mapping) else {}
    chat, ts, user = identifier(place, "channel_id"), number(place, "message_ts"), identifier(person, "id")
    kind, thread = _kind(chat, {}), _begun({**place, **message}, ts)
    choice = f"{reading.account.team}:{chat}:{ts}:choice:{user}:{_mark(label)}"
    pressed_at = number(action, "action_ts")
    # Where only who asked sees our words, the answer goes the same way.
    link = text(payload, "response_url") if place.get("is_ephemeral") is True else ""
    return Event(
        platform="slack",
        instance=reading.instance,
        account=reading.account.id,
        kind=kind,
        chat=chat,
        sender=Sender(user, reading.names.get(user) or text(person, "name")),
        text=label,
        dedupe_key=f"{choice}:{pressed_at}",
        replay_key=choice,
        replay_window=PRESSED_TWICE,
        replay_open=True,
        thread=thread,
        quoted=beginning(read_text(text(message, "text"), reading.account.user).text),
        command_text=False,
        chat_name=_chat_name(kind, chat, user, reading),
        reply_to=(Target(reading.instance, chat, thread, link or None),),
        private_notice=kind == "direct",
        sent_at=float(pressed_at),
    )


_KINDS: Mapping[str, Callable[[Mapping[str, Any], Reading], Parsed]] = {
    "events_api": _callback,
    "slash_commands": _command,
    "interactive": _press,
}


def _mark(label: str) -> str:
    return hashlib.sha256(label.encode()).hexdigest()[:16]
