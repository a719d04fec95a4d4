"""Settings as plain values again, for people: secrets as stars unless asked for."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, SecretStr

from gateway.config.problems import Path, Problem, Problems, Raw
from hermes.config import Rate, Section, Snapshot

__all__ = ["MASK", "pick", "plain", "plain_snapshot"]

MASK = "********"
_UNITS = {1.0: "s", 60.0: "min", 3600.0: "h", 86400.0: "d"}


def plain_snapshot(snapshot: Snapshot, *, reveal: bool = False) -> dict[str, Raw]:
    """All settings in use, in the shape of config.yaml."""
    values: dict[str, Raw] = {name: _section(s, reveal=reveal) for name, s in snapshot.sections.items()}
    values["platforms"] = {name: plain(s, reveal=reveal) for name, s in snapshot.platforms.items()}
    return values


def pick(values: Mapping[str, Raw], path: Path) -> Raw:
    """What stands at `path`; `None` where there is nothing."""
    here: Raw = values
    for part in path:
        if isinstance(here, dict):
            here = here.get(part)
        elif isinstance(here, list) and isinstance(part, int):
            here = here[part] if part < len(here) else None
        elif here is not None:
            raise Problems("config.yaml", [Problem(path, "has no keys, but a single value")])
    return here


def plain(value: object, *, reveal: bool = False) -> Raw:
    """`value` in what JSON and YAML can hold."""
    if isinstance(value, SecretStr):
        return value.get_secret_value() if reveal else MASK
    if isinstance(value, BaseModel):
        return {name: plain(getattr(value, name), reveal=reveal) for name in type(value).model_fields}
    if isinstance(value, Rate):
        return f"{value.count}/{_UNITS.get(value.seconds, f'{value.seconds:g}s')}"
    if isinstance(value, Mapping):
        return {str(k): plain(v, reveal=reveal) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v, reveal=reveal) for v in value]
    if value is None or isinstance(value, bool | int | float | str):
        return int(value) if isinstance(value, float) and value.is_integer() else value
    return str(value)


def _section(section: Section, *, reveal: bool) -> Raw:
    values = plain(section, reveal=reveal)
    return values if section.whole is None else values[section.whole]
