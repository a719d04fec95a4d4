"""Kills at random instants while messages flow: sixty, and a hundred with `scripts/test --all`."""

import asyncio
import os
import random
import time
from itertools import count

import pytest

from tests.crash.daemon import DaemonEnded
from tests.crash.house import House, MakeHouse, asks, asks_slowly, asks_tools, token_of

KILLS = int(os.environ.get("CRASH_KILLS", "50" if "TEST_ALL" in os.environ else "30"))
_MESSAGES_A_SECOND = 8.0
_CHATS = 12
_MOST_OPEN = 60  # a machine that is busy with other things must get through what was sent


@pytest.mark.timeout(900)
async def test_random_kills_under_load(make_house: MakeHouse) -> None:
    seed = int(os.environ.get("CRASH_SEED") or random.SystemRandom().randrange(2**32))
    print(f"CRASH_SEED={seed}")
    async with asyncio.TaskGroup() as both:
        for number, mode in enumerate(("resend", "drop")):
            house = await make_house(delivery={"on_unknown": mode}, resume_max_starts=1000)
            both.create_task(_killed(house, mode, random.Random(seed + number)))


async def _killed(house: House, mode: str, chance: random.Random) -> None:
    began = time.monotonic()
    flow = asyncio.create_task(_flow(house, random.Random(chance.random())))
    for _ in range(KILLS):
        await _one_life(house, chance)
    flow.cancel()
    await asyncio.gather(flow, return_exceptions=True)

    await (await house.start()).until_ready()
    await house.senders_done(120.0)
    await house.answered([t for t in house.sent if not (mode == "drop" and house.excused[t])], 60.0)
    assert await house.stop() == 0
    figures = house.check(mode)
    print(f"{mode}: {figures}, {house.kills} kills, {time.monotonic() - began:.0f} s")
    assert figures["lost" if mode == "resend" else "doubled"] == 0
    assert figures["lost"] + figures["doubled"] <= figures["excused"]
    assert figures["messages"] > KILLS
    _check_order(house)


async def _one_life(house: House, chance: random.Random) -> None:
    """A life with a random end: mostly soon after it is ready, sometimes while it starts."""
    daemon = await house.start()
    if chance.random() < 0.8:
        await daemon.until_ready()
        longest = 0.8 if chance.random() < 0.85 else 3.0  # an answer begins to grow after 1.4 s
        await asyncio.sleep(chance.uniform(0.1, longest))  # the instant of the kill is what is tried here
    else:
        await asyncio.sleep(chance.uniform(0.2, 1.5))
    if daemon.has_ended:
        raise DaemonEnded(daemon.stderr)
    await house.kill()


async def _flow(house: House, chance: random.Random) -> None:
    """Messages of all kinds, some with tools, some with a slow model; never a pause for a dead daemon."""
    for number in count(1):
        while _open(house) > _MOST_OPEN:
            await asyncio.sleep(0.1)
        kind = chance.choice(("tg", "hook", "api"))
        token = f"m-{kind}-{number}"
        ways = [asks(token), asks_tools(token), asks(token, "[[delay=300]]")]
        text = chance.choice(ways if kind == "api" else [*ways, asks_slowly(token)])
        if kind == "tg":
            house.send_telegram(token, text, chat=100 + chance.randrange(_CHATS))
        elif kind == "hook":
            house.send_webhook(token, text)
        else:
            house.send_api(token, text)
        await asyncio.sleep(chance.expovariate(_MESSAGES_A_SECOND))


def _open(house: House) -> int:
    """How many messages wait for their answer; what a kill has lost counts too, and that is little."""
    answers = house.answers()
    return sum(s.answer is None and t not in answers for t, s in house.sent.items())


def _check_order(house: House) -> None:
    """Answers of a chat come in the order of its messages.

    What began to grow with the name of a tool alone bears no token, and may stand there from a life that ended just then.
    """
    strays: list[str] = []
    for chat in range(100, 100 + _CHATS):
        if chat not in house.telegram.chats:
            continue
        asked = [t for t, s in house.sent.items() if s.kind == "telegram" and s.chat == chat]
        texts = house.telegram.chats[chat].texts()
        strays += [text for text in texts if not token_of(text)]
        first = list(dict.fromkeys(token for text in texts if (token := token_of(text))))
        assert first == [t for t in asked if t in first], f"chat {chat}: {first}"
    assert len(strays) <= house.left_over[""] + house.excused[""], strays
