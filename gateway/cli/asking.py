"""Asking whoever holds the home: the running daemon, or, when none runs, a gateway in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from gateway.cli.loop import run
from gateway.control_client import ControlRefused, ask
from hermes.home import Home, default_home

__all__ = ["Ask", "ask_holder", "talk_to_holder"]

T = TypeVar("T")


class Ask(Protocol):
    """Asks the holder one thing."""

    def __call__(self, op: str, *, seconds: float = 10.0, **fields: Any) -> dict[str, Any]:
        """The answer to `op`, within `seconds`. Raises `ControlRefused`."""
        ...


class _Answer(dict[str, Any]):
    """What came back; a part that is not in it was not known to the other version of Hermes that runs."""

    def __missing__(self, name: str) -> Any:  # noqa: ANN401  never returns
        raise ControlRefused(
            f"The running daemon's answer has no {name!r}: it is of another version. Restart it: hermes gateway restart"
        )


class _Nobody(Exception):
    """Nobody holds the home."""


def ask_holder(op: str, *, seconds: float = 10.0, sends: str | None = None, **fields: Any) -> dict[str, Any]:
    """The answer to `op`, within `seconds`. Raises `ControlRefused`, and what a gateway's start raises.

    sends: the platform that a gateway in this process would be needed for.
    """
    return talk_to_holder(lambda asked: asked(op, seconds=seconds, **fields), sends=sends)


def talk_to_holder(talk: Callable[[Ask], T], *, sends: str | None = None) -> T:
    """What `talk` comes to, which may ask several things of one holder. As `ask_holder`.

    It is begun anew where the holder goes away meanwhile. No home is made for it: raises `HomeError` where there is none.
    """
    home = Home(default_home())

    def asked(op: str, *, seconds: float = 10.0, **fields: Any) -> dict[str, Any]:
        answer = ask(home, op, seconds=seconds, **fields)
        if answer is None:
            raise _Nobody
        return _Answer(answer)

    try:
        return talk(asked)
    except _Nobody:
        from gateway.home import check_made

        check_made(home)
        return run(_talk_here(home, talk, asked, sends))


async def _talk_here(home: Home, talk: Callable[[Ask], T], asked: Ask, sends: str | None) -> T:
    from gateway.app import local

    try:
        async with local(home, sends=sends):
            return await asyncio.to_thread(talk, asked)
    except _Nobody:
        raise ControlRefused("The gateway in this process did not answer.") from None
