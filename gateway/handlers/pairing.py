"""Who is admitted."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict

from gateway.control import Handler
from gateway.handlers.commit import commit
from gateway.handlers.request import text
from gateway.handlers.running import Running
from hermes.errors import HermesError
from hermes.messages import JSONObject

__all__ = ["operations"]


def operations(gateway: Running) -> Mapping[str, Handler]:
    """The operations by name."""
    ops = _Operations(gateway)
    return {
        "pairing.list": ops.pairing_list,
        "pairing.approve": ops.pairing_approve,
        "pairing.revoke": ops.pairing_revoke,
    }


class _Operations:
    def __init__(self, gateway: Running) -> None:
        self._gateway = gateway

    async def pairing_list(self, _: JSONObject) -> JSONObject:
        now = time.time()
        listed = self._gateway.core.pairings.listed()
        live = [p for p in listed if p.state == "approved" or (p.expires_at or 0) > now]
        return {"pairings": [asdict(p) for p in live]}

    async def pairing_approve(self, request: JSONObject) -> JSONObject:
        core = self._gateway.core
        try:
            pairing, job = core.pairings.approve(text(request, "code"), time.time())
        except LookupError as error:
            raise HermesError(str(error)) from error
        await commit(core, [job], (pairing.instance, pairing.sender))
        return {"pairing": asdict(pairing)}

    async def pairing_revoke(self, request: JSONObject) -> JSONObject:
        """An account that was admitted by others of its person is taken out of it, else they would let it in again.

        What it let in by codes falls with it, and so does a role that it was given.
        still: a sentence, where allow_from lets it in all the same.
        """
        core = self._gateway.core
        who = text(request, "instance"), text(request, "sender")
        jobs = [*core.linking.revoke(who)]
        try:
            jobs.append(core.pairings.revoke(*who))
        except LookupError as error:
            if not jobs:
                raise HermesError(" ".join(filter(None, [error.args[0], self._still(who)]))) from error
        await commit(core, jobs, who)
        return {"still": self._still(who)}

    def _still(self, who: tuple[str, str]) -> str | None:
        instance, sender = who
        key = f"platforms.{instance}.allow_from"
        match self._gateway.core.linking.rights.own(who):
            case "listed":
                return f"{key} admits {instance}:{sender} still: take {sender} out of that list."
            case "anyone":
                return f'{key} admits anyone still: take "*" out of that list.'
            case _:
                return None
