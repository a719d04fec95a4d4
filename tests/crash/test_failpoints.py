"""The daemon is killed at every named place of a message's way; each message still gets one answer."""

import signal

import pytest

from hermes.failpoint import POINTS
from tests.crash.house import House, MakeHouse, asks_tools

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


@pytest.mark.parametrize("mode", ["resend", "drop"])
@pytest.mark.parametrize("place", PLACES)
async def test_killed_at(place: str, mode: str, make_house: MakeHouse) -> None:
    house = make_house(delivery={"on_unknown": mode})
    await house.start(failpoint=place)
    _send(house)
    assert await house.ended() == -signal.SIGKILL, f"{place} was never reached: {house.tail()}"
    house.note_kill()
    ran_before = house.notes()
    kept = dict(house.query(_RESULTS))

    await (await house.start()).until_ready()
    await house.senders_done()
    await house.answered([t for t in TOKENS if not (mode == "drop" and house.excused[t])])
    assert await house.stop() == 0

    figures = house.check(mode)
    assert figures["lost" if mode == "resend" else "doubled"] == 0
    assert house.kills == 1
    _check_work(house, place, kept)
    assert all(house.notes()[token] >= n for token, n in ran_before.items())


_RESULTS = """
    SELECT i.text, count(*) FROM (
        SELECT turn_id, json_extract(event, '$.text') AS text FROM inbox WHERE turn_id IS NOT NULL
    ) i JOIN steps s ON s.turn_id = i.turn_id WHERE s.kind = 'result' GROUP BY i.text
"""


def _check_work(house: House, place: str, kept: dict[str, int]) -> None:
    """Three model calls and one effect a message; the kill costs at most the call that it cut."""
    for token in TOKENS:
        calls = house.requests(token)
        assert 3 <= calls <= 4, f"{token}: {calls} model calls"
    runs = house.notes()
    # A call that had begun is not run again by itself: killed between its begin and its effect, it has none.
    may_lack = place.startswith(("tool.started", "step.stored"))
    lacking = [t for t in TOKENS if runs[t] == 0]
    assert len(lacking) <= len(TOKENS) * may_lack, f"no effect: {lacking}"
    results = dict(house.query(_RESULTS))
    for text, n in results.items():
        assert n == 2 >= kept.get(text, 0), f"{text}: {n} results"
