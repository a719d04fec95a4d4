"""The names of what was taken."""

from __future__ import annotations

import os
from collections.abc import Iterator

__all__ = ["ticket"]

_BYTES = 16
_AT_ONCE = 256


def _drawn() -> Iterator[str]:
    while True:
        drawn = os.urandom(_BYTES * _AT_ONCE).hex()
        yield from (drawn[at : at + 2 * _BYTES] for at in range(0, len(drawn), 2 * _BYTES))


_tickets = _drawn()


def ticket() -> str:
    """A new one: 128 bits of chance, as 32 hexadecimal digits.

    Many are drawn at once: to ask the system lets go of the interpreter, and while the store's writer is at work it
    is some time until it comes back.
    """
    return next(_tickets)
