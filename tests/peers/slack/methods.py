"""The methods of the Web API that the peer offers, over its world. https://docs.slack.dev/reference/methods"""

from collections.abc import Callable, Mapping
from typing import Any

from tests.peers.slack.blocks import given
from tests.peers.slack.files import Files, Refusal
from tests.peers.slack.spec import LONGEST_TEXT
from tests.peers.slack.world import APP, BOT, TEAM, USER, Channel, Message, World

SCOPES = (
    "app_mentions:read,assistant:write,channels:history,chat:write,chat:write.public,commands,groups:history,"
    "files:read,files:write,im:history,im:write,mpim:history,reactions:write,users:read"
)
NEEDS = {
    "bots.info": "users:read",
    "files.completeUploadExternal": "files:write",
    "files.getUploadURLExternal": "files:write",
    "files.info": "files:read",
    "reactions.add": "reactions:write",
}
_Params = Mapping[str, Any]


class Methods:
    """Carries calls out. page: messages in one answer; longest: characters of a text, if fewer than documented."""

    def __init__(self, world: World, files: Files) -> None:
        self._world = world
        self._files = files
        self.page = 200
        self.longest = 40_000
        self.has_history = True
        self._table: dict[str, Callable[[_Params], dict[str, Any]]] = {
            "auth.test": self._auth_test,
            "bots.info": self._bot,
            "chat.postMessage": self._post,
            "chat.update": self._update,
            "conversations.open": self._open,
            "conversations.history": self._history,
            "conversations.info": self._room,
            "conversations.replies": self._replies,
            "assistant.threads.setStatus": self._status,
            "assistant.threads.setSuggestedPrompts": self._suggest,
            "files.completeUploadExternal": self._show_files,
            "files.getUploadURLExternal": lambda params: files.ask(params, USER),
            "files.info": files.info,
            "reactions.add": self._react,
            "users.info": self._user,
            "users.conversations": self._mine,
        }

    def __contains__(self, method: str) -> bool:
        return method in self._table

    def run(self, method: str, params: _Params) -> dict[str, Any]:
        """The answer. Raises `Refusal`."""
        return {"ok": True, **self._table[method](params)}

    def _auth_test(self, _: _Params) -> dict[str, Any]:
        return {
            "url": "https://peer.slack.com/", "team": "Peer", "user": "hermes", "team_id": TEAM, "user_id": USER,
            "bot_id": BOT, "is_enterprise_install": False,
        }  # fmt: skip

    def _bot(self, params: _Params) -> dict[str, Any]:
        if params.get("bot") != BOT:
            raise Refusal("bot_not_found")
        return {"bot": {"id": BOT, "deleted": False, "name": "hermes", "app_id": APP, "user_id": USER}}

    def _channel(self, name: str) -> Channel:
        found = self._world.channels.get(name)
        if found is None:
            raise Refusal("channel_not_found")
        return found

    def _writable(self, name: str, thread: str | None) -> Channel:
        channel = self._channel(name)
        if not channel.is_member:
            raise Refusal("not_in_channel")
        if channel.is_archived:
            raise Refusal("is_archived")
        if thread is not None and channel.find(thread) is None:
            raise Refusal("thread_not_found")
        return channel

    def _post(self, params: _Params) -> dict[str, Any]:
        thread = params.get("thread_ts")
        channel = self._writable(params["channel"], thread)
        self._check_text("chat.postMessage", params)
        message = Message(self._world.next_ts(), USER, params["text"], thread, params.get("metadata"))
        message.blocks = given(params)
        channel.messages.append(message)
        return {"channel": channel.id, "ts": message.ts, "message": message.wire(with_metadata=True)}

    def _show_files(self, params: _Params) -> dict[str, Any]:
        """Without a channel nobody sees them."""
        files, thread = self._files.poured(params), params.get("thread_ts")
        channel = self._writable(str(params.get("channel_id")), thread)
        comment = params.get("initial_comment", "")
        if len(comment) > self.longest:
            raise Refusal("msg_too_long")
        message = Message(self._world.next_ts(), USER, comment, thread, files=[file for file, _ in files])
        channel.messages.append(message)
        for file, _ in files:
            self._files.show(file, channel.kind, channel.id, message.ts)
        return {"files": [{**file.wire(), "title": title, "shares": {}} for file, title in files]}

    def _react(self, params: _Params) -> dict[str, Any]:
        message = self._channel(params["channel"]).find(params["timestamp"])
        if message is None:
            raise Refusal("message_not_found")
        if params["name"] in message.reactions:
            raise Refusal("already_reacted")
        message.reactions.append(params["name"])
        return {}

    def _suggest(self, params: _Params) -> dict[str, Any]:
        if not 1 <= len(params["prompts"]) <= 4:
            raise Refusal("invalid_arguments")
        self._channel(params["channel_id"])
        return {}

    def _update(self, params: _Params) -> dict[str, Any]:
        channel = self._channel(params["channel"])
        message = channel.find(params["ts"])
        if message is None:
            raise Refusal("message_not_found")
        if message.user != USER:
            raise Refusal("cant_update_message")
        self._check_text("chat.update", params)
        message.versions.append(message.source)
        message.source = params["text"]
        if "blocks" in params:  # the method's page says both, that they stay without it and that they go
            message.blocks = given(params)
        return {"channel": channel.id, "ts": message.ts, "text": message.source}

    def _check_text(self, method: str, params: _Params) -> None:
        if not params.get("text"):
            raise Refusal("no_text")
        if len(params["text"]) > min(self.longest, LONGEST_TEXT[method]):
            raise Refusal("msg_too_long")

    def _open(self, params: _Params) -> dict[str, Any]:
        if not str(params.get("users", "")).startswith("U"):
            raise Refusal("user_not_found")
        channel = self._world.add_channel(f"D{params['users'][1:]}", "im")
        return {"channel": {"id": channel.id}}

    def _room(self, params: _Params) -> dict[str, Any]:
        channel = self._channel(params["channel"])
        kinds = {"is_im": channel.kind == "im", "is_mpim": channel.kind == "mpim"}
        return {"channel": {"id": channel.id, "name": channel.name, **kinds}}

    def _history(self, params: _Params) -> dict[str, Any]:
        channel = self._readable(params)
        found = [m for m in channel.messages if m.thread_ts in (None, m.ts)]
        return self._paged(params, found[::-1])

    def _replies(self, params: _Params) -> dict[str, Any]:
        channel = self._readable(params)
        if channel.find(params["ts"]) is None:
            raise Refusal("thread_not_found")
        return self._paged(params, [m for m in channel.messages if params["ts"] in (m.ts, m.thread_ts)])

    def _readable(self, params: _Params) -> Channel:
        if not self.has_history:
            raise Refusal("missing_scope", needed="channels:history", provided="chat:write")
        return self._channel(params["channel"])

    def _paged(self, params: _Params, found: list[Message]) -> dict[str, Any]:
        oldest = float(params.get("oldest") or 0)
        newer = [m for m in found if m.only_for is None and float(m.ts) > oldest]
        start, size = int(params.get("cursor") or 0), min(self.page, int(params.get("limit", 100)))
        more = start + size < len(newer)
        with_metadata = str(params.get("include_all_metadata", "")).lower() in ("true", "1")
        return {
            "messages": [m.wire(with_metadata=with_metadata) for m in newer[start : start + size]],
            "has_more": more,
            "response_metadata": {"next_cursor": str(start + size) if more else ""},
        }

    def _mine(self, _: _Params) -> dict[str, Any]:
        if not self.has_history:
            raise Refusal("missing_scope", needed="channels:read", provided="chat:write")
        mine = [{"id": c.id} for c in self._world.channels.values() if c.is_member and not c.is_archived]
        return {"channels": mine, "response_metadata": {"next_cursor": ""}}

    def _user(self, params: _Params) -> dict[str, Any]:
        name = self._world.people.get(params["user"])
        if name is None:
            raise Refusal("user_not_found")
        return {"user": {"id": params["user"], "name": name.lower(), "profile": {"display_name": name}}}

    def _status(self, params: _Params) -> dict[str, Any]:
        if self._channel(params["channel_id"]).find(params["thread_ts"]) is None:
            raise Refusal("thread_not_found")
        return {}
