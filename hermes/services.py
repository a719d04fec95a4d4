"""What tools are handed. A service that an installation does not have is `None`, and the tool says so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hermes.files import StoredFile

__all__ = ["Approvals", "Deliveries", "FileKeeper", "SearchHit", "Services", "SessionSearch"]


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One message found. `snippet`: text around the match. `at`: seconds since the epoch."""

    session_id: str
    title: str
    role: str
    at: float
    snippet: str


class SessionSearch(Protocol):
    """Full text over past sessions."""

    async def search(self, query: str, *, session_key: str, limit: int = 10) -> Sequence[SearchHit]:
        """The best hits that the session `session_key` may see, best first.

        Any text is a legal query; never raises for its syntax.

        Raises `StoreCorrupt` or `StoreUnavailable` with a sentence.
        """
        ...


class Deliveries(Protocol):
    """Sending a message to a target outside the reply."""

    async def deliver(self, target: str, text: str, *, key: str) -> str:
        """Queue `text` for "platform:chat[:thread]" durably; the same `key` queues once.

        Returns the delivery's id. Raises `ToolError`.
        """
        ...


class Approvals(Protocol):
    """Asking a person."""

    async def approve(self, question: str, *, session_key: str, seconds: float) -> bool:
        """True only for an explicit yes of the right person in time.

        False at once where nobody can be asked.
        """
        ...


class FileKeeper(Protocol):
    """The home's own copies of files that go out."""

    async def keep(self, chunks: AsyncIterator[bytes], name: str, *, limit: int) -> StoredFile:
        """A copy of everything that `chunks` gives, at most `limit` bytes; on disk when this returns.

        Raises `ToolError` with a sentence for a file that is too large or empty, and where there is no room.
        """
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """What this installation has. `spills`: directory for whole results that were too long."""

    spills: Path
    search: SessionSearch | None = None
    deliveries: Deliveries | None = None
    approvals: Approvals | None = None
    files: FileKeeper | None = None
