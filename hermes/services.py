"""What tools are handed. A service that an installation does not have is `None`, and the tool says so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from hermes.events import Target
from hermes.files import StoredFile

__all__ = [
    "Approvals",
    "Delivered",
    "Deliveries",
    "Errand",
    "FileKeeper",
    "SearchHit",
    "Services",
    "SessionSearch",
]


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


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of a message. target: where it went, in full. `queued`: it goes out as soon as the platform takes it.

    error: the last trouble there was, in the platform's words.
    """

    target: str
    state: Literal["sent", "queued", "dead", "dropped"]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Errand:
    """A message that a turn sends elsewhere. target: as `hermes send --to` takes it, or `origin`. text: Markdown.

    turn_id, call_id: by which it is known again, so that a turn that is taken up once more sends it once. origin: where
    the turn's answer goes; `None`: it has no such place. session_key: on whose behalf, for the log.
    """

    target: str
    text: str
    turn_id: str
    call_id: str
    origin: Target | None
    session_key: str


class Deliveries(Protocol):
    """Sending a message to a target outside the reply."""

    async def deliver(self, errand: Errand) -> Delivered:
        """Put it into the outbox, durably, and see for some seconds what becomes of it.

        Raises `HermesError` for a target that is none or is not allowed, and for a message that cannot be sent; what the
        sentence says may hold names that people outside have chosen.
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
