"""The measure that other tests hold hostile input to: what goes by the square is told from what is linear."""

import pytest

from tests.growth import assert_linear


def test_what_is_linear_passes() -> None:
    assert_linear(lambda n: sum(range(n)), 1_000_000)


def test_what_goes_by_the_square_fails() -> None:
    with pytest.raises(AssertionError, match="10000 take more than"):
        assert_linear(lambda n: sum(range(n * n)), 10_000)
