"""Everything the server knows: the bot, people, chats, files, and the updates that people cause."""

import base64
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tests.peers.telegram.chats import Chat, Refused, ShownMessage, kind_of
from tests.peers.telegram.entities import found_in
from tests.peers.telegram.hook import Hook
from tests.peers.telegram.media import described, folder
from tests.peers.telegram.updates import Update, UpdateQueue

BOT = {"id": 424242, "is_bot": True, "first_name": "Peer Bot", "username": "peer_bot"}
BIGGEST_DOWNLOAD = 20 * 1024 * 1024


class World:
    """The state behind the methods, and the `push_*` verbs by which a test plays the people."""

    def __init__(self, updates: UpdateQueue) -> None:
        self.updates = updates
        self.chats: dict[int, Chat] = {}
        self.files: dict[str, tuple[str, bytes]] = {}
        self.commands: list[dict[str, Any]] = []
        self.hook = Hook(updates)
        self.presses: set[str] = set()
        self.callback_answers: list[dict[str, Any]] = []
        self.bot: dict[str, Any] = dict(BOT)
        self.local_root: str | None = None
        self._message_id = 10

    @property
    def webhook_url(self) -> str:
        """Where updates are posted; empty: nowhere. Another program may set it too."""
        return self.hook.url

    @webhook_url.setter
    def webhook_url(self, url: str) -> None:
        self.hook.set(url)

    # -- places and things -------------------------------------------------------------------------

    def add_chat(
        self, chat_id: int, *, kind: str | None = None, title: str = "", topics: Sequence[int] = ()
    ) -> Chat:
        """Make a chat known to the bot (or return it) and register topics in it."""
        chat = self.chats.get(chat_id)
        if chat is None:
            chat = self.chats[chat_id] = Chat(chat_id, kind or kind_of(chat_id), title or f"Chat {chat_id}")
        chat.topics |= set(topics)
        return chat

    def chat(self, chat_id: int | str) -> Chat:
        """The chat that a call names, or the server's refusal."""
        found = self.chats.get(chat_id) if isinstance(chat_id, int) else self._named(chat_id)
        if found is None:
            raise Refused("Bad Request: chat not found")
        if found.migrated_to is not None:
            raise Refused(
                "Bad Request: group chat was upgraded to a supergroup chat",
                migrate_to_chat_id=found.migrated_to,
            )
        if found.blocked:
            raise Refused("Forbidden: bot was blocked by the user", 403)
        return found

    def _named(self, name: str) -> Chat | None:
        return next((c for c in self.chats.values() if c.username and f"@{c.username}" == name), None)

    def add_file(self, data: bytes, path: str = "documents/file.bin") -> str:
        """Store a file on the server; returns its file id."""
        file_id = f"file{len(self.files) + 1}"
        folder, _, name = path.rpartition("/")
        self.files[file_id] = (f"{folder or 'documents'}/{len(self.files) + 1}_{name}", data)
        return file_id

    def file_object(self, file_id: str) -> dict[str, Any]:
        """The File of getFile. Raises `Refused` for an unknown or a too big one."""
        if file_id not in self.files:
            raise Refused("Bad Request: invalid file_id")
        path, data = self.files[file_id]
        if self.local_root is not None:  # a server that runs with --local tells where it keeps the file
            path = f"{self.local_root}/{path}"
        elif len(data) > BIGGEST_DOWNLOAD:
            raise Refused("Bad Request: file is too big")
        return {
            "file_id": file_id,
            "file_unique_id": f"u{file_id}",
            "file_size": len(data),
            "file_path": path,
        }

    def next_message_id(self) -> int:
        """Ids of messages only grow."""
        self._message_id += 1
        return self._message_id

    # -- what people do ----------------------------------------------------------------------------

    def push_text(
        self,
        text: str,
        chat: int = 1,
        *,
        user: int | None = None,
        thread: int | None = None,
        reply_to: int | None = None,
        entities: list[dict[str, Any]] | None = None,
        **fields: Any,
    ) -> Update:
        """A person writes. In a private chat the person is the chat; `thread` makes it a topic's message.

        Entities (commands, mentions, links) are found as the server finds them unless given. Further fields
        go into the message as they are.
        """
        found = found_in(text) if entities is None else entities
        body = {"text": text, **({"entities": found} if found else {}), **fields}
        return self._push_message(chat, body, user=user, thread=thread, reply_to=reply_to)

    def push_channel_post(self, text: str, chat: int = -100900) -> Update:
        """A channel's post: no sender."""
        self.add_chat(chat, kind="channel")
        wire = self._show(chat, {"text": text, "sender_chat": self.chats[chat].wire()})
        return self.updates.push({"channel_post": wire})

    def push_edited(self, message_id: int, text: str | None, chat: int = 1) -> Update:
        """A person edits a message; `text` None is an edit of nothing visible."""
        message = self.chats[chat].every[message_id]
        edit_date = max(int(time.time()), message.wire.get("edit_date", 0) + 1)
        wire = {**message.wire, "edit_date": edit_date}
        if text is not None:
            message.versions.append(message.text)
            message.text = wire["text"] = text
            message.entities = found_in(text)
            wire.pop("entities", None)
            wire |= {"entities": message.entities} if message.entities else {}
        message.wire = wire
        return self.updates.push({"edited_message": wire})

    def push_photo(
        self, data: bytes, chat: int = 1, *, caption: str = "", user: int | None = None, **fields: Any
    ) -> Update:
        """A photo, offered in two sizes; `media_group_id=` makes it part of an album."""
        small = self._stored(data[: max(1, len(data) // 4)], "photos/small.jpg")
        large = self._stored(data, "photos/photo.jpg")
        sizes = [{**small, "width": 90, "height": 67}, {**large, "width": 1280, "height": 960}]
        return self._push_media(chat, {"photo": sizes, **fields}, caption, user)

    def push_media(
        self,
        media: str,
        data: bytes,
        chat: int = 1,
        *,
        name: str = "",
        caption: str = "",
        user: int | None = None,
        told: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Update:
        """A voice, audio, video, video_note, animation, document or sticker; `told`: more of what is said of it."""
        stored = self._stored(data, f"{folder(media)}/{name or 'file'}")
        return self._push_media(chat, {**described(media, stored, name, told), **fields}, caption, user)

    def push_voice(self, data: bytes, chat: int = 1, *, seconds: int = 3, user: int | None = None) -> Update:
        """A voice note."""
        return self.push_media("voice", data, chat, name="note.oga", user=user, told={"duration": seconds})

    def push_document(
        self, data: bytes, chat: int = 1, *, name: str = "a.txt", caption: str = "", user: int | None = None
    ) -> Update:
        """A file."""
        return self.push_media("document", data, chat, name=name, caption=caption, user=user)

    def push_content(self, content: Mapping[str, Any], chat: int = 1, *, user: int | None = None) -> Update:
        """A message of another kind: `{"location": {...}}`, `{"poll": {...}}`."""
        return self._push_message(chat, dict(content), user=user)

    def push_reaction(self, message_id: int, emoji: str, chat: int = 1) -> Update:
        """The person of a private chat reacts to a message; comes only to who asked for such updates."""
        update = {
            "chat": self.add_chat(chat).wire(),
            "message_id": message_id,
            "user": person(chat),
            "date": int(time.time()),
            "old_reaction": [],
            "new_reaction": [{"type": "emoji", "emoji": emoji}],
        }
        return self.updates.push({"message_reaction": update})

    def push_callback(self, data: str, message_id: int, chat: int = 1, *, user: int | None = None) -> Update:
        """A person presses a button under a message of the bot."""
        message = self.chats[chat].every[message_id]
        name = f"cb{self.next_message_id()}"
        self.presses.add(name)
        query = {
            "id": name,
            "from": person(user or chat),
            "message": message.wire,
            "chat_instance": str(chat),
            "data": data,
        }
        return self.updates.push({"callback_query": query})

    def push_press(self, label: str, chat: int = 1, *, user: int | None = None) -> Update:
        """A person presses the newest button of that name in a chat. Raises `StopIteration` where there is none."""
        shown = reversed([m for m in self.chats[chat] if label in m.buttons])
        message = next(shown)
        return self.push_callback(message.buttons[label], message.message_id, chat, user=user)

    def push_raw(self, update: Mapping[str, Any]) -> Update:
        """Any update, also a malformed one; an id is added where it is missing."""
        return self.updates.push(dict(update), filtered=False)

    def migrate(self, chat: int, to: int) -> Update:
        """A group becomes a supergroup: service message, and from now on calls to the old id are refused."""
        self.add_chat(to, kind="supergroup")
        update = self._push_message(chat, {"migrate_to_chat_id": to}, user=7)
        self.chats[chat].migrated_to = to
        return update

    # -- how a message comes to be -----------------------------------------------------------------

    def _stored(self, data: bytes, path: str) -> dict[str, Any]:
        file_id = self.add_file(data, path)
        return {"file_id": file_id, "file_unique_id": f"u{file_id}", "file_size": len(data)}

    def _push_media(self, chat: int, body: dict[str, Any], caption: str, user: int | None) -> Update:
        return self._push_message(chat, {**body, **({"caption": caption} if caption else {})}, user=user)

    def _push_message(
        self,
        chat_id: int,
        body: dict[str, Any],
        *,
        user: int | None = None,
        thread: int | None = None,
        reply_to: int | None = None,
    ) -> Update:
        chat = self.add_chat(chat_id)
        head: dict[str, Any] = {"from": person(user or (chat_id if chat_id > 0 else 7))}
        if thread is not None:
            chat.topics.add(thread)
            head |= {"message_thread_id": thread, "is_topic_message": True}
        if reply_to is not None:
            head["reply_to_message"] = {
                k: v for k, v in chat.every[reply_to].wire.items() if k != "reply_to_message"
            }
        return self.updates.push({"message": self._show(chat_id, {**head, **body})})

    def _show(self, chat_id: int, body: dict[str, Any]) -> dict[str, Any]:
        chat = self.chats[chat_id]
        message_id = body.get("message_id") or self.next_message_id()
        wire = {"message_id": message_id, "date": int(time.time()), "chat": chat.wire(), **body}
        text = str(body.get("text", body.get("caption", "")))
        shown = ShownMessage(message_id, chat_id, text, list(body.get("entities", ())), from_bot=False)
        shown.thread_id, shown.wire = body.get("message_thread_id"), wire
        chat.add(shown)
        return wire

    def show_own(self, message: ShownMessage, extra: Mapping[str, Any]) -> dict[str, Any]:
        """Put a message of the bot into its chat and return the Message object."""
        chat = self.chats[message.chat_id]
        wire: dict[str, Any] = {
            "message_id": message.message_id,
            "date": message.date,
            "chat": chat.wire(),
            "from": self.bot,
        }
        if message.thread_id is not None:
            wire |= {"message_thread_id": message.thread_id, "is_topic_message": True}
        if message.reply_to is not None and message.reply_to in chat.every:
            quoted = chat.every[message.reply_to].wire
            wire["reply_to_message"] = {k: v for k, v in quoted.items() if k != "reply_to_message"}
        message.wire = {**wire, **extra}
        self.write_content(message)
        chat.add(message)
        return message.wire

    @staticmethod
    def write_content(message: ShownMessage) -> None:
        """Bring the Message object in line with what is shown."""
        text, entities = ("caption", "caption_entities") if message.media else ("text", "entities")
        for key in (text, entities, "reply_markup"):
            message.wire.pop(key, None)
        if message.text:
            message.wire[text] = message.text
        if message.entities:
            message.wire[entities] = message.entities
        if message.markup and "inline_keyboard" in message.markup:
            message.wire["reply_markup"] = message.markup


def person(user_id: int) -> dict[str, Any]:
    """A User object; the same id is always the same person."""
    return {
        "id": user_id,
        "is_bot": False,
        "first_name": f"User{user_id}",
        "username": f"user{user_id}",
        "language_code": "en",
    }


def push_from_json(world: World, order: Mapping[str, Any]) -> Update:
    """One order of the control endpoint: `{"kind": "text", ...arguments}`; bytes come as `data_b64`."""
    arguments = {k: v for k, v in order.items() if k != "kind"}
    if "data_b64" in arguments:
        arguments["data"] = base64.b64decode(arguments.pop("data_b64"))
    verbs = {
        "text": world.push_text,
        "channel_post": world.push_channel_post,
        "edited": world.push_edited,
        "photo": world.push_photo,
        "voice": world.push_voice,
        "document": world.push_document,
        "media": world.push_media,
        "content": world.push_content,
        "reaction": world.push_reaction,
        "callback": world.push_callback,
        "press": world.push_press,
        "raw": world.push_raw,
        "migrate": world.migrate,
        "again": world.updates.again,
    }
    verb: Any = verbs[order["kind"]]
    result: Update = verb(**arguments)
    return result
