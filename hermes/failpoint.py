"""Named places where a test may kill the process. In production every call is one comparison with `None`.

The crash tests start the daemon with `HERMES_FAILPOINT=<name>[:<n>]`; the n-th time (default: first) that the
place is reached, the
process gets SIGKILL. `POINTS` lists the names along a message's way, in its order.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping

__all__ = ["LIVE_POINTS", "MEDIA_POINTS", "POINTS", "RESTORE_POINTS", "arm", "reached"]

POINTS: tuple[str, ...] = (
    "intake.parsed",  # an adapter has parsed the update, nothing is stored
    "ledger.accepting",  # inside the accepting transaction, before the commit
    "ledger.accepted",  # committed, the platform is not told yet
    "intake.acknowledged",  # the platform was told (2xx written, or the next poll begins)
    "session.queued",  # in the session's mailbox
    "turn.beginning",  # inside the transaction that begins the turn
    "turn.begun",  # committed, the model was not called
    "model.called",  # the first byte of an answer came
    "model.answered",  # a whole model answer is there, the step is not stored
    "step.stored",  # a step was committed
    "tool.started",  # a tool call is recorded as begun and about to run
    "tool.finished",  # the tool ran, its result is not stored
    "turn.finished",  # the answer is there, nothing of it is committed
    "turn.closing",  # inside the closing transaction, before the commit
    "turn.closed",  # rows, outbox and inbox are committed
    "outbox.claimed",  # a row was set to `sending` and committed
    "outbox.sent",  # the platform took it, the receipt is not stored
    "outbox.receipted",  # the receipt is committed
)

LIVE_POINTS: tuple[str, ...] = (
    "live.claimed",  # the first live message was set to `sending` and committed
    "live.sent",  # the platform took it, the receipt is not stored
    "live.receipted",  # the receipt is committed
    "live.edited",  # the platform took an intermediate edit
)

MEDIA_POINTS: tuple[str, ...] = (
    "media.fetched",  # all bytes of a file are here, it is not in its folder
    "media.stored",  # it lies in its folder, nothing names it
    "media.noted",  # its message names it, committed
)

RESTORE_POINTS: tuple[str, ...] = (
    "restore.staged",  # all of it lies beside the home, nothing is decided
    "restore.decided",  # decided on disk, nothing was moved
    "restore.moved_aside",  # one of the home's own files was moved away
    "restore.moved_in",  # one of the new files stands in its place
)

_hook: Callable[[str], None] | None = None


def reached(name: str) -> None:
    """Say that the place `name` was reached."""
    if _hook is not None:
        _hook(name)


def arm(environ: Mapping[str, str] = os.environ) -> None:
    """Read `HERMES_FAILPOINT` once, at start; without it nothing happens.

    Raises `ValueError` for an unknown name.
    """
    global _hook  # noqa: PLW0603  the one switch of this module, set once at start
    spec = environ.get("HERMES_FAILPOINT")
    if not spec:
        return
    name, _, nth = spec.partition(":")
    known = POINTS + LIVE_POINTS + MEDIA_POINTS + RESTORE_POINTS
    if name not in known:
        raise ValueError(f"unknown failpoint {name!r}; known: {', '.join(known)}")
    left = int(nth or 1)

    def kill(at: str) -> None:
        nonlocal left
        if at == name:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    _hook = kill
