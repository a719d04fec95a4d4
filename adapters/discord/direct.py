"""Direct channels of people whom a target names (`discord:@500`).

Source: https://discord.com/developers/docs/resources/user#create-dm . Asking twice gives the same channel.
"""

from __future__ import annotations

from collections import OrderedDict

from adapters.discord.client import Rest
from hermes.errors import NotTaken, OutcomeUnknown

__all__ = ["DirectChannels"]

_KEPT = 1024


class DirectChannels:
    """The direct channels of one bot; they are only remembered to save calls."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._known: OrderedDict[str, str] = OrderedDict()

    async def of(self, person: str) -> str:
        """The channel with a person. Raises `AdapterError`."""
        known = self._known.get(person)
        if known is None:
            known = self._known[person] = await self._open(person)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return known

    async def _open(self, person: str) -> str:
        try:
            made = await self._rest.call(
                "POST", "/users/@me/channels", {"recipient_id": person}, name="POST direct channel"
            )
        except OutcomeUnknown as e:
            raise NotTaken(str(e)) from e  # nothing was said yet
        if not isinstance(made, dict) or not str(made.get("id", "")).isdigit():
            raise NotTaken("Discord's answer about a direct channel has no id.")
        return str(made["id"])
