"""Days as the clocks of a place show them, also where these are put forward or back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from gateway.day import midnight


@pytest.fixture
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process's time zone for one test."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


def _utc(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


# The rules are written out as POSIX does, so that no machine's tables matter.
BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"
HAVANA = "CST5CDT,M3.2.0/0,M11.1.0/1"  # the clocks change at midnight


@pytest.mark.parametrize(
    ("zone", "now", "days_ago", "begins"),
    [
        (BERLIN, "2026-03-30T10:00", 0, "2026-03-29T22:00"),
        (BERLIN, "2026-03-30T10:00", 1, "2026-03-28T23:00"),  # a day of 23 hours
        (BERLIN, "2026-03-30T10:00", 2, "2026-03-27T23:00"),
        (BERLIN, "2026-10-26T10:00", 1, "2026-10-24T22:00"),  # a day of 25 hours
        (BERLIN, "2026-01-02T10:00", 2, "2025-12-30T23:00"),
        (BERLIN, "2026-07-01T10:00", 365, "2025-06-30T22:00"),
        (HAVANA, "2026-03-09T10:00", 1, "2026-03-08T05:00"),  # 0:00 is left out: the day begins at 1:00
        (HAVANA, "2026-11-02T10:00", 1, "2026-11-01T04:00"),  # 0:00 is there twice: the first
    ],
    indirect=["zone"],
)
@pytest.mark.usefixtures("zone")
def test_a_day_begins_at_midnight_whatever_the_clocks_did(now: str, days_ago: int, begins: str) -> None:
    assert midnight(_utc(now), days_ago=days_ago) == _utc(begins)
