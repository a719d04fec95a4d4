import asyncio

import pytest

from adapters.telegram.polling import Offset
from adapters.troubles import Troubles, pause_after
from hermes.errors import Conflict, NotTaken, OutcomeUnknown, Unauthorized, Unreachable
from hermes.testing import FakeClock
from tests.integration.telegram_desk import Desk, pass_time

DAY = 86400.0


def test_an_offset_comes_back_from_its_text() -> None:
    assert Offset.from_text(Offset(1001, 1_700_000_000.0).to_text()) == Offset(1001, 1_700_000_000.0)


@pytest.mark.parametrize("text", [None, "", "1001", "@", "x@1", "1@x"])
def test_other_text_is_no_offset(text: str | None) -> None:
    assert Offset.from_text(text) is None


def test_an_offset_is_usable_for_six_days() -> None:
    offset = Offset(5, 100.0)
    assert offset.is_usable(100.0 + 6 * DAY - 1)
    assert not offset.is_usable(100.0 + 6 * DAY)
    assert offset.is_usable(0.0)  # a clock that was set back


def test_TG_12_the_servers_own_pause_wins() -> None:
    assert pause_after(9, NotTaken(retry_after=37.0), 1.0) == 37.0


def test_PR_10_conflicts_leave_at_most_twenty_polls_in_five_minutes() -> None:
    elapsed, polls = 0.0, 0
    while elapsed <= 300:
        polls += 1
        elapsed += pause_after(polls, Conflict(), 0.0)
    assert polls <= 20


def test_pauses_grow_to_half_a_minute_and_are_spread() -> None:
    assert [pause_after(n, Unreachable(), 1.0) for n in (1, 2, 3, 5, 5000)] == [2, 4, 8, 30, 30]
    assert pause_after(1, Unreachable(), 0.0) == 1.0


async def test_a_bad_token_is_not_waited_for() -> None:
    with pytest.raises(Unauthorized):
        await Troubles(FakeClock(), "telegram", Desk()).met(Unauthorized())


@pytest.mark.parametrize(("error", "beats"), [(NotTaken(retry_after=95.0), 4), (OutcomeUnknown(), 0)])
async def test_a_server_that_answers_is_alive_while_it_makes_us_wait(error: NotTaken, beats: int) -> None:
    clock, desk = FakeClock(), Desk()
    waiting = Troubles(clock, "telegram", desk).met(error)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(waiting)
        await pass_time(clock, 100, task.done)
    assert desk.beats == beats
    assert desk.states == [("connecting", str(error))]
