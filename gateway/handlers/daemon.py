"""The daemon itself: how it is, stop, restart, reload."""

from __future__ import annotations

from collections.abc import Mapping

from gateway import books
from gateway.control import Handler
from gateway.handlers.running import Running
from hermes.errors import HermesError
from hermes.home import Home
from hermes.messages import JSONObject

__all__ = ["operations"]


def operations(gateway: Running) -> Mapping[str, Handler]:
    """The operations by name."""
    ops = _Operations(gateway)
    return {
        "status": ops.status,
        "doctor": ops.doctor,
        "stop": ops.stop,
        "restart": ops.restart,
        "reload": ops.reload,
        "yield": ops.let_go,
    }


class _Operations:
    def __init__(self, gateway: Running) -> None:
        self._gateway = gateway

    async def status(self, _: JSONObject) -> JSONObject:
        return await self._gateway.report.full_status()

    async def doctor(self, _: JSONObject) -> JSONObject:
        home = Home(self._gateway.core.settings.current().home)
        return {"findings": await books.look_at_store(self._gateway.core.store, home)}

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
