"""One message and its answer, with Ctrl-C: the first stops the turn, the second does not wait for it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from gateway.cli.chat.link import Link
from gateway.cli.chat.view import Plain
from hermes.errors import HermesError

__all__ = ["Interrupted", "exchange"]


class Interrupted(Exception):
    """The user does not want to wait."""


async def exchange(link: Link, view: Plain, text: str) -> str:
    """Send `text` and show the answer; the turn's state, "refused" or "interrupted". Raises `Interrupted`."""
    turn = asyncio.create_task(_follow(link, view, text), name="exchange")
    stops: list[asyncio.Task[dict[str, Any]]] = []
    interrupts = 0

    def interrupt() -> None:
        nonlocal interrupts
        interrupts += 1
        if interrupts == 1:
            stops.append(asyncio.create_task(_stop(link), name="stop"))
        else:
            link.hurry()
            turn.cancel()

    try:
        with _on_interrupt(interrupt):
            state = await turn
            if state == "stopped":
                for stop in stops:  # what the command answers is what there is to say
                    view.show(await stop)
    except asyncio.CancelledError:
        if interrupts > 1:
            raise Interrupted from None
        raise
    finally:
        for stop in stops:
            stop.cancel()
        await asyncio.gather(turn, *stops, return_exceptions=True)
    return "interrupted" if interrupts else state


async def _follow(link: Link, view: Plain, text: str) -> str:
    state = "failed"
    async for update in link.ask(text):
        view.show(update)
        if update["type"] in {"end", "refused"}:
            state = update.get("state", "refused")
    return state


async def _stop(link: Link) -> dict[str, Any]:
    """The answer to the command."""
    last: dict[str, Any] = {"type": "again"}
    with suppress(HermesError):  # whoever runs the turn has gone; its own line says so
        async for update in link.ask("/stop"):
            last = update
    return {**last, "state": "stopped"}


@contextmanager
def _on_interrupt(call: Callable[[], None]) -> Iterator[None]:
    """Take SIGINT for a while, and give it back to whoever had it."""
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)
    loop.add_signal_handler(signal.SIGINT, call)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)
