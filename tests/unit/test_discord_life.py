"""How long the Discord adapter waits before it connects again."""

from adapters.discord.gateway import Dropped
from adapters.discord.life import Knocks, pause_after
from hermes.errors import NotTaken, Unreachable

_DAY = 86_400


def test_pauses_grow_to_a_minute_and_short_ones_where_the_session_is_gone_on_with() -> None:
    assert [pause_after(Unreachable(), n, 1.0) for n in (1, 3, 5, 6, 5000)] == [2, 8, 32, 60, 60]
    assert [pause_after(Dropped(), n, 1.0, resumes=True) for n in (1, 3, 4, 5000)] == [2, 8, 10, 10]
    assert pause_after(Unreachable(), 9, 1.0, resumes=True) == 60  # a server that is away is asked less often
    assert pause_after(Dropped(), 9, 0.0) == 30
    assert pause_after(NotTaken(retry_after=77.0), 9, 0.5) == 77.0


def test_new_sessions_stay_under_a_thousand_a_day_however_often_the_gateway_throws_us_out() -> None:
    knocks, now, begun = Knocks(), 0.0, 0
    while now < _DAY:
        now += knocks.wait(now) + 1.0
        begun += 1
    assert 800 < begun < 1000


def test_fifty_new_sessions_in_a_row_need_not_wait() -> None:
    knocks = Knocks()
    assert [knocks.wait(0.0) for _ in range(50)] == [0.0] * 50
    assert knocks.wait(0.0) == 100.0
    assert knocks.wait(10_000.0) == 0.0
