"""Dead letters."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict

from gateway import letters
from gateway.control import Handler
from gateway.handlers.request import number, text
from gateway.handlers.running import Running
from gateway.uncut import uncut
from hermes.errors import HermesError
from hermes.messages import JSONObject
from hermes.store import Job

__all__ = ["operations"]

_MOST = 1000


def operations(gateway: Running) -> Mapping[str, Handler]:
    """The operations by name."""
    ops = _Operations(gateway)
    return {
        "letters.list": ops.listed,
        "letters.show": ops.show,
        "letters.retry": ops.retry,
        "letters.drop": ops.drop,
    }


class _Operations:
    def __init__(self, gateway: Running) -> None:
        self._gateway = gateway

    async def listed(self, request: JSONObject) -> JSONObject:
        found = await letters.listed(self._gateway.core.store, number(request, "limit", 100, _MOST))
        return {"letters": [asdict(letter) for letter in found]}

    async def show(self, request: JSONObject) -> JSONObject:
        wanted = text(request, "letter")
        found = await letters.find(self._gateway.core.store, wanted)
        if found is None:
            raise HermesError(f"There is no dead letter {wanted} (any more): hermes deadletters list")
        return {"letter": asdict(found)}

    async def retry(self, request: JSONObject) -> JSONObject:
        await uncut(self._revive(request), name="retry")
        return {"letters": await self._wanted(request)}

    async def _revive(self, request: JSONObject) -> None:
        core = self._gateway.core
        for revived in await self._write(request, letters.revive):
            core.delivery.wake([r for r in revived.replies if core.delivery.serves(r.target.instance)])
            for row in revived.messages:
                if core.delivery.hears(row.event.instance):
                    core.sessions.put(row)

    async def drop(self, request: JSONObject) -> JSONObject:
        await self._write(request, letters.put_away)
        return {"letters": await self._wanted(request)}

    async def _write(self, request: JSONObject, job: Callable[[str, float], Job]) -> list[letters.Revived]:
        """All in one transaction, oldest first: either all of them are letters still, or nothing happens."""
        now = time.time()
        wanted = await self._wanted(request)
        return list(await self._gateway.core.store.write(*(job(letter, now) for letter in wanted)))

    async def _wanted(self, request: JSONObject) -> list[str]:
        if "letters" not in request:
            raise HermesError("The request needs a list of letters.")
        found = list(dict.fromkeys(str(letter) for letter in request["letters"]))
        if not found:
            raise HermesError("Name the letters, such as r12: hermes deadletters list")
        return sorted(found, key=lambda letter: (letter[:1], len(letter), letter))
