"""The measure that other tests hold hostile input to: what goes by the square is told from what is linear."""

import time

import pytest

from tests.growth import assert_linear


def test_what_is_linear_passes() -> None:
    assert_linear(lambda n: sum(range(n)), 1_000_000)


def test_what_goes_by_the_square_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = [0.0]

    def by_the_square(size: int) -> None:
        spent.append(spent[-1] + size * size / 1e6)

    monkeypatch.setattr(time, "thread_time", lambda: spent[-1])
    with pytest.raises(AssertionError, match=r"1600 take more than 0\.80 s"):
        assert_linear(by_the_square, 1_600)
