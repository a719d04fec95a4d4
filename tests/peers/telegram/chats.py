"""Chats as a person sees them: what is shown now, in order, with everything that was there before."""

import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.peers.telegram.entities import Formatted

MOST_MESSAGES = 20_000
GENERAL_TOPIC = 1


class Refused(Exception):
    """The server's ordinary answer to a call that cannot be done: code, description, parameters."""

    def __init__(self, description: str, code: int = 400, **parameters: Any) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters


@dataclass(slots=True)
class ShownMessage:
    """One message of a chat. `text` is the text or the caption after parsing, `wire` the last JSON of it."""

    message_id: int
    chat_id: int
    text: str
    entities: list[dict[str, Any]]
    from_bot: bool
    thread_id: int | None = None
    reply_to: int | None = None
    markup: Mapping[str, Any] | None = None
    media: str | None = None
    file_name: str | None = None
    file_data: bytes = b""
    date: int = field(default_factory=lambda: int(time.time()))
    deleted: bool = False
    versions: list[str] = field(default_factory=list)
    reactions: list[str] = field(default_factory=list)
    wire: dict[str, Any] = field(default_factory=dict)

    @property
    def buttons(self) -> dict[str, str]:
        """What the buttons under the message say, in order, and the data of each."""
        rows = (self.markup or {}).get("inline_keyboard", ())
        return {button["text"]: button.get("callback_data", "") for row in rows for button in row}

    @property
    def edits(self) -> int:
        """How often the message was changed."""
        return len(self.versions)

    def summary(self) -> dict[str, Any]:
        """The message as plain JSON, without the bytes of a file."""
        names = (
            "message_id", "chat_id", "text", "entities", "from_bot", "thread_id", "reply_to", "markup",
            "media", "file_name", "date", "deleted", "edits",
            "reactions", "buttons",
        )  # fmt: skip
        return {**{name: getattr(self, name) for name in names}, "file_size": len(self.file_data)}


class Chat:
    """A sequence of the messages that are shown now; `every` also has the deleted ones."""

    def __init__(self, chat_id: int, kind: str, title: str, username: str | None = None) -> None:
        self.id = chat_id
        self.kind = kind
        self.title = title
        self.username = username
        self.topics: set[int] = set()
        self.migrated_to: int | None = None
        self.blocked = False
        self.every: dict[int, ShownMessage] = {}
        self.actions: deque[tuple[float, str, int | None]] = deque(maxlen=1000)
        self.drafts: dict[int, str] = {}

    def __iter__(self) -> Iterator[ShownMessage]:
        return (m for m in list(self.every.values()) if not m.deleted)

    def __len__(self) -> int:
        return sum(not m.deleted for m in self.every.values())

    def __getitem__(self, position: int) -> ShownMessage:
        return list(self)[position]

    @property
    def is_forum(self) -> bool:
        """True once a topic is registered in a supergroup."""
        return self.kind == "supergroup" and bool(self.topics)

    def texts(self) -> list[str]:
        """What the bot shows here now, in order."""
        return [m.text for m in self if m.from_bot]

    def wire(self) -> dict[str, Any]:
        """The Chat object of the Bot API."""
        name = {"first_name": self.title} if self.kind == "private" else {"title": self.title}
        forum = {"is_forum": True} if self.is_forum else {}
        return {
            "id": self.id,
            "type": self.kind,
            **name,
            **forum,
            **({"username": self.username} if self.username else {}),
        }

    def check_thread(self, thread_id: int | None, *, action: bool = False) -> None:
        """Raise `Refused` for a topic that is not there. General (1) is no target of a message."""
        if thread_id is None or thread_id in self.topics - {GENERAL_TOPIC}:
            return
        if not (action and thread_id == GENERAL_TOPIC and self.is_forum):
            raise Refused("Bad Request: message thread not found")

    def add(self, message: ShownMessage) -> None:
        """Append a message; the oldest goes when there are too many."""
        self.every[message.message_id] = message
        if len(self.every) > MOST_MESSAGES:
            del self.every[next(iter(self.every))]

    def own(self, message_id: int, verb: str) -> ShownMessage:
        """A message of the bot that is still there, or `Refused` in the server's words."""
        message = self.every.get(message_id)
        if message is None or message.deleted:
            raise Refused(f"Bad Request: message to {verb} not found")
        if verb == "edit" and not message.from_bot:
            raise Refused("Bad Request: message can't be edited")
        return message

    def edit(self, message: ShownMessage, new: Formatted, markup: Mapping[str, Any] | None) -> None:
        """Change what a message shows; the same again is refused as "not modified"."""
        if (message.text, message.entities, message.markup) == (new.text, new.entities, markup):
            raise Refused(
                "Bad Request: message is not modified: specified new message content and reply markup "
                "are exactly the same as a current content and reply markup of the message"
            )
        message.versions.append(message.text)
        message.text, message.entities, message.markup = new.text, new.entities, markup


def kind_of(chat_id: int) -> str:
    """Type that an id stands for: positive private, -100... supergroup, other negative ones group."""
    if chat_id > 0:
        return "private"
    return "supergroup" if str(chat_id).startswith("-100") else "group"
