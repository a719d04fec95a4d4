"""One core and 512 MB: Telegram and a webhook, many turns."""

import asyncio
from collections.abc import Callable

import pytest

from tests.acceptance.house import HOOK_CHAT, House
from tests.image.container import Container, lacking

Contain = Callable[..., Container]
pytestmark = [
    pytest.mark.skipif((why := lacking()) is not None, reason=str(why)),
    pytest.mark.timeout(900),
]
CHATS, ROUNDS, HOOKS = 90, 5, 50
LEAST_LEFT = 512 - 200
"""MB that the machine's own programs keep."""


async def test_500_turns_on_one_core_and_512_mb(contain: Contain, house: House) -> None:
    container = contain("--memory-swap=512m", "--cpuset-cpus=0")
    await container.start(house)
    at_rest, _ = container.resident()
    for number in range(ROUNDS):
        for chat in range(1, CHATS + 1):
            house.telegram.push_text(f"turn {number}", chat=chat)
        hooks = range(number * HOOKS // ROUNDS, (number + 1) * HOOKS // ROUNDS)
        answers = await asyncio.gather(*(house.hook({"text": f"hook {n}"}, delivery=f"d{n}") for n in hooks))
        assert {a.status_code for a in answers} == {202}
        await house.telegram.wait_for(lambda: _answered(house, f"turn {number}"), 120)  # noqa: B023
    await house.telegram.wait_for(lambda: _hooks_answered(house), 120)
    now, most = container.resident()
    print(f"memory: {at_rest:.0f} MB at rest, {now:.0f} MB after 500 turns, {most:.0f} MB at most")
    assert most < 512 - LEAST_LEFT
    assert not container.killed_for_memory()
    assert await container.stop() == 0


def _answered(house: House, text: str) -> bool:
    return all(any(f"echo: {text}" in t for t in house.texts(chat)) for chat in range(1, CHATS + 1))


def _hooks_answered(house: House) -> bool:
    return all(any(f"\nhook {n}\n" in t for t in house.texts(HOOK_CHAT)) for n in range(HOOKS))
