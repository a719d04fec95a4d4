"""What the control socket can ask of a running gateway."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gateway import wiring
from gateway.control import Handler
from hermes.errors import HermesError
from hermes.home import Home
from hermes.messages import JSONObject

if TYPE_CHECKING:
    from gateway.app import Gateway

__all__ = ["control_handlers"]


def control_handlers(gateway: Gateway) -> Mapping[str, Handler]:
    """The operations by name."""
    ops = _Operations(gateway)
    return {
        "status": ops.status,
        "doctor": ops.doctor,
        "stop": ops.stop,
        "restart": ops.restart,
        "reload": ops.reload,
        "yield": ops.let_go,
        "pairing.list": ops.pairing_list,
        "pairing.approve": ops.pairing_approve,
        "pairing.revoke": ops.pairing_revoke,
        "sessions.list": ops.sessions_list,
        "sessions.show": ops.sessions_show,
    }


def _text(request: JSONObject, name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str) or not value:
        raise HermesError(f"The request needs a text {name!r}.")
    return value


class _Operations:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def status(self, _: JSONObject) -> JSONObject:
        return self._gateway.report.status()

    async def doctor(self, _: JSONObject) -> JSONObject:
        home = Home(self._gateway.core.settings.current().home)
        return {"findings": await wiring.look_at_store(self._gateway.core.store, home)}

    async def stop(self, _: JSONObject) -> JSONObject:
        self._gateway.stopped.ask("asked")
        return {}

    async def restart(self, _: JSONObject) -> JSONObject:
        settings = self._gateway.core.settings
        await settings.reload()
        if settings.error is not None:  # it would not come up again
            raise HermesError(f"{settings.error}\nThe daemon was not restarted.")
        self._gateway.stopped.ask("restart")
        return {}

    async def reload(self, _: JSONObject) -> JSONObject:
        await self._gateway.reload()
        settings = self._gateway.core.settings
        if settings.error is not None:
            raise HermesError(settings.error)
        return {"number": settings.current().number}

    async def let_go(self, _: JSONObject) -> JSONObject:
        if not self._gateway.may_yield:
            raise HermesError("A daemon does not let go of its home; stop it with: hermes gateway stop")
        self._gateway.stopped.ask("yield")
        self._gateway.yielded.set()
        return {}

    async def pairing_list(self, _: JSONObject) -> JSONObject:
        now = time.time()
        listed = self._gateway.core.pairings.listed()
        live = [p for p in listed if p.state == "approved" or (p.expires_at or 0) > now]
        return {"pairings": [asdict(p) for p in live]}

    async def pairing_approve(self, request: JSONObject) -> JSONObject:
        core = self._gateway.core
        try:
            pairing, job = core.pairings.approve(_text(request, "code"), time.time())
        except LookupError as error:
            raise HermesError(str(error)) from error
        await core.store.write(job)
        return {"pairing": asdict(pairing)}

    async def pairing_revoke(self, request: JSONObject) -> JSONObject:
        core = self._gateway.core
        try:
            job = core.pairings.revoke(_text(request, "instance"), _text(request, "sender"))
        except LookupError as error:
            raise HermesError(error.args[0]) from error
        await core.store.write(job)
        return {}

    async def sessions_list(self, request: JSONObject) -> JSONObject:
        limit = int(request.get("limit") or 50)
        found = await self._gateway.core.thinking.host.sessions(None, limit=max(1, min(limit, 1000)))
        return {"sessions": [asdict(s) for s in found]}

    async def sessions_show(self, request: JSONObject) -> JSONObject:
        wanted = _text(request, "session")
        rows = await self._gateway.core.store.read(
            "SELECT role, body, at FROM messages WHERE session_id = ? AND hidden = 0 ORDER BY id", (wanted,)
        )
        if not rows:
            raise HermesError(f"There is no session {wanted}; `hermes sessions list` shows them.")
        messages: list[dict[str, Any]] = [{"role": r["role"], "text": r["body"], "at": r["at"]} for r in rows]
        return {"session": wanted, "messages": messages}
