"""Messages that come in while backups are made, and what must then hold of the newest copy."""

import asyncio
import json
import sqlite3
import tarfile
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from gateway.control_client import ask
from hermes.home import Home
from tests.acceptance.house import House, answer_of
from tests.clirig import Installation

_LOOK_EVERY = 0.2
_SENDERS = 8


@dataclass(frozen=True)
class Seen:
    """newest: the last backup that was made while messages came in; backups: how many of them.

    lags: what the daemon itself measured meanwhile, in seconds.
    """

    newest: Path
    backups: int
    lags: Sequence[float]


async def back_up_under_load(house: House, messages: int, folder: Path) -> Seen:
    """Send so many messages at least, each of which must be answered, and make backups as long as they come."""
    folder.mkdir()
    copied = asyncio.Event()
    senders = [
        asyncio.create_task(_send(house, f"s{n}", messages // _SENDERS, copied), name=f"sender-{n}")
        for n in range(_SENDERS)
    ]
    lags: list[float] = []
    watching = asyncio.create_task(_watch(house, lags), name="lags")
    made: list[Path] = []
    try:
        await house.model.wait_for(lambda: len(house.model.requests) >= messages // 10, 120)
        while not all(sender.done() for sender in senders):
            done = await house.hermes("backup", "--json", "-o", str(folder / f"{len(made)}.tar.gz"))
            assert done.code == 0, done.err
            if not all(sender.done() for sender in senders):
                made.append(Path(json.loads(done.out)["path"]))
                copied.set()
        await asyncio.gather(*senders)
    finally:
        watching.cancel()
        for sender in senders:
            sender.cancel()
        with suppress(asyncio.CancelledError):
            await watching
    assert made, "no backup ended while messages came in"
    return Seen(made[-1], len(made), lags)


async def _send(house: House, session: str, least: int, copied: asyncio.Event) -> None:
    """Until a copy was made, however fast the daemon is."""
    for number in count():
        if number >= least and copied.is_set():
            return
        text = f"message {number} of {session}"
        assert answer_of(await house.ask(text, session=session)) == f"echo: {text}"


async def _watch(house: House, lags: list[float]) -> None:
    while True:
        status = await asyncio.to_thread(ask, Home(house.home), "status")
        assert status is not None
        lags.append(status["loop_lag"]["last"])
        await asyncio.sleep(_LOOK_EVERY)


def check_copy(archive: Path, folder: Path) -> tuple[int, int]:
    """Look at what a backup holds, as it is in the file: how many messages were answered in it, and how many open.

    Each message that was taken is one or the other, with nothing in between.
    """
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    with closing(sqlite3.connect(folder / "state.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        taken = connection.execute(
            "SELECT i.state, t.state, i.answer IS NOT NULL, sum(m.role = 'user'), sum(m.role = 'assistant')"
            " FROM inbox i LEFT JOIN turns t ON t.id = i.turn_id LEFT JOIN messages m ON m.turn_id = i.turn_id"
            " GROUP BY i.id"
        ).fetchall()
    answered = [row for row in taken if row[0] == "answered"]
    opened = [row for row in taken if row[0] in ("waiting", "running")]
    assert len(answered) + len(opened) == len(taken), taken
    assert {row[1:] for row in answered} <= {("answered", 1, 1, 1)}, answered
    assert all(row[1] in (None, "open") and not row[4] for row in opened), opened
    return len(answered), len(opened)


def _lines(home: Path) -> set[int]:
    files = home.glob("agents/*/sessions/*.jsonl")
    return {json.loads(line)["id"] for file in files for line in file.read_text("utf-8").splitlines()}


async def check_restored(house: House, archive: Path, folder: Path) -> None:
    """Go on from it in a new home: rows and transcripts are the same there, and nothing is open."""
    done = await house.hermes("restore", str(archive), "--into", str(folder), "--json")
    assert done.code == 0, done.err
    with closing(sqlite3.connect(folder / "state.db")) as connection:
        rows = {name for (name,) in connection.execute("SELECT id FROM messages")}
        waiting = "SELECT count(*) FROM inbox WHERE state IN ('waiting', 'running')"
        assert connection.execute(waiting).fetchone() == (0,)
    assert _lines(folder) == rows
    looked = await Installation(folder).run("doctor", "--json")
    assert looked.code == 0, looked.out
