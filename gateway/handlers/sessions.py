"""Conversations."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from gateway import books
from gateway.control import Handler
from gateway.handlers.request import number, text, texts
from gateway.handlers.running import Running
from hermes.errors import HermesError
from hermes.home import Home
from hermes.messages import JSONObject

__all__ = ["operations"]


def operations(gateway: Running) -> Mapping[str, Handler]:
    """The operations by name."""
    ops = _Operations(gateway)
    return {
        "sessions.list": ops.sessions_list,
        "sessions.show": ops.sessions_show,
        "sessions.page": ops.page,
        "sessions.rename": ops.rename,
        "sessions.older": ops.older,
        "sessions.delete": ops.delete,
    }


class _Operations:
    def __init__(self, gateway: Running) -> None:
        self._gateway = gateway

    async def sessions_list(self, request: JSONObject) -> JSONObject:
        limit = number(request, "limit", 50, 1000)
        found = await self._gateway.core.thinking.host.sessions(None, limit=limit)
        return {"sessions": [asdict(s) for s in found]}

    async def sessions_show(self, request: JSONObject) -> JSONObject:
        wanted = text(request, "session")
        rows = await self._gateway.core.store.read(
            "SELECT role, body, at FROM messages WHERE session_id = ? AND hidden = 0 ORDER BY id", (wanted,)
        )
        if not rows:
            raise HermesError(f"There is no session {wanted}; `hermes sessions list` shows them.")
        messages: list[dict[str, Any]] = [{"role": r["role"], "text": r["body"], "at": r["at"]} for r in rows]
        return {"session": wanted, "messages": messages}

    async def page(self, request: JSONObject) -> JSONObject:
        """A piece of a transcript, for exports: the lines after message `after`, and the session at the first."""
        wanted, after = text(request, "session"), int(request.get("after") or 0)
        lines = await books.session_page(self._gateway.core.store, wanted, after)
        answer: JSONObject = {"last": lines[-1][0] if lines else after, "lines": [line for _, line in lines]}
        return {**answer, "session": await self._facts(wanted)} if not after else answer

    async def rename(self, request: JSONObject) -> JSONObject:
        wanted = text(request, "session")
        await self._facts(wanted)
        try:
            job = books.rename_session(wanted, text(request, "title"))
        except ValueError as error:
            raise HermesError(str(error)) from error
        (title,) = await self._gateway.core.store.write(job)
        self._gateway.core.thinking.behind.note(wanted)
        return {"title": title}

    async def older(self, request: JSONObject) -> JSONObject:
        """The conversations whose last message is older than `before`, oldest first."""
        rows = await self._gateway.core.store.read(
            "SELECT id, title, last_at FROM sessions WHERE last_at < ? ORDER BY last_at LIMIT 1000",
            (float(request.get("before") or 0.0),),
        )
        return {"sessions": [dict(row) for row in rows]}

    async def delete(self, request: JSONObject) -> JSONObject:
        core = self._gateway.core
        home = Home(core.settings.current().home)
        wanted = list(dict.fromkeys(texts(request, "sessions")))
        await core.thinking.behind.wait_written()
        found, copies = await books.forget_sessions(core.store, home, wanted, time.time())
        for key in {gone.key for gone in found}:
            await core.agents.drop(key)
        return {"sessions": wanted, "copies": [str(copy) for copy in copies]}

    async def _facts(self, session_id: str) -> JSONObject:
        rows = await self._gateway.core.store.read(
            "SELECT id, key, agent_id, title, platform, started_at, last_at, closed_at, message_count AS messages"
            " FROM sessions WHERE id = ?",
            (session_id,),
        )
        if not rows:
            raise HermesError(f"There is no session {session_id}; `hermes sessions list` shows them.")
        return dict(rows[0])
