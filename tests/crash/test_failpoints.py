"""The daemon is killed at every named place of a message's way; each message still gets one answer.

Where the two modes of delivery can differ both are tried at once; elsewhere one of them, and both with
`scripts/test --all`.
"""

import asyncio
import os
import signal
from collections import Counter

import pytest

from hermes.failpoint import POINTS
from tests.crash.house import House, MakeHouse, asks_tools, token_of

_EACH_KIND = ("ledger.accepting", "ledger.accepted", "turn.closing", "turn.closed")
_EACH_ROW = ("outbox.claimed", "outbox.sent", "outbox.receipted")
PLACES = [
    *POINTS,
    *(f"{name}:{n}" for name in _EACH_KIND for n in (2, 3)),
    *(f"{name}:2" for name in _EACH_ROW),
]
TOKENS = ("m-tg-1", "m-hook-1", "m-api-1")


def _send(house: House) -> None:
    house.send_telegram("m-tg-1", asks_tools("m-tg-1"), chat=5)
    house.send_webhook("m-hook-1", asks_tools("m-hook-1"))
    house.send_api("m-api-1", asks_tools("m-api-1"))


def _modes(place: str) -> tuple[str, ...]:
    if place.startswith(_EACH_ROW) or "TEST_ALL" in os.environ:
        return ("resend", "drop")
    return ("drop",) if PLACES.index(place) % 2 else ("resend",)


@pytest.mark.parametrize("place", PLACES)
async def test_killed_at(place: str, make_house: MakeHouse) -> None:
    async with asyncio.TaskGroup() as both:  # two daemons at once: most of the time goes into their starts
        for mode in _modes(place):
            house = await make_house(delivery={"on_unknown": mode}, resume_max_starts=1000)
            both.create_task(_killed_at(house, place, mode))


async def _killed_at(house: House, place: str, mode: str) -> None:
    await house.start(failpoint=place)
    _send(house)
    assert await house.ended() == -signal.SIGKILL, f"{place} was never reached: {house.tail()}"
    house.note_kill()
    was, ran = _steps(house), house.notes()

    await (await house.start()).until_ready()
    await house.senders_done()
    await house.answered([t for t in TOKENS if not (mode == "drop" and house.excused[t])])
    assert await house.stop() == 0

    figures = house.check(mode)
    assert figures["lost" if mode == "resend" else "doubled"] == 0
    assert house.kills == 1
    _check_work(house, was, ran)
    _check_figures(house)


# Tool calls per message: (token in its text, results, calls that had begun).
_STEPS = """
    SELECT json_extract(i.event, '$.text'), sum(s.kind = 'result'), sum(s.kind = 'began')
    FROM inbox i JOIN steps s ON s.turn_id = i.turn_id GROUP BY i.id
"""


def _check_work(house: House, was: dict[str, tuple[int, int]], ran: Counter[str]) -> None:
    """Three model calls and one effect a message; the kill costs at most the model call that it cut."""
    steps = _steps(house)
    notes = house.notes()
    for token in TOKENS:
        calls = house.requests(token)
        assert 3 <= calls <= 4, f"{token}: {calls} model calls"
        results, begun = was.get(token, (0, 0))
        assert steps[token][0] == 2, f"{token}: {steps[token]}"
        # `todo` may run again, and begins again then; `note` that had begun has run, or is told as interrupted.
        if results == 1 and begun == 2 and ran[token] == 0:
            assert notes[token] == 0, f"{token}: a call that had begun was run again by itself"
        else:
            assert notes[token] == 1, f"{token}: its tool ran {notes[token]} times"


# What a call has cost grows with each call of a turn, so equal figures would be one call written down twice.
_FIGURES = """
    SELECT json_extract(i.event, '$.text'), count(*), count(DISTINCT c.prompt)
    FROM inbox i JOIN calls c ON c.turn_id = i.turn_id WHERE c.task = 'turn' GROUP BY i.id
"""


def _check_figures(house: House) -> None:
    """Each answer that a turn was made of is in the figures once.

    Not in them is a call that the kill cut, or took the answer of before its step was stored; another stands for it.
    """
    found = {token_of(text): (rows, different) for text, rows, different in house.query(_FIGURES)}
    assert found == dict.fromkeys(TOKENS, (3, 3))


def _steps(house: House) -> dict[str, tuple[int, int]]:
    return {token_of(text): (results, begun) for text, results, begun in house.query(_STEPS)}
