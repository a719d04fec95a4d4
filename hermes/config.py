"""What settings are: typed sections, an immutable numbered snapshot, and a source of snapshots.

Each part hands in its own section model; the schema is composed from them by wiring. Nobody keeps a snapshot
across a turn.
Secrets are `SecretStr`: they print as stars everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

__all__ = [
    "ByteSize",
    "Duration",
    "Network",
    "PlatformSettings",
    "Rate",
    "RateLimit",
    "Schema",
    "Section",
    "SettingsSource",
    "Snapshot",
    "is_address",
    "parse_byte_size",
    "parse_duration",
    "parse_rate",
]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_LONGEST = 1e11  # 3,000 years; also keeps out what YAML calls .inf and .nan
_SIZES = {
    "": 1,
    "b": 1,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
    "kib": 1024,
    "mib": 1024**2,
    "gib": 1024**3,
    "k": 1024,
    "m": 1024**2,
    "g": 1024**3,
}


def parse_duration(value: object) -> float:
    """Seconds of `30`, `1.5`, "30s", "5m", "1h30m", "2 d". Raises `ValueError` with an example."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LONGEST:
        return float(value)
    text = str(value).strip().lower().replace(" ", "")
    parts = re.findall(r"(?<![\d.])(\d++(?:\.\d++)?)(ms|min|s|m|h|d|w)", text)
    if not parts or "".join(n + u for n, u in parts) != text:
        raise ValueError(
            f'{value!r} is not a duration; write for example "30s", "5m", "1h" or a number of seconds'
        )
    return sum(float(n) * _UNITS[u] for n, u in parts)


def parse_byte_size(value: object) -> int:
    """Bytes of `1048576`, "1MiB", "25 MB". Raises `ValueError` with an example."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", str(value).strip().lower())
    if match is None or match[2] not in _SIZES:
        raise ValueError(f'{value!r} is not a size; write for example "1MiB", "25MB" or a number of bytes')
    return int(float(match[1]) * _SIZES[match[2]])


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` in any `seconds`."""

    count: int
    seconds: float


def parse_rate(value: object) -> Rate | None:
    """`Rate` of "30/min", "1/s", "20/5m"; `None` of "off" (also of YAML's `off`, which is false).

    Raises `ValueError`.
    """
    if value is None or value is False or (isinstance(value, str) and value.strip().lower() == "off"):
        return None
    if isinstance(value, Rate):
        return value
    match = re.fullmatch(r"(\d+)\s*+/\s*+(\d*+)\s*+(ms|min|s|m|h|d)", str(value).strip().lower())
    if match is None or int(match[1]) == 0:
        raise ValueError(f'{value!r} is not a rate; write for example "30/min", "1/s" or "off"')
    return Rate(int(match[1]), float(match[2] or 1) * _UNITS[match[3]])


def is_address(text: str, schemes: tuple[str, ...] = ("http", "https")) -> bool:
    """Whether the text is an address that a client can be made for: a scheme, a host, a port that there can be."""
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in schemes
            and bool(parts.hostname)
            and parts.port != 0
            and not re.search(r"\s", text)
        )
    except ValueError:  # half an IPv6 address, or a port out of range
        return False


Duration = Annotated[float, BeforeValidator(parse_duration)]
ByteSize = Annotated[int, BeforeValidator(parse_byte_size)]
RateLimit = Annotated[Rate | None, BeforeValidator(parse_rate)]


class Section(BaseModel):
    """A part of the configuration: frozen, and unknown keys are errors.

    `whole`: for sections that are no map of known keys (a scalar, a list, a map of names): the one field that
    takes the section's whole value, so that `timezone: Europe/Berlin` fills `Timezone.name`.
    """

    whole: ClassVar[str | None] = None

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


def _identifiers(value: object) -> object:
    """A list of ids as strings, since YAML reads `12345` as a number."""
    if isinstance(value, list | tuple):
        return [str(v) for v in value]
    return [str(value)] if isinstance(value, str | int) else value


class PlatformSettings(Section):
    """Keys that every platform instance has; an adapter's own model adds its keys.

    `type` defaults to the instance's name. `allow_from`: "*" lets anyone in; a list of sender ids; absent:
    pairing.
    `rate: off` switches our own pace towards the platform off (self-hosted servers).
    """

    type: str = Field(default="", description="The platform; absent: the instance's name.")
    enabled: bool = Field(default=True, description="Whether it is started.")
    allow_from: Annotated[tuple[str, ...] | None, BeforeValidator(_identifiers)] = Field(
        default=None, description='Who may write: ["*"] anyone, a list of sender ids, absent: pairing codes.'
    )
    rate: Literal["default", "off"] = Field(
        default="default", description="Outbound pace: the platform's limits, or off."
    )
    busy: Literal["queue", "steer", "interrupt", "collect"] | None = Field(
        default=None,
        description="A message while a turn runs, on this platform; absent: gateway.sessions.busy.",
    )
    toolsets: tuple[str, ...] | None = Field(
        default=None, description="Toolsets for this platform; absent: the agent's."
    )

    def exclusive(self) -> Mapping[str, tuple[str, ...]]:
        """What no second instance may have, since both would answer each message: by key, all that makes it the same."""
        return {}

    def deliveries(self) -> Mapping[tuple[str, ...], Sequence[str]]:
        """Targets that answers go to from there, by the place below the instance where they are named."""
        return {}

    @classmethod
    def secrets(cls) -> tuple[str, ...]:
        """The names of the fields that hold secrets."""
        return tuple(n for n, f in cls.model_fields.items() if "SecretStr" in str(f.annotation))


@dataclass(frozen=True, slots=True)
class Network:
    """How clients reach the outside: `proxy` URL, hosts that go without it, an own CA bundle."""

    proxy: str | None = None
    no_proxy: tuple[str, ...] = ()
    ca_file: Path | None = None

    def proxy_for(self, host: str) -> str | None:
        """The proxy to reach `host` by; `None`: none. Names in `no_proxy` cover their subdomains, `*` all."""
        names = [name.strip().lstrip("*").lstrip(".").lower() for name in self.no_proxy]
        low = host.lower()
        direct = "*" in self.no_proxy or any(n and (low == n or low.endswith("." + n)) for n in names)
        return None if direct else self.proxy


_S = TypeVar("_S", bound=Section)


@dataclass(frozen=True, slots=True)
class Schema:
    """What may stand in config.yaml: section name -> "module:Class", platform type -> "module:Class".

    Classes are imported when needed.
    """

    sections: Mapping[str, str]
    platforms: Mapping[str, str]


@dataclass(frozen=True)
class Snapshot:
    """Settings as they were when number `number` was loaded. Immutable.

    `sections`: name -> its validated model. `platforms`: instance name -> validated settings of the enabled
    and disabled ones.
    `warnings`: sentences for the user (literal secret in config.yaml, ...).
    """

    number: int
    home: Path
    sections: Mapping[str, Section]
    platforms: Mapping[str, PlatformSettings]
    warnings: tuple[str, ...] = field(default=())

    def get(self, name: str, model: type[_S]) -> _S:
        """The section `name`, which must be a `model`; its defaults where the file says nothing."""
        found = self.sections.get(name)
        if found is None:
            return model()
        if not isinstance(found, model):
            raise TypeError(f"section {name} is a {type(found).__name__}, not a {model.__name__}")
        return found


class SettingsSource(Protocol):
    """Where the current snapshot comes from."""

    def current(self) -> Snapshot:
        """The newest good snapshot. Cheap."""
        ...

    def subscribe(self, changed: Callable[[Snapshot], Any]) -> Callable[[], None]:
        """Call `changed` on the event loop after each swap; the returned function ends that."""
        ...
