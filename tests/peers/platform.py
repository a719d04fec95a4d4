"""What the peers of chat platforms share: their life, their journal, and how planned faults are shown."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

from aiohttp import web

from tests.peers.faults import Fault, FaultPlan
from tests.peers.journal import Changes, Entry, Journal
from tests.peers.serving import LoopbackServer, cut


class Recorded(Entry, Protocol):
    """A call in the journal. `outcome` is ok, refused, violation, client-gone, or `fault:KIND`."""

    method: str
    params: dict[str, Any]
    status: int
    outcome: str


C = TypeVar("C", bound=Recorded)


class PlatformPeer(Generic[C]):
    """A platform on loopback; `violations` are calls that no correct client makes."""

    def __init__(self, app: web.Application, port: int, journal: Path | None) -> None:
        self.faults = FaultPlan()
        self.violations: list[str] = []
        self.journal: Journal[C] = Journal(journal)
        self.changes = Changes()
        self.server = LoopbackServer(app, port)
        self._away: asyncio.Task[None] | None = None

    # -- life --------------------------------------------------------------------------------------

    @property
    def base(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return self.server.base

    async def start(self) -> Self:
        """Begin to serve."""
        self.journal.start()
        await self.server.start()
        return self

    async def stop(self) -> None:
        """Let go of what is held open, close everything, complete the journal file."""
        if self._away is not None:
            self._away.cancel()
            await asyncio.gather(self._away, return_exceptions=True)
            self._away = None
        await self.let_go()
        await self.server.stop()
        await self.journal.aclose()

    async def let_go(self) -> None:
        """End what waits: polls, sockets."""

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def wait_until_back(self) -> None:
        """Wait until the server listens again after a `refuse` fault."""
        if self._away is not None:
            await self._away

    # -- what tests look at ------------------------------------------------------------------------

    def calls(self, method: str | None = None, **match: Any) -> list[C]:
        """Calls of the journal in order of arrival, by method and by parameters."""
        return [
            call
            for call in self.journal
            if method in (None, call.method) and all(call.params.get(k) == v for k, v in match.items())
        ]

    async def wait_for(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        """Wait until `condition` holds; looked at when calls come or end, and at what people do."""
        await self.changes.wait_for(condition, timeout)

    async def wait_among(self, texts: Callable[[], Sequence[str]], contains: str, timeout: float) -> str:
        """Wait until one of the texts contains these words; that text."""

        def found() -> list[str]:
            return [text for text in texts() if contains in text]

        await self.wait_for(lambda: bool(found()), timeout)
        return found()[0]

    # -- requests ----------------------------------------------------------------------------------

    async def before(self, request: web.Request, call: C, fault: Fault) -> web.StreamResponse | None:
        """Show a fault that keeps the work from being done; None lets it go on."""
        if fault.kind in ("lost", "malformed"):
            return None
        if fault.kind == "delay":
            await asyncio.sleep(fault.seconds)
            return None
        self.finish(call, fault.status if fault.kind == "status" else 0, f"fault:{fault.kind}")
        if fault.kind == "status":
            return self.planned(fault)
        if fault.kind == "hang":
            await self.server.hang()
        if fault.kind == "refuse":
            self._away = asyncio.create_task(self.server.refuse(fault.seconds), name="peer-refuses")
        return cut(request)

    def planned(self, fault: Fault) -> web.Response:
        """The platform's own answer with a planned status."""
        raise NotImplementedError

    def finish(self, call: C, status: int, outcome: str) -> None:
        """A call is answered."""
        call.status, call.outcome = status, outcome
        self.journal.write(call)
        self.changes.notify()


async def half(request: web.Request, data: bytes) -> web.StreamResponse:
    """An answer of these bytes that breaks in the middle."""
    answer = web.StreamResponse(headers={"Content-Length": str(len(data))})
    await answer.prepare(request)
    await answer.write(data[: len(data) // 2])
    return cut(request)
