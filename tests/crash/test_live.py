"""The daemon is killed while an answer grows in a chat; in the end one message stands there, the final one."""

import asyncio
import signal

import pytest

from hermes.failpoint import LIVE_POINTS
from tests.crash.house import House, MakeHouse
from tests.peers.model import says

CHAT = 5
TOKEN = "m-tg-1"
FINAL = " ".join(f"word{n}" for n in range(30)) + f" done {TOKEN}."
ASKS = f"{TOKEN} [[chunks=30]][[every=60]][[text={FINAL}]]"
SLOW = says(FINAL, chunks=30, every=0.2)
"""How the model answers in a life that is to be killed: slow enough for three edits."""
UNKNOWN = ("live.claimed", "live.sent")
"""A kill there leaves the row at `sending`: nobody knows whether its message stands."""
_END = ("turn.closing", "turn.closed")
_FINAL_EDIT = ("outbox.claimed", "outbox.sent", "outbox.receipted")


@pytest.mark.parametrize("place", [*LIVE_POINTS, "live.edited:2", *_END, *_FINAL_EDIT])
async def test_killed_while_an_answer_grows(place: str, make_house: MakeHouse) -> None:
    async with asyncio.TaskGroup() as both:
        for mode in ("resend", "drop"):
            house = await make_house(delivery={"on_unknown": mode}, resume_max_starts=1000)
            both.create_task(_killed_at(house, [place]))


@pytest.mark.parametrize(
    "places",
    [("live.receipted", "live.edited"), ("live.edited", "live.edited"), ("live.edited", "outbox.sent")],
    ids="+".join,
)
async def test_killed_twice_in_one_answer(places: tuple[str, ...], make_house: MakeHouse) -> None:
    await _killed_at(await make_house(delivery={"on_unknown": "drop"}, resume_max_starts=1000), places)


async def _killed_at(house: House, places: tuple[str, ...] | list[str]) -> None:
    house.send_telegram(TOKEN, ASKS, CHAT)
    house.model.script.add(SLOW, times=len(places))
    for place in places:
        await house.start(failpoint=place)
        assert await house.ended() == -signal.SIGKILL, f"{place} was never reached: {house.tail()}"
        house.note_kill()
    await (await house.start()).until_ready()
    await house.answered([TOKEN])
    assert await house.stop() == 0
    _check(house, unknown=sum(place in UNKNOWN for place in places))


def _check(house: House, unknown: int) -> None:
    """The final answer is there once and last; `unknown` kills excuse one part of it each, which is reported."""
    *left_over, final = house.telegram.chats[CHAT].texts()
    assert final == FINAL
    assert len(left_over) <= unknown, left_over
    assert all(text and FINAL.startswith(text.rstrip()) and text != FINAL for text in left_over), left_over
    assert "".join(house.log).count("live.left_over") == unknown
    assert house.query("SELECT state FROM inbox") == [("answered",)]
    rows = house.query("SELECT kind, state FROM outbox ORDER BY id")
    assert rows.count(("reply", "sent")) == 1
    assert rows.count(("live", "dropped")) == unknown
    assert {state for _, state in rows} <= {"sent", "dropped"}
