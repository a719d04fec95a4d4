"""Conversations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gateway.control import Handler
from gateway.handlers.request import number, text
from hermes.errors import HermesError
from hermes.messages import JSONObject

if TYPE_CHECKING:
    from gateway.app import Gateway

__all__ = ["operations"]


def operations(gateway: Gateway) -> Mapping[str, Handler]:
    """The operations by name."""
    ops = _Operations(gateway)
    return {
        "sessions.list": ops.sessions_list,
        "sessions.show": ops.sessions_show,
    }


class _Operations:
    def __init__(self, gateway: Gateway) -> None:
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
