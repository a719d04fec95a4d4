"""Bad roads to the model and to Telegram: every message is answered, once but for what nobody can know."""

import asyncio
import random
import re
from collections import Counter
from typing import Any

import pytest

from tests.acceptance.house import HOOK_CHAT, House, eventually
from tests.chaos.conftest import Scene
from tests.peers.chaos import CLEAR, Weather

_MESSAGES = 300
_CHATS = 60
_EVERY = 0.05
_LONGEST = 1.5
_AGAIN = "↻ "
_TOKEN = re.compile(r"m-[0-9]+")
_ANSWER = re.compile(r"done (m-[0-9]+)\.")
_WEATHERS = [
    Weather(latency=0.15),
    Weather(rate=4_000.0),
    Weather(cut_after=300),
    Weather(cut_after=200, cut_asking=True),
    Weather(refuse=True),
    Weather(blackhole=True),
    Weather(half_open=True),
]


async def _send(house: House, dice: random.Random) -> list[str]:
    """Many messages, one after the other; every fifth by the webhook."""
    tokens = []
    for number in range(_MESSAGES):
        token = f"m-{number}"
        text = f"{token} [[text=done {token}.]]"
        if number % 5:
            house.telegram.push_text(text, chat=dice.randrange(1, _CHATS))
        else:
            assert (await house.hook({"text": text}, delivery=token)).status_code == 202
        tokens.append(token)
        await asyncio.sleep(_EVERY)
    return tokens


def _answers(house: House) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for chat in house.telegram.chats:
        for text in house.texts(chat):
            if match := _ANSWER.search(text):
                found.setdefault(match[1], []).append(text)
    return found


def _unknowns(house: House) -> Counter[str]:
    """How often the outcome of sending a message's answer was unknown, at most; growing answers among them."""
    found: Counter[str] = Counter()
    for text, again, attempts, kind, state in house.rows(
        "SELECT text, again, attempts, kind, state FROM outbox"
    ):
        if token := _TOKEN.search(text):
            found[token[0]] += max(1, attempts) if again else kind == "live" and state == "dropped"
    return found


def _faults(house: House, tokens: list[str]) -> list[str]:
    answers, unknowns, wrong = _answers(house), _unknowns(house), []
    for token in tokens:
        shown = answers.get(token, [])
        unmarked = [text for text in shown if not text.startswith(_AGAIN)]
        at_most = 1 + unknowns[token]
        if not shown or len(shown) > at_most or len(unmarked) > 1:
            wrong.append(f"{token}: {shown}, {unknowns[token]} unknown")
    return wrong


async def _at_rest(house: House) -> dict[str, Any]:
    async def rest() -> dict[str, Any] | None:
        status = await house.status()
        busy = status["sessions"]["busy"] or status["delivery"]["waiting"] or status["turns"]["running"]
        return None if busy else status

    found: dict[str, Any] = await eventually(rest, 120)
    return found


@pytest.mark.parametrize("live", [False, True], ids=["at once", "growing"])
async def test_D5_D8_no_road_is_so_bad_that_a_message_is_lost_or_answered_twice(
    scene: Scene, *, live: bool
) -> None:
    house = scene.house
    house.config["display"] = {"live": live}
    house.write()
    await house.start()
    house.telegram.push_text("before [[text=a quiet day]]", chat=1)
    await house.telegram.wait_text(1, "a quiet day")
    before = await _at_rest(house)
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    async with (
        scene.to_model.storm(random.Random(seed + 1), _WEATHERS, _LONGEST),
        scene.to_telegram.storm(random.Random(seed + 2), _WEATHERS, _LONGEST),
    ):
        tokens = await _send(house, dice)
    await house.telegram.wait_for(lambda: len(_answers(house)) == _MESSAGES, 240)
    after = await _at_rest(house)
    assert _faults(house, tokens) == []
    states = dict(house.rows("SELECT state, count(*) FROM inbox GROUP BY state"))
    assert set(states) <= {"answered", "merged", "steered"}
    assert sum(states.values()) == _MESSAGES + 1
    assert after["delivery"]["dead"] == 0
    assert (await house.platform("telegram", "connected"))["reason"] is None
    assert after["tasks"] <= before["tasks"] + 30, (before["tasks"], after["tasks"])
    house.telegram.push_text("after [[text=fair again]]", chat=1)
    await house.telegram.wait_text(1, "fair again")
    house.telegram.violations.clear()  # requests that were cut are none of the client's
    house.model.violations.clear()
    await house.stop()


async def test_D8_status_tells_which_road_is_bad_and_that_it_is_good_again(scene: Scene) -> None:
    house = scene.house
    await house.start()
    assert (await house.status())["platforms"]["telegram"]["state"] == "connected"
    scene.to_telegram.turn(Weather(refuse=True))
    told = await house.platform("telegram", "connecting")
    assert "Telegram" in told["reason"]
    assert (await house.status())["platforms"]["webhook"]["state"] == "connected"
    # What comes meanwhile is taken, thought about, and waits to be sent.
    assert (await house.hook({"text": "w [[text=waited for you]]"}, delivery="w")).status_code == 202

    async def waits() -> bool:
        return bool((await house.status())["delivery"]["waiting"])

    await eventually(waits)
    scene.to_telegram.turn(CLEAR)
    await house.platform("telegram", "connected", 40)
    await house.telegram.wait_text(HOOK_CHAT, "waited for you", 60)
    # A connection that is accepted and then aborted has an unknown outcome, so the answer may bear the mark.
    assert [text.removeprefix(_AGAIN) for text in house.texts(HOOK_CHAT)] == ["waited for you"]
    await house.stop()
