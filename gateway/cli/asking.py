"""Asking whoever holds the home: the running daemon, or, when none runs, a gateway in this process."""

from __future__ import annotations

import asyncio
from typing import Any

from gateway.cli.loop import run
from gateway.control_client import ControlRefused, ask
from hermes.home import Home, default_home

__all__ = ["ask_holder"]


class _Answer(dict[str, Any]):
    """What came back; a part that is not in it was not known to the other version of Hermes that runs."""

    def __missing__(self, name: str) -> Any:  # noqa: ANN401  never returns
        raise ControlRefused(
            f"The running daemon's answer has no {name!r}: it is of another version. Restart it: hermes gateway restart"
        )


def ask_holder(op: str, *, seconds: float = 10.0, sends: str | None = None, **fields: Any) -> dict[str, Any]:
    """The answer to `op`, within `seconds`. Raises `ControlRefused`, and what a gateway's start raises.

    sends: the platform that a gateway in this process would be needed for.
    """
    home = Home(default_home())
    answer = ask(home, op, seconds=seconds, **fields)
    return _Answer(run(_ask_here(home, op, seconds, fields, sends)) if answer is None else answer)


async def _ask_here(
    home: Home, op: str, seconds: float, fields: dict[str, Any], sends: str | None
) -> dict[str, Any]:
    from gateway.app import local

    async with local(home, sends=sends):
        answer = await asyncio.to_thread(ask, home, op, seconds=seconds, **fields)
    if answer is None:
        raise ControlRefused("The gateway in this process did not answer.")
    return answer
