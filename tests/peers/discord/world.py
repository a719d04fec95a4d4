"""Everything the server knows: people, channels, messages, slash commands, and what people do."""

import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.peers.discord.files import DAY, Cdn, File

BOT_ID, GUILD = "900", "10"
EPOCH = 1_420_070_400_000
KINDS = {"text": 0, "dm": 1, "news": 5, "thread": 11, "forum": 15}
NONCE_SECONDS = 120.0
CONTENT_INTENT, LOADING, EPHEMERAL = 1 << 15, 1 << 7, 1 << 6


class Refused(Exception):
    """An error answer in Discord's form."""

    def __init__(self, status: int, code: int, told: str) -> None:
        super().__init__(told)
        self.status, self.code, self.told = status, code, told


@dataclass(slots=True)
class Channel:
    """One channel with its messages as they are shown now, by id."""

    id: str
    kind: str
    guild: str | None
    parent: str | None = None
    joined: bool = False
    forbidden: bool = False
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)

    def wire(self) -> dict[str, Any]:
        """The channel object."""
        last = max(self.messages, key=int, default=None)
        found: dict[str, Any] = {"id": self.id, "type": KINDS[self.kind], "last_message_id": last}
        if self.guild is not None:
            found |= {"guild_id": self.guild, "parent_id": self.parent, "name": f"channel-{self.id}"}
        if self.kind == "thread" and self.joined:
            found["member"] = {"id": self.id, "user_id": BOT_ID, "flags": 0}
        return found


@dataclass(slots=True)
class Interaction:
    """A slash command, or the press of a button. state: open, deferred, noted, replied, expired."""

    id: str
    token: str
    channel: str
    state: str = "open"
    ephemeral: bool = False
    message: str | None = None
    wire: dict[str, Any] = field(default_factory=dict)


class World:
    """The state. `dispatch(name, data, content_hidden)` hands events to the gateway."""

    def __init__(self, dispatch: Callable[[str, dict[str, Any]], None], cdn_url: Callable[[], str]) -> None:
        self._dispatch = dispatch
        self.cdn = Cdn(cdn_url)
        self.reactions: list[tuple[str, str]] = []
        self.channels: dict[str, Channel] = {}
        self.commands: list[dict[str, Any]] = []
        self.interactions: dict[str, Interaction] = {}
        self.bot: dict[str, Any] = user(BOT_ID, "peer_bot", is_bot=True)
        self.app_flags = 1 << 19
        self.endpoint: str | None = None
        self.thread_refusals = False
        self._nonces: dict[tuple[str, str], tuple[float, dict[str, Any]]] = {}
        self._last = 0
        self._edits = 0
        for channel in (("11", "text", GUILD), ("6", "forum", GUILD), ("5", "dm", None)):
            self.add_channel(*channel)

    def add_channel(
        self, channel: str, kind: str = "text", guild: str | None = GUILD, **more: Any
    ) -> Channel:
        """Make a channel known (`parent`, `joined`, `forbidden`)."""
        found = Channel(channel, kind, None if kind == "dm" else guild, **more)
        self.channels[channel] = found
        return found

    def new_id(self) -> str:
        """A snowflake of now."""
        self._last = max(self._last + 1, (int(time.time() * 1000) - EPOCH) << 22)
        return str(self._last)

    def texts(self, channel: str) -> list[str]:
        """What the bot shows in a channel now, in order."""
        shown = self.channels[channel].messages.values() if channel in self.channels else ()
        ours = [m for m in shown if m["author"]["id"] == BOT_ID and not m["flags"] & EPHEMERAL]
        return [m["content"] for m in ours if m["content"]]

    def files(self, channel: str) -> list[tuple[str, bytes]]:
        """The files that the bot shows in a channel now, in order."""
        shown = self.channels[channel].messages.values() if channel in self.channels else ()
        ours = [m["attachments"] for m in shown if m["author"]["id"] == BOT_ID]
        return [(f["filename"], self.cdn.data(f["id"])) for files in ours for f in files]

    # -- people ------------------------------------------------------------------------------------

    def push_text(self, text: str, channel: str = "5", who: str = "500", **more: Any) -> dict[str, Any]:
        """Somebody writes. `bot`, `reply_to` (a message id), `id`, `files`, and fields of the message object.

        The addresses of the files hold for `holds` seconds.
        """
        if channel not in self.channels:
            self.add_channel(channel, "dm")
        is_bot, reply_to = bool(more.pop("bot", False)), more.pop("reply_to", None)
        author = user(who, f"user{who}", is_bot=is_bot)
        files, holds = more.pop("files", ()), more.pop("holds", DAY)
        message = self._message(channel, author, text, str(more.pop("id", None) or self.new_id()))
        message["attachments"] = self._kept(channel, files, holds)
        if reply_to is not None:
            answered = self.channels[channel].messages.get(str(reply_to))
            message |= {"type": 19, "referenced_message": answered}
            message["message_reference"] = {"message_id": str(reply_to), "channel_id": channel}
            if answered is not None and not any(
                m["id"] == answered["author"]["id"] for m in message["mentions"]
            ):
                message["mentions"].append(answered["author"])
        message |= more
        self.channels[channel].messages[message["id"]] = message
        self._dispatch("MESSAGE_CREATE", self.live(message))
        return message

    def push_again(self, message: Mapping[str, Any]) -> None:
        """The gateway says it a second time."""
        self._dispatch("MESSAGE_CREATE", self.live(message))

    def push_edited(self, message: Mapping[str, Any], text: str) -> None:
        """Somebody changes what was written."""
        known = self.channels[message["channel_id"]].messages[message["id"]]
        self._edits += 1
        known |= {"content": text, "edited_timestamp": f"2026-01-01T00:00:{self._edits:02}+00:00"}
        self._dispatch("MESSAGE_UPDATE", self.live(known))

    def push_deleted(self, message: Mapping[str, Any]) -> None:
        """Somebody takes a message back."""
        del self.channels[message["channel_id"]].messages[message["id"]]
        gone = {"id": message["id"], "channel_id": message["channel_id"]}
        self._dispatch("MESSAGE_DELETE", gone)

    def push_raw(self, name: str, data: Any) -> None:
        """Any event."""
        self._dispatch(name, data)

    def push_command(self, name: str, text: str = "", channel: str = "11", who: str = "500") -> Interaction:
        """Somebody uses a slash command."""
        options = [{"type": 3, "name": "text", "value": text}] if text else []
        return self._interact(
            channel, who, type=2, data={"id": "1", "name": name, "type": 1, "options": options}
        )

    def push_press(self, label: str, channel: str = "5", who: str = "500") -> Interaction:
        """Somebody presses the newest button with that label in a channel."""
        newest = reversed(self.channels[channel].messages.values())
        message, button = next((m, b) for m in newest for b in buttons_of(m) if b["label"] == label)
        data = {"component_type": button["type"], "custom_id": button["custom_id"]}
        return self._interact(channel, who, type=3, data=data, message=self.now(message))

    def buttons(self, channel: str) -> list[list[str]]:
        """The labels under each message that the bot shows in a channel now, in order."""
        shown = self.channels[channel].messages.values()
        return [[b["label"] for b in buttons_of(m)] for m in shown if m["author"]["id"] == BOT_ID]

    def _interact(self, channel: str, who: str, **wire: Any) -> Interaction:
        found = self.channels[channel]
        made = Interaction(self.new_id(), secrets.token_hex(20), channel)
        self.interactions[made.token] = made
        made.wire = {
            "id": made.id,
            "application_id": BOT_ID,
            "token": made.token,
            "version": 1,
            "channel_id": channel,
            "channel": found.wire(),
            **wire,
        }
        person = user(who, f"user{who}")
        made.wire |= (
            {"guild_id": found.guild, "member": {"user": person}} if found.guild else {"user": person}
        )
        self._dispatch("INTERACTION_CREATE", made.wire)
        return made

    def live(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """A message as the gateway tells it."""
        guild = self.channels[message["channel_id"]].guild
        return {**message, "guild_id": guild, "member": {"roles": []}} if guild else dict(message)

    # -- the bot -----------------------------------------------------------------------------------

    def channel(self, channel: str) -> Channel:
        """A channel that the bot may see. Raises `Refused`."""
        found = self.channels.get(channel)
        if found is None:
            raise Refused(404, 10003, "Unknown Channel")
        if found.forbidden:
            raise Refused(403, 50001, "Missing Access")
        return found

    def listed(self, guild: str, *, threads: bool) -> list[dict[str, Any]]:
        """The channels of a server, or its open threads."""
        found = [c for c in self.channels.values() if c.guild == guild and not c.forbidden]
        return [c.wire() for c in found if (c.kind == "thread") == threads]

    def open_direct(self, person: str) -> dict[str, Any]:
        """The direct channel with a person: 1 and their number."""
        name = f"1{person}"
        return (self.channels.get(name) or self.add_channel(name, "dm")).wire()

    def see_typing(self, channel: str) -> None:
        """The bot writes something there."""
        self.channel(channel)

    def register(self, commands: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The slash commands, all of them."""
        self.commands = [{**command, "id": str(n)} for n, command in enumerate(commands)]
        return self.commands

    def message(self, channel: str, message: str) -> dict[str, Any]:
        """A message that the bot may see. Raises `Refused`."""
        found = self.channel(channel).messages.get(message)
        if found is None:
            raise Refused(404, 10008, "Unknown Message")
        return found

    def now(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """A message as it is told now: the addresses of its files are new."""
        snapshots = [
            {"message": {**s["message"], "attachments": self._signed(s["message"])}}
            for s in message.get("message_snapshots", ())
        ]
        more = {"message_snapshots": snapshots} if snapshots else {}
        return {**message, "attachments": self._signed(message), **more}

    def _signed(self, message: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [self.cdn.again(a) for a in message.get("attachments", ())]

    def _kept(self, channel: str, files: Iterable[File], holds: float = DAY) -> list[dict[str, Any]]:
        return [self.cdn.keep(self.new_id(), channel, file, holds=holds) for file in files]

    def react(self, channel: str, message: str, emoji: str) -> None:
        """The bot reacts."""
        self.reactions.append((self.message(channel, message)["id"], emoji))

    def send(self, channel: str, body: Mapping[str, Any], files: Sequence[File] = ()) -> dict[str, Any]:
        """A message of the bot; one whose nonce is known is the old one."""
        found = self.channel(channel)
        if found.kind == "forum":
            raise Refused(400, 50008, "Cannot send messages in a non-text channel")
        nonce, now = body.get("nonce"), time.monotonic()
        known = self._nonces.get((channel, str(nonce))) if body.get("enforce_nonce") else None
        if known is not None and now - known[0] < NONCE_SECONDS:
            return known[1]
        reference = body.get("message_reference") or {}
        answered = found.messages.get(str(reference.get("message_id")))
        if reference and answered is None and reference.get("fail_if_not_exists", True):
            raise Refused(400, 50035, "Invalid Form Body: message_reference: Unknown message")
        message = self._message(channel, self.bot, body.get("content", ""), self.new_id())
        message |= {"nonce": nonce, "attachments": self._kept(channel, files)}
        message["components"] = body.get("components", [])
        if answered is not None:
            message |= {"type": 19, "message_reference": dict(reference)}
        found.messages[message["id"]] = message
        if nonce is not None:
            self._nonces[channel, str(nonce)] = now, message
        if found.kind == "thread":
            found.joined = True
        self._dispatch("MESSAGE_CREATE", self.live(message))
        return message

    def forget_nonces(self) -> None:
        """Some minutes have passed."""
        self._nonces.clear()

    def change(self, channel: str, message: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A message of the bot says something else now."""
        found = self.channel(channel).messages.get(message)
        if found is None:
            raise Refused(404, 10008, "Unknown Message")
        if found["author"]["id"] != BOT_ID:
            raise Refused(403, 50005, "Cannot edit a message authored by another user")
        found |= {key: body[key] for key in ("content", "components") if key in body}
        self._edits += 1
        found["edited_timestamp"] = f"2026-01-01T00:00:{self._edits % 60:02}+00:00"
        self._dispatch("MESSAGE_UPDATE", self.live(found))
        return found

    def begin_thread(self, channel: str, message: str) -> dict[str, Any]:
        """A thread at a message; it has the message's id."""
        if message not in self.channel(channel).messages:
            raise Refused(404, 10008, "Unknown Message")
        if self.thread_refusals:
            raise Refused(403, 50013, "Missing Permissions")
        if message in self.channels:
            raise Refused(400, 160004, "A thread has already been created for this message")
        made = self.add_channel(message, "thread", parent=channel, joined=True)
        self._dispatch("THREAD_CREATE", made.wire())
        return made.wire()

    def callback(self, number: str, token: str, body: Mapping[str, Any]) -> None:
        """The first word on a slash command or a press."""
        found = self.interactions.get(token)
        if found is None or found.id != number or found.state == "expired":
            raise Refused(404, 10062, "Unknown interaction")
        if found.state != "open":
            raise Refused(400, 40060, "Interaction has already been acknowledged.")
        if body["type"] == 6:
            if found.wire["type"] != 3:
                raise Refused(400, 50035, "Invalid Form Body: type: there is no message to leave as it is")
            found.state = "noted"
            return
        data = body.get("data") or {}
        found.ephemeral = bool(data.get("flags", 0) & 64)
        found.state = "deferred" if body["type"] == 5 else "replied"
        made = self._message(found.channel, self.bot, data.get("content", ""), self.new_id())
        made["flags"] = (LOADING if found.state == "deferred" else 0) | (EPHEMERAL if found.ephemeral else 0)
        found.message = made["id"]
        self.channels[found.channel].messages[made["id"]] = made

    def original(self, token: str) -> dict[str, Any]:
        """The message that answers a slash command, or says that an answer is coming."""
        return self._answering(token)[1]

    def change_original(
        self, token: str, body: Mapping[str, Any], files: Sequence[File] = ()
    ) -> dict[str, Any]:
        """The answer to a slash command."""
        found, message = self._answering(token)
        found.state = "replied"
        message |= {key: body[key] for key in ("content", "components") if key in body}
        message["flags"] &= EPHEMERAL
        if "attachments" in body:
            message["attachments"] = self._kept(found.channel, files)
        return message

    def _answering(self, token: str) -> tuple[Interaction, dict[str, Any]]:
        found = self.interactions.get(token)
        if found is None or found.state == "expired":
            raise Refused(401, 50027, "Invalid Webhook Token")
        if found.state == "open" or found.message is None:
            raise Refused(404, 10015, "Unknown Webhook")
        return found, self.channels[found.channel].messages[found.message]

    def _message(self, channel: str, author: Mapping[str, Any], text: str, number: str) -> dict[str, Any]:
        people = [self.bot] if f"<@{BOT_ID}>" in text or f"<@!{BOT_ID}>" in text else []
        return {
            "id": number,
            "channel_id": channel,
            "author": dict(author),
            "content": text,
            "timestamp": "2026-01-01T00:00:00+00:00",
            "edited_timestamp": None,
            "mention_everyone": False,
            "mentions": people,
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
            "components": [],
            "type": 0,
            "flags": 0,
        }


def buttons_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The buttons under a message, row by row."""
    return [button for row in message["components"] for button in row["components"]]


def user(number: str, name: str, *, is_bot: bool = False) -> dict[str, Any]:
    """A user object."""
    more = {"bot": True} if is_bot else {}
    return {
        "id": number,
        "username": name,
        "discriminator": "0",
        "avatar": None,
        "global_name": None if is_bot else name.title(),
        **more,
    }
