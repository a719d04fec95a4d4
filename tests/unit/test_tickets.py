"""The names of what was taken."""

import re

from gateway.tickets import ticket


def test_each_ticket_is_another_one_and_has_128_bits() -> None:
    drawn = [ticket() for _ in range(1_000)]  # over several draws
    assert len(set(drawn)) == len(drawn)
    assert all(re.fullmatch(r"[0-9a-f]{32}", one) for one in drawn)
    assert len({one[:8] for one in drawn}) > 990
