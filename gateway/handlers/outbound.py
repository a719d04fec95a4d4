"""Sending what answers nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from gateway.control import Handler
from gateway.handlers.request import text
from gateway.handlers.running import Running
from gateway.router import parse_target
from hermes.errors import HermesError
from hermes.messages import JSONObject

__all__ = ["operations"]

_LONGEST = 600.0


def operations(gateway: Running) -> Mapping[str, Handler]:
    """The operations by name."""

    async def send(request: JSONObject) -> JSONObject:
        to, said, key = (text(request, name) for name in ("to", "text", "key"))
        wait = request.get("wait", 0)
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= _LONGEST:
            raise HermesError(f"The request's 'wait' is a number of seconds from 0 to {_LONGEST:g}.")
        if gateway.may_yield and not gateway.core.delivery.serves(parse_target(to).instance):
            raise HermesError(
                "A chat has this home open, and sends nothing elsewhere: leave it, or start the daemon."
            )
        return {"sent": asdict(await gateway.core.outbound.send(to, said, key=key, seconds=wait))}

    return {"send": send}
