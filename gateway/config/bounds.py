"""What a field is measured in and how far it may go, as people write it in the file. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias, get_args, get_origin

from pydantic.fields import FieldInfo

from hermes.config import parse_byte_size, parse_duration, parse_rate

__all__ = ["Measure", "bounds", "measure_of", "measured"]

Measure: TypeAlias = Literal["duration", "size", "rate"]

_READERS: tuple[tuple[object, Measure], ...] = (
    (parse_duration, "duration"),
    (parse_byte_size, "size"),
    (parse_rate, "rate"),
)
_UNITS = {
    "duration": (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)),
    "size": (("GiB", 1 << 30), ("MiB", 1 << 20), ("MB", 10**6), ("KiB", 1 << 10), ("kB", 1000)),
}
_WORDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


def measure_of(field: FieldInfo) -> Measure | None:
    """What the field's value is, where it is no mere number or text."""
    readers = {getattr(m, "func", None) for m in _marks(field)}
    return next((word for reader, word in _READERS if reader in readers), None)


def bounds(field: FieldInfo) -> str:
    """Such as "1s to 50s", "at least 1000", "more than 0"; empty where there are none."""
    measure = measure_of(field)
    ends = {
        name: measured(number, measure)
        for mark in _marks(field)
        for name in _WORDS
        if isinstance(number := getattr(mark, name, None), int | float)
    }
    if {"ge", "le"} <= ends.keys():
        return f"{ends['ge']} to {ends['le']}"
    return ", ".join(f"{_WORDS[name]} {end}" for name, end in ends.items())


def measured(value: float, measure: str | None) -> str:
    """A number in the largest unit of which it is a whole number."""
    for unit, worth in _UNITS.get(measure or "", ()):
        if value and value % worth == 0:
            return f"{value / worth:.0f}{unit}"
    if measure == "duration" and value:
        return f"{value:g}s"
    return str(value) if isinstance(value, int) else f"{value:g}"


def _marks(field: FieldInfo) -> Iterator[object]:
    """What stands beside the field's type, or beside one of several that it may have."""
    yield from field.metadata
    for inner in get_args(field.annotation):
        if get_origin(inner) is Annotated:
            yield from inner.__metadata__
