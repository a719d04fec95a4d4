"""A message that kills the process whenever it is handled stops nobody else, and is put aside in the end."""

import asyncio
import signal

from gateway.sentences import say
from tests.crash.house import House, MakeHouse, asks, problem_of

STARTS = 3
POISON_CHAT = 13
# Idempotent, so that each start runs it again.
BOOM_TOOL = """
import os

from hermes.tools import Tool


def boom(arguments, context):
    os.abort()


TOOLS = (
    Tool(name="boom", description="Abort.", parameters={"type": "object", "properties": {}}, handler=boom, idempotent=True),
)
"""


async def _lives(house: House, most: int) -> int:
    """Start it again whenever it dies, as a service manager does, until it told about the poison; the deaths."""
    for deaths in range(most):
        daemon = await house.start()
        told = asyncio.create_task(_told(house))
        ended = asyncio.create_task(daemon.process.wait())
        await asyncio.wait((told, ended), return_when=asyncio.FIRST_COMPLETED)
        is_told = told.done()
        for task in (told, ended):
            task.cancel()
        await asyncio.gather(told, ended, return_exceptions=True)
        if is_told:
            return deaths
        assert await house.ended() == -signal.SIGABRT, house.tail()
        house.note_kill()
    raise AssertionError(f"it died {most} times: {house.tail()}")


async def _told(house: House) -> None:
    await house.telegram.wait_for(lambda: bool(_sentences(house)), 60.0)


def _sentences(house: House) -> list[str]:
    chats = house.telegram.chats
    return chats[POISON_CHAT].texts() if POISON_CHAT in chats else []


async def _check_end(house: House) -> None:
    """The poison is dead and told once; who sent it, and all others, are answered."""
    house.send_telegram("m-tg-99", asks("m-tg-99"), chat=POISON_CHAT)
    house.send_webhook("m-hook-99", asks("m-hook-99"))
    house.send_api("m-api-99", asks("m-api-99"))
    await house.senders_done()
    await house.answered([t for t in house.sent if t != "m-bad-1"])
    assert await house.stop() == 0
    assert _sentences(house) == [say("en", "dead", starts=STARTS), "done m-tg-99."]
    for token, sent in house.sent.items():
        if sent.kind != "api" and token != "m-bad-1":
            assert problem_of(house.shown(token), house.excused[token]) is None, house.shown(token)
    states = dict(house.query("SELECT state, count(*) FROM inbox GROUP BY state"))
    assert states == {"answered": len(house.sent) - 1, "dead": 1}
    assert house.query("SELECT count(*) FROM turns WHERE state = 'dead'") == [(1,)]


async def test_a_tool_that_aborts_the_process_on_every_start(make_house: MakeHouse) -> None:
    house = await make_house(resume_max_starts=STARTS)
    house.add_tool("boom", BOOM_TOOL)
    house.send_telegram("m-tg-1", asks("m-tg-1"), chat=5)
    house.send_telegram("m-bad-1", "m-bad-1 [[tool=boom {}]][[text=done m-bad-1.]]", chat=POISON_CHAT)
    house.send_webhook("m-hook-1", asks("m-hook-1"))
    house.send_api("m-api-1", asks("m-api-1"))
    # The answer with the call is a step; after it each start is counted.
    assert await _lives(house, 8) == 1 + STARTS
    await _check_end(house)
    assert house.requests("m-bad-1") == 1


async def test_who_is_slow_beside_it_is_not_blamed(make_house: MakeHouse) -> None:
    house = await make_house(resume_max_starts=STARTS)
    house.add_tool("boom", BOOM_TOOL)
    for n in (1, 2, 3):
        house.send_telegram(f"m-tg-{n}", asks(f"m-tg-{n}", "[[delay=1500]]"), chat=20 + n)
    house.send_telegram("m-bad-1", "m-bad-1 [[tool=boom {}]][[text=done m-bad-1.]]", chat=POISON_CHAT)
    await _lives(house, 12)
    await _check_end(house)


async def test_one_that_kills_before_any_step(make_house: MakeHouse) -> None:
    house = await make_house(resume_max_starts=STARTS)
    house.send_telegram("m-bad-1", asks("m-bad-1"), chat=POISON_CHAT)
    for _ in range(STARTS):
        await house.start(failpoint="turn.begun")
        assert await house.ended() == -signal.SIGKILL
    house.send_telegram("m-tg-1", asks("m-tg-1"), chat=5)
    assert await _lives(house, 1) == 0
    await _check_end(house)
    assert house.requests("m-bad-1") == 0
