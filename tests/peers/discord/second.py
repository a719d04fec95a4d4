"""A second Discord: the model of simcord (PyPI, MIT) behind our REST paths and our gateway.

Others wrote it, from Discord's documentation and for bots of discord.py: it judges calls by rules of its own, checks permissions,
and shows events in its own form. It knows no connections, so everything about those is tried with the first peer alone.
"""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import web
from simcord.backend import Backend
from simcord.backend.errors import BackendError
from simcord.backend.serializers import message_payload
from simcord.http import dispatch
from simcord.interactions import base_payload

from tests.peers.discord.files import File, read_call
from tests.peers.discord.gateway import Gateway
from tests.peers.discord.world import World, buttons_of
from tests.peers.journal import Changes
from tests.peers.serving import LoopbackServer

TOKEN = "second.discord.token"
_KNOWN_AS = {"applications/@me": "oauth2/applications/@me"}


@dataclass
class _Sent:
    """An uploaded file as simcord takes it."""

    file: File
    description: str | None = None

    @property
    def filename(self) -> str:
        return self.file.served_name

    @property
    def fp(self) -> io.BytesIO:
        return io.BytesIO(self.file.data)


class SecondDiscord:
    """One server (`guild`), a channel in it (`channel`), and people. Time stands still but for `backend.advance_clock`.

    refusals: what it did not take, with the reason.
    """

    def __init__(self) -> None:
        self.token = TOKEN
        self.changes = Changes()
        self.refusals: list[str] = []
        self.backend = Backend()
        self.backend.application_id = self.backend.bot_user.id  # as with every application of today
        self.guild = self.backend.create_guild("a server").id
        self.channel = str(self.backend.create_channel(self.guild, "general").id)
        self.gateway = Gateway(TOKEN, self.changes, lambda: self.gateway_url)
        self.gateway.world = World(self.gateway.dispatch, lambda: self.cdn_url)
        self.gateway.world.bot["id"] = self.account
        self.backend.subscribers.append(self._announce)
        self._server = LoopbackServer(self._application())

    @property
    def account(self) -> str:
        """The bot's id."""
        return str(self.backend.bot_user.id)

    @property
    def base_url(self) -> str:
        """Where the REST API is."""
        return f"{self._server.base}/api/v10"

    @property
    def gateway_url(self) -> str:
        """Where the gateway is."""
        return f"{self._server.base.replace('http', 'ws')}/gw"

    @property
    def cdn_url(self) -> str:
        """Where files would be."""
        return f"{self._server.base}/cdn"

    async def __aenter__(self) -> Self:
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.gateway.cut()
        await self._server.stop()

    async def wait_for(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        """Return once `condition` holds. Raises `TimeoutError` after `timeout` seconds."""
        await self.changes.wait_for(condition, timeout)

    # -- people ------------------------------------------------------------------------------------

    def person(self, name: str) -> int:
        """Somebody new, in the server; their id."""
        made = self.backend.make_user(name)
        self.backend.add_member(self.guild, made.id)
        return int(made.id)

    def say(self, who: int, text: str, channel: str = "") -> None:
        """Somebody writes in the channel, or in another one."""
        self.backend.create_message(int(channel or self.channel), who, text)

    def use(self, who: int, name: str, text: str) -> Any:
        """Somebody uses a slash command; simcord's record of it."""
        option = {"type": 3, "name": "text", "value": text}
        return self._interact(who, 2, self.channel, {"id": "1", "name": name, "type": 1, "options": [option]})

    def press(self, who: int, label: str, channel: str = "") -> Any:
        """Somebody presses the newest button with that label; simcord's record of it."""
        where = channel or self.channel
        newest = reversed(self._messages(where))
        message, button = next((m, b) for m in newest for b in buttons_of(m) if b["label"] == label)
        data = {"custom_id": button["custom_id"], "component_type": button["type"], "id": button.get("id")}
        return self._interact(who, 3, where, data, message=message)

    def shown(self, channel: str = "") -> list[str]:
        """What the bot shows, in order."""
        found = self._messages(channel or self.channel)
        return [m["content"] for m in found if m["author"]["id"] == self.account]

    def buttons(self, channel: str = "") -> list[list[str]]:
        """The labels under each message that the bot shows, in order."""
        found = self._messages(channel or self.channel)
        return [[b["label"] for b in buttons_of(m)] for m in found if m["author"]["id"] == self.account]

    def _messages(self, channel: str) -> list[dict[str, Any]]:
        stored = self.backend.messages[int(channel)].values()
        return [dict(message_payload(self.backend, m)) for m in stored if not m.is_ephemeral]

    def _interact(self, who: int, kind: int, channel: str, data: dict[str, Any], **more: Any) -> Any:
        direct = self.backend.get_channel(int(channel)).guild_id is None
        record, payload = base_payload(
            self.backend,
            type=kind,
            channel_id=int(channel),
            guild_id=None if direct else self.guild,
            user_id=who,
            data=data,
        )
        self.backend.emit("INTERACTION_CREATE", {**payload, **more})
        return record

    # -- the wire ----------------------------------------------------------------------------------

    def _announce(self, name: str, data: Mapping[str, Any]) -> None:
        self.gateway.dispatch(name, dict(data))

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_get("/gw", self.gateway.serve)
        app.router.add_route("*", "/api/v10/{path:.*}", self._handle)
        return app

    async def _handle(self, request: web.Request) -> web.Response:
        body, uploads = await read_call(request)
        path, query = (
            _KNOWN_AS.get(request.match_info["path"], request.match_info["path"]),
            dict(request.query),
        )
        try:
            told = dispatch(
                self.backend,
                request.method,
                f"/{path}",
                json=body,
                params=query,
                files=[_Sent(upload.file) for upload in uploads],
            )
        except BackendError as refused:
            self.refusals.append(f"{request.method} /{path}: {refused}")
            return _answer(refused.to_json(), refused.status)
        finally:
            self.changes.notify()
        return _answer(told)


def _answer(body: Any, status: int = 200) -> web.Response:
    if body is None:
        return web.Response(status=204)
    raw = json.dumps(body).encode()
    return web.Response(body=raw, status=status, headers={"Content-Type": "application/json"})
