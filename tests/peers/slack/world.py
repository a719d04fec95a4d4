"""The workspace: conversations with the messages that are shown, and the payloads that tell of what people do."""

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.peers.slack.blocks import buttons, echoed, echoed_button, sections
from tests.peers.slack.files import File
from tests.peers.slack.mrkdwn import displayed

TEAM, USER, BOT, APP = "T1", "UBOT", "B1", "A1"
_FIRST = 1_700_000_000


@dataclass(slots=True)
class Message:
    """One message. `source`: its mrkdwn as sent; `versions`: what it was before edits.

    With `blocks`, people see these, and `source` in notifications alone.
    """

    ts: str
    user: str
    source: str
    thread_ts: str | None = None
    metadata: dict[str, Any] | None = None
    only_for: str | None = None
    versions: list[str] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    reactions: list[str] = field(default_factory=list)
    blocks: Sequence[Mapping[str, Any]] = ()

    @property
    def text(self) -> str:
        """As people see it."""
        return "\n".join(map(displayed, sections(self.blocks) if self.blocks else [self.source]))

    @property
    def buttons(self) -> list[str]:
        """The words on the buttons under it."""
        return [button["text"]["text"] for button in buttons(self.blocks)]

    def wire(self, *, with_metadata: bool) -> dict[str, Any]:
        """As the Web API shows it."""
        shown: dict[str, Any] = {"type": "message", "user": self.user, "ts": self.ts, "text": self.source}
        if self.thread_ts is not None:
            shown["thread_ts"] = self.thread_ts
        if self.user == USER:
            shown["bot_id"] = BOT
        if self.blocks:
            shown["blocks"] = echoed(self.blocks)
        if self.files:
            shown |= {"subtype": "file_share", "files": [file.wire() for file in self.files], "upload": True}
        if with_metadata and self.metadata is not None:
            shown["metadata"] = self.metadata
        return shown

    def summary(self) -> dict[str, Any]:
        """As plain JSON, for tests in another process."""
        return {
            "ts": self.ts, "user": self.user, "text": self.text, "source": self.source,
            "thread_ts": self.thread_ts, "only_for": self.only_for, "edits": len(self.versions),
            "files": [file.summary() for file in self.files], "reactions": self.reactions,
            "buttons": self.buttons,
        }  # fmt: skip


@dataclass(slots=True)
class Channel:
    """A conversation: `im`, `mpim`, `channel` or `group` (a private channel)."""

    id: str
    kind: str
    is_member: bool = True
    is_archived: bool = False
    messages: list[Message] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What people call it."""
        return f"room-{self.id.lower()}"

    def find(self, ts: str) -> Message | None:
        """The message with that number."""
        return next((m for m in self.messages if m.ts == ts), None)

    def texts(self, thread: str | None = None) -> list[str]:
        """What the app shows here, in order; `thread`: only there."""
        return [m.text for m in self.messages if m.user == USER and (thread is None or m.thread_ts == thread)]


class World:
    """Everything in the workspace. `say` and its like return an event's payload, which is then delivered."""

    def __init__(self) -> None:
        self.channels: dict[str, Channel] = {}
        self.people = {"U1": "Ana", "U2": "Ben"}
        self._numbers: Iterator[int] = itertools.count(1)
        self._events = itertools.count(1)

    def add_channel(
        self, channel: str, kind: str = "channel", *, is_member: bool = True, is_archived: bool = False
    ) -> Channel:
        """Make a conversation known."""
        return self.channels.setdefault(channel, Channel(channel, kind, is_member, is_archived))

    def next_ts(self) -> str:
        """A number for a message: the seconds of now, unique."""
        return f"{int(time.time())}.{next(self._numbers):06d}"

    def say(
        self,
        text: str,
        channel: str = "D1",
        user: str = "U1",
        *,
        ts: str | None = None,
        thread: str | None = None,
        is_mention: bool = False,
        **more: Any,
    ) -> dict[str, Any]:
        """A person writes; `more`: further fields of the event."""
        place = self.channels.get(channel) or self.add_channel(channel, _kind(channel))
        number = ts or self.next_ts()
        if place.find(number) is None and "subtype" not in more:
            place.messages.append(Message(number, user, text, thread))
        event: dict[str, Any] = {
            "type": "app_mention",
            "channel": channel,
            "user": user,
            "text": text,
            "ts": number,
        }
        if not is_mention:
            event |= {"type": "message", "channel_type": place.kind}
        if thread is not None:
            event["thread_ts"] = thread
            root = place.find(thread)
            event["parent_user_id"] = root.user if root is not None else "U9"
        return self.callback({**event, "event_ts": number, "team": TEAM, **more})

    def say_with(
        self, files: Sequence[File], text: str = "", channel: str = "D1", **more: Any
    ) -> dict[str, Any]:
        """A person writes, with files; `more` as in `say`."""
        number = more.pop("ts", None) or self.next_ts()
        shown: dict[str, Any] = {
            "subtype": "file_share",
            "files": [file.wire() for file in files],
            "upload": False,
        }
        payload = self.say(text, channel, ts=number, **more, **shown)
        place = self.channels[channel]
        place.messages.append(
            Message(number, more.get("user", "U1"), text, more.get("thread"), files=list(files))
        )
        for file in files:
            file.shares.append(("public" if place.kind == "channel" else "private", channel, number))
        return payload

    def callback(self, event: Any, event_id: str | None = None) -> dict[str, Any]:
        """The wrapper that events come in."""
        return {
            "token": "verification", "team_id": TEAM, "api_app_id": APP, "event": event,
            "type": "event_callback", "event_id": event_id or f"Ev{next(self._events):08d}",
            "event_time": int(time.time()), "is_ext_shared_channel": False,
            "authorizations": [
                {"enterprise_id": None, "team_id": TEAM, "user_id": USER, "is_bot": True}
            ],
        }  # fmt: skip

    def press(
        self, button: str, channel: str = "D1", user: str = "U1", ts: str | None = None
    ) -> dict[str, Any]:
        """A person presses a button of our newest message that has it (`ts`: of that one); its words."""
        place = self.channels[channel]
        message = next(
            m
            for m in reversed(place.messages)
            if m.user == USER and button in m.buttons and ts in (None, m.ts)
        )
        pressed = next(b for b in buttons(message.blocks) if b["text"]["text"] == button)
        thread = {} if message.thread_ts is None else {"thread_ts": message.thread_ts}
        name = self.people.get(user, user).lower()
        return {
            "type": "block_actions", "api_app_id": APP, "token": "verification",
            "user": {"id": user, "username": name, "name": name, "team_id": TEAM},
            "container": {
                "type": "message", "message_ts": message.ts, "channel_id": channel, "is_ephemeral": False, **thread,
            },
            "trigger_id": f"{next(self._events)}.{_FIRST}.trigger", "team": {"id": TEAM, "domain": "peer"},
            "enterprise": None, "is_enterprise_install": False,
            "channel": {"id": channel, "name": "directmessage" if place.kind == "im" else place.name},
            "message": {**message.wire(with_metadata=False), "team": TEAM, "app_id": APP},
            "state": {"values": {}}, "response_url": f"https://hooks.slack.com/actions/{TEAM}/1/secret",
            "actions": [{**echoed_button(pressed), "block_id": "b1", "action_ts": f"{time.time():.6f}"}],
        }  # fmt: skip

    def command(
        self, text: str, channel: str = "C1", user: str = "U1", *, response_url: str
    ) -> dict[str, Any]:
        """A person gives the command /hermes."""
        place = self.channels.get(channel) or self.add_channel(channel, _kind(channel))
        return {
            "token": "verification", "team_id": TEAM, "team_domain": "peer", "channel_id": place.id,
            "channel_name": "directmessage" if place.kind == "im" else place.name, "user_id": user,
            "user_name": "ana", "command": "/hermes", "text": text, "api_app_id": APP,
            "is_enterprise_install": "false", "response_url": response_url,
            "trigger_id": f"{next(self._events)}.{_FIRST}.trigger",
        }  # fmt: skip


def _kind(channel: str) -> str:
    return {"D": "im", "G": "mpim"}.get(channel[:1], "channel")
