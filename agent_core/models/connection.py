"""Where a provider answers, and the one pool of connections to it that all its models share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent_core.models.limits import Limits
from hermes.config import Network

if TYPE_CHECKING:
    from agent_core.models.transport import Transport

__all__ = ["Connection", "Endpoint"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider answers. `headers` hold the key, and so are kept out of `repr`."""

    provider: str
    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    limits: Limits = field(default_factory=Limits)
    network: Network = field(default_factory=Network)

    def connect(self) -> Transport:
        """A pool of connections. Slow the first time (library, certificates): call it off the loop."""
        # The library costs 0.3 s: it is imported when needed.
        from agent_core.models.transport import Transport  # noqa: PLC0415

        return Transport(self.base_url, self.headers, self.limits, self.network)


class Connection:
    """An endpoint's transport, opened when first asked for and again after `aclose`."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.opened: Transport | None = None
        self._opening = asyncio.Lock()

    async def transport(self) -> Transport:
        """The transport; the first call imports the library and reads certificates, in a thread."""
        async with self._opening:
            if self.opened is None:
                self.opened = await asyncio.to_thread(self.endpoint.connect)
            return self.opened

    async def aclose(self) -> None:
        """Close every connection. Calls under way fail."""
        opened, self.opened = self.opened, None
        if opened is not None:
            await opened.aclose()
