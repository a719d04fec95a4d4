"""How long a provider may take."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds.

    connect: until connected. first_byte: until the answer's head. silence: between pieces of the body.

    stall: between events; comments that keep a connection alive do not count as such.
    """

    connect: float = 10.0
    first_byte: float = 90.0
    silence: float = 60.0
    stall: float = 300.0
