"""What the operations may know of the gateway that runs."""

from __future__ import annotations

import asyncio
from typing import Protocol

from gateway.core import Core
from gateway.report import Report
from gateway.stopping import Stop

__all__ = ["Running"]


class Running(Protocol):
    """A gateway that runs. yielded: set once it lets go of the home."""

    core: Core
    report: Report
    stopped: Stop
    yielded: asyncio.Event

    @property
    def may_yield(self) -> bool:
        """Whether a starting daemon may have the home."""
        ...

    async def reload(self) -> None:
        """Read the settings again and re-open the logs."""
        ...
