"""What the methods of the Bot API do here. https://core.telegram.org/bots/api#available-methods"""

import time
from collections.abc import Callable
from typing import Any

from tests.peers.telegram.chats import Chat, Refused, ShownMessage
from tests.peers.telegram.entities import (
    Formatted,
    Unparsable,
    entity_faults,
    found_in,
    trimmed,
    units,
)
from tests.peers.telegram.html import parse_html
from tests.peers.telegram.keyboards import keyboard_faults
from tests.peers.telegram.markdown import parse_markdown_v2
from tests.peers.telegram.spec import Checked, Upload
from tests.peers.telegram.world import World

TEXT_LIMIT = 4096
CAPTION_LIMIT = 1024
LARGEST_UPLOAD = 50 << 20
LARGEST_PHOTO = 10 << 20
MEDIA = {
    "sendPhoto": "photo", "sendDocument": "document", "sendVoice": "voice", "sendAudio": "audio",
    "sendVideo": "video", "sendAnimation": "animation", "sendSticker": "sticker",
    "sendVideoNote": "video_note",
}  # fmt: skip
_JUST_TRUE = (
    "setMyDescription", "setMyShortDescription", "setMyName", "setChatMenuButton",
    "pinChatMessage", "unpinChatMessage", "unpinAllChatMessages", "leaveChat", "logOut", "close",
    "deleteMyCommands", "setMyDefaultAdministratorRights",
)  # fmt: skip


class Breach(Refused):
    """A refusal that no correct client causes (too long, no text, bad entities): tests want none of them."""


class Methods:
    """Turns a checked call into its result; `Refused` for ordinary errors, `Breach` for a client's fault."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._table: dict[str, Callable[[Checked], Any]] = {
            "getMe": lambda call: self._me(),
            "setWebhook": self._set_webhook,
            "deleteWebhook": self._delete_webhook,
            "getWebhookInfo": lambda call: world.hook.info(),
            "setMyCommands": self._set_commands,
            "getMyCommands": lambda call: world.commands,
            "getFile": lambda call: world.file_object(call.params["file_id"]),
            "getChat": self._get_chat,
            "getChatMember": self._get_member,
            "sendMessage": self._send_message,
            "sendMediaGroup": self._send_album,
            "sendMessageDraft": self._draft,
            "sendChatAction": self._chat_action,
            "editMessageText": self._edit_text,
            "editMessageCaption": self._edit_caption,
            "editMessageReplyMarkup": self._edit_markup,
            "deleteMessage": self._delete,
            "deleteMessages": self._delete_many,
            "answerCallbackQuery": self._answer_callback,
            "setMessageReaction": self._react,
            **{name: self._send_media(name, kind) for name, kind in MEDIA.items()},
            **{name: lambda call: True for name in _JUST_TRUE},
        }

    def __contains__(self, method: str) -> bool:
        return method in self._table

    def run(self, method: str, call: Checked) -> Any:
        """The `result` of the answer."""
        return self._table[method](call)

    # -- the bot -----------------------------------------------------------------------------------

    def _me(self) -> dict[str, Any]:
        may = {"can_join_groups": True, "can_read_all_group_messages": True, "supports_inline_queries": False}
        return {**self.world.bot, **may}

    def _set_webhook(self, call: Checked) -> bool:
        self.world.updates.allow(call.params.get("allowed_updates"))
        self.world.hook.set(call.params["url"], call.params.get("secret_token", ""))
        return self._delete_pending(call)

    def _delete_webhook(self, call: Checked) -> bool:
        self.world.hook.set("")
        return self._delete_pending(call)

    def _delete_pending(self, call: Checked) -> bool:
        if call.params.get("drop_pending_updates"):
            self.world.updates.clear()
        return True

    def _set_commands(self, call: Checked) -> bool:
        self.world.commands = call.params["commands"]
        return True

    # -- chats -------------------------------------------------------------------------------------

    def _get_chat(self, call: Checked) -> dict[str, Any]:
        gifts = (
            "unlimited_gifts",
            "limited_gifts",
            "unique_gifts",
            "premium_subscription",
            "gifts_from_channels",
        )
        more = {
            "accent_color_id": 0,
            "max_reaction_count": 11,
            "accepted_gift_types": dict.fromkeys(gifts, False),
        }
        return {**self.world.chat(call.params["chat_id"]).wire(), **more}

    def _get_member(self, call: Checked) -> dict[str, Any]:
        self.world.chat(call.params["chat_id"])
        user = call.params["user_id"]
        is_bot = user == self.world.bot["id"]
        return {
            "status": "member",
            "user": self.world.bot if is_bot else {"id": user, "is_bot": False, "first_name": f"User{user}"},
        }

    def _chat_action(self, call: Checked) -> bool:
        chat = self.world.chat(call.params["chat_id"])
        thread = call.params.get("message_thread_id")
        chat.check_thread(thread, action=True)
        chat.actions.append((time.monotonic(), call.params["action"], thread))
        return True

    def _answer_callback(self, call: Checked) -> bool:
        if call.params["callback_query_id"] not in self.world.presses:
            raise Refused("Bad Request: query is too old and response timeout expired or query ID is invalid")
        self.world.presses.discard(call.params["callback_query_id"])
        self.world.callback_answers.append(call.params)
        return True

    # -- sending -----------------------------------------------------------------------------------

    def _send_message(self, call: Checked) -> dict[str, Any]:
        chat = self.world.chat(call.params["chat_id"])
        text = written(call, "text", "entities", TEXT_LIMIT)
        return self.world.show_own(self._message(chat, call, text), {})

    def _send_media(self, method: str, kind: str) -> Callable[[Checked], Any]:
        def send(call: Checked) -> dict[str, Any]:
            chat = self.world.chat(call.params["chat_id"])
            caption = written(call, "caption", "caption_entities", CAPTION_LIMIT, may_be_empty=True)
            message = self._message(chat, call, caption)
            return self._show_media(
                message, kind, self._file(call, call.uploads.get(kind), call.params.get(kind))
            )

        return send

    def _send_album(self, call: Checked) -> list[dict[str, Any]]:
        chat = self.world.chat(call.params["chat_id"])
        if not 2 <= len(call.params["media"]) <= 10:
            raise Breach("Bad Request: wrong number of media in the album")
        captions = [
            written(Checked(item), "caption", "caption_entities", CAPTION_LIMIT, may_be_empty=True)
            for item in call.params["media"]
        ]
        shown = []
        for item, caption in zip(call.params["media"], captions, strict=True):
            upload = self._file(call, None, item["media"])
            shown.append(self._show_media(self._message(chat, call, caption), item["type"], upload))
        return shown

    def _message(self, chat: Chat, call: Checked, content: Formatted) -> ShownMessage:
        thread = call.params.get("message_thread_id")
        chat.check_thread(thread)
        reply_to = _reply_target(chat, call.params.get("reply_parameters"))
        message_id = self.world.next_message_id()
        message = ShownMessage(message_id, chat.id, content.text, content.entities, from_bot=True)
        message.thread_id, message.reply_to = thread, reply_to
        message.markup = marked_up(call)
        return message

    def _file(self, call: Checked, upload: Upload | None, named: Any) -> Upload:
        """The bytes behind a file parameter: a part, a part referred to by attach://, or a known file id."""
        if upload is None and isinstance(named, str):
            part = call.uploads.get(named.removeprefix("attach://"))
            upload = part or (
                Upload(named, self.world.files[named][1]) if named in self.world.files else None
            )
        if upload is None:
            raise Refused("Bad Request: wrong file identifier/HTTP URL specified")
        if not upload.data:
            raise Refused("Bad Request: file must be non-empty")
        if len(upload.data) > LARGEST_UPLOAD and self.world.local_root is None:
            raise Breach("Request Entity Too Large", 413)
        return upload

    def _show_media(self, message: ShownMessage, kind: str, upload: Upload) -> dict[str, Any]:
        if kind == "photo" and len(upload.data) > LARGEST_PHOTO:
            told = f"file of size {len(upload.data)} bytes is too big for a photo"
            raise Breach(f"Bad Request: {told}; the maximum size is {LARGEST_PHOTO} bytes")
        message.media, message.file_name, message.file_data = kind, upload.filename, upload.data
        file_id = self.world.add_file(upload.data, f"{kind}s/{upload.filename}")
        stored = {"file_id": file_id, "file_unique_id": f"u{file_id}", "file_size": len(upload.data)}
        more: dict[str, Any] = {
            "width": 640,
            "height": 480,
            "duration": 1,
            "length": 240,
            "file_name": upload.filename,
        }
        wanted = {
            "photo": ("width", "height"), "document": ("file_name",), "voice": ("duration",),
            "audio": ("duration", "file_name"), "video": ("width", "height", "duration"),
            "animation": ("width", "height", "duration"), "video_note": ("length", "duration"),
        }.get(kind, ("width", "height"))  # fmt: skip
        described = {**stored, **{name: more[name] for name in wanted}}
        if kind == "sticker":
            described |= {"type": "regular", "is_animated": False, "is_video": False}
        return self.world.show_own(message, {kind: [described] if kind == "photo" else described})

    def _draft(self, call: Checked) -> bool:
        chat = self.world.chat(call.params["chat_id"])
        text = written(call, "text", "entities", TEXT_LIMIT, may_be_empty=True)
        chat.drafts[call.params["draft_id"]] = text.text
        return True

    # -- changing ----------------------------------------------------------------------------------

    def _edit_text(self, call: Checked) -> Any:
        return self._edit(call, written(call, "text", "entities", TEXT_LIMIT))

    def _edit_caption(self, call: Checked) -> Any:
        return self._edit(
            call, written(call, "caption", "caption_entities", CAPTION_LIMIT, may_be_empty=True)
        )

    def _edit_markup(self, call: Checked) -> Any:
        return self._edit(call, None)

    def _edit(self, call: Checked, new: Formatted | None) -> Any:
        if "message_id" not in call.params or "chat_id" not in call.params:
            raise Breach("Bad Request: message identifier is not specified")
        chat = self.world.chat(call.params["chat_id"])
        message = chat.own(call.params["message_id"], "edit")
        content = new if new is not None else Formatted(message.text, message.entities)
        chat.edit(message, content, marked_up(call))
        message.wire["edit_date"] = int(time.time())
        self.world.write_content(message)
        return message.wire

    def _delete(self, call: Checked) -> bool:
        self.world.chat(call.params["chat_id"]).own(call.params["message_id"], "delete").deleted = True
        return True

    def _react(self, call: Checked) -> bool:
        message = self.world.chat(call.params["chat_id"]).every.get(call.params["message_id"])
        if message is None or message.deleted:
            raise Refused("Bad Request: message to react not found")
        message.reactions = [str(one.get("emoji")) for one in call.params.get("reaction", ())]
        return True

    def _delete_many(self, call: Checked) -> bool:
        chat = self.world.chat(call.params["chat_id"])
        for message_id in call.params["message_ids"]:
            if message_id in chat.every:
                chat.every[message_id].deleted = True
        return True


def marked_up(call: Checked) -> dict[str, Any] | None:
    """The markup of a call. `Breach`: its buttons cannot be."""
    markup: dict[str, Any] | None = call.params.get("reply_markup")
    if markup is not None and (faults := keyboard_faults(markup)):
        raise Breach("Bad Request: " + "; ".join(faults))
    return markup


def written(
    call: Checked, text_key: str, entities_key: str, limit: int, *, may_be_empty: bool = False
) -> Formatted:
    """The text of a call as it will be shown. `Refused`: markup cannot be read; `Breach`: length."""
    raw = call.params.get(text_key, "")
    if units(raw) > 65_536:
        raise Breach("Bad Request: message is too long")
    shown = trimmed(_styled(call, raw, entities_key))
    if not shown.text and not may_be_empty:
        raise Breach("Bad Request: message text is empty")
    if units(shown.text) > limit:
        raise Breach(f"Bad Request: {'message' if text_key == 'text' else 'message caption'} is too long")
    return shown


def _styled(call: Checked, raw: str, entities_key: str) -> Formatted:
    mode = call.params.get("parse_mode", "")
    try:
        if mode.lower() == "html":
            return _with_found(parse_html(raw))
        if mode.lower() == "markdownv2":
            return _with_found(parse_markdown_v2(raw))
    except Unparsable as wrong:
        raise Refused(f"Bad Request: can't parse entities: {wrong}") from wrong
    if mode:
        raise Breach(f"Bad Request: unsupported parse_mode {mode!r}")
    given = call.params.get(entities_key)
    if faults := entity_faults(raw, given or ()):
        raise Breach("Bad Request: " + "; ".join(faults))
    return _with_found(Formatted(raw, list(given or ())))


def _with_found(shown: Formatted) -> Formatted:
    """Add the links, mentions and commands that the server finds outside of given entities."""
    taken = [(e["offset"], e["offset"] + e["length"]) for e in shown.entities]
    extra = [
        e for e in found_in(shown.text)
        if not any(e["offset"] < end and start < e["offset"] + e["length"] for start, end in taken)
    ]  # fmt: skip
    return Formatted(shown.text, sorted(shown.entities + extra, key=lambda e: (e["offset"], -e["length"])))


def _reply_target(chat: Chat, reply: dict[str, Any] | None) -> int | None:
    if reply is None:
        return None
    message = chat.every.get(reply["message_id"])
    if message is not None and not message.deleted:
        return int(reply["message_id"])
    if reply.get("allow_sending_without_reply"):
        return None
    raise Refused("Bad Request: message to be replied not found")
