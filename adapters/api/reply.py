"""From a turn's updates to an HTTP response, whole or streamed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

from aiohttp import web

from adapters.api import wire
from adapters.api.stream import Diverged, GrowingText
from hermes import failpoint
from hermes.agent import TurnEnded, TurnUpdate
from hermes.errors import StoreError

__all__ = ["Reply", "reply"]

Updates = AsyncIterator[TurnUpdate]

_BEAT = 15.0  # seconds of silence after which a comment keeps proxies and clients waiting
_STALL = 60.0  # seconds that a client may leave a piece unread
_FAILED = ("failed", "dead")
_UNREADABLE = "The answer cannot be read at the moment; ask again later."
_STOPPED = "A later request of this session stopped this one (platforms.api.busy: interrupt)."
_DIVERGED = "The model began its answer anew, differently; ask again."


@dataclass(frozen=True, slots=True)
class Reply:
    """What went to the client. `finished`: the turn is over, so there is nothing left to cancel."""

    http: web.StreamResponse
    finished: bool


async def reply(request: web.Request, updates: Updates, answer: wire.Answer, *, stream: bool) -> Reply:
    """Answer `request` with the turn.

    Raises `CancelledError` and `ConnectionError` when the client is gone.
    """
    # Promised as an iterator; those that are generators are closed at once rather than by the garbage
    # collector.
    if not hasattr(updates, "aclose"):
        return await (_streamed(request, updates, answer) if stream else _whole(updates, answer))
    async with aclosing(cast("AsyncGenerator[TurnUpdate, None]", updates)):
        return await (_streamed(request, updates, answer) if stream else _whole(updates, answer))


async def _whole(updates: Updates, answer: wire.Answer) -> Reply:
    failpoint.reached("intake.acknowledged")  # the answer is the acknowledgement: there is none before it
    try:
        ended = await _end(updates)
    except StoreError:
        return Reply(wire.error(503, _UNREADABLE, "store_unavailable", Retry_After="5"), finished=False)
    if ended is None:
        return Reply(wire.error(503, _UNREADABLE, "interrupted", Retry_After="5"), finished=False)
    if ended.state in _FAILED:
        # The sentence is final; clients of OpenAI's kind would otherwise ask again by themselves.
        return Reply(wire.error(502, ended.text, "turn_failed", x_should_retry="false"), finished=True)
    if _is_cut(ended):
        return Reply(wire.error(409, _STOPPED, "stopped", x_should_retry="false"), finished=True)
    return Reply(answer.whole(ended.text, ended.usage), finished=True)


def _is_cut(ended: TurnEnded) -> bool:
    """Whether there is no answer since the turn was stopped; an empty one would look like the model's."""
    return ended.state == "stopped" and not ended.text.strip()


async def _end(updates: Updates) -> TurnEnded | None:
    async for update in updates:
        if isinstance(update, TurnEnded):
            return update
    return None


async def _streamed(request: web.Request, updates: Updates, answer: wire.Answer) -> Reply:
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    )
    await response.prepare(request)
    await _write(response, answer.chunk({"role": "assistant", "content": ""}))
    failpoint.reached("intake.acknowledged")
    try:
        ended = await _pass_on(response, updates, answer)
    except StoreError:
        ended = None
    except Diverged:
        await _write(response, wire.error_event(_DIVERGED, "diverged"))
        return Reply(response, finished=False)
    if ended is None:
        await _write(response, wire.error_event(_UNREADABLE, "interrupted"))
    elif ended.state in _FAILED:
        await _write(response, wire.error_event(ended.text, "turn_failed"))
    elif _is_cut(ended):
        await _write(response, wire.error_event(_STOPPED, "stopped"))
    else:
        tail = answer.usage_chunk(ended.usage) if answer.include_usage else b""
        await _write(response, answer.chunk({}, "stop") + tail + wire.DONE)
    return Reply(response, finished=ended is not None)


async def _pass_on(response: web.StreamResponse, updates: Updates, answer: wire.Answer) -> TurnEnded | None:
    text = GrowingText()
    coming = asyncio.ensure_future(_next(updates))
    try:
        while True:
            done, _ = await asyncio.wait((coming,), timeout=_BEAT)
            if not done:
                await _write(response, b": still at work\n\n")
                continue
            update = coming.result()
            if update is None:
                return None
            failed = isinstance(update, TurnEnded) and update.state in _FAILED
            piece = "" if failed else text.feed(update)
            if piece:
                await _write(response, answer.chunk({"content": piece}))
            if isinstance(update, TurnEnded):
                return update
            coming = asyncio.ensure_future(_next(updates))
    finally:
        coming.cancel()
        await asyncio.wait((coming,))


async def _next(updates: Updates) -> TurnUpdate | None:
    return await anext(updates, None)


async def _write(response: web.StreamResponse, data: bytes) -> None:
    try:
        async with asyncio.timeout(_STALL):
            await response.write(data)
    except TimeoutError as e:
        raise ConnectionResetError("the client reads nothing") from e
