"""From config.yaml and its surroundings to one immutable snapshot, or to a list of all that is wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ValidationError

from gateway.config.bounds import bounds, measure_of, measured
from gateway.config.document import Document, parse, parse_flow, walk
from gateway.config.environment import Environment
from gateway.config.models import Place, load_class, placed, section_class
from gateway.config.problems import Path, Problem, Problems, Raw, dotted, unknown
from gateway.config.secrets import Filler, secret_name, secret_values
from gateway.router import HOME, parse_target
from hermes.config import PlatformSettings, Schema, Section, Snapshot
from hermes.errors import ConfigError
from hermes.home import Home

__all__ = ["astray", "load", "load_document", "read_bytes", "receivers", "twins"]

FILE = "config.yaml"
_ONLY_ASK = ("webhook", "api", "terminal")
"""Platforms that nothing can be sent to: who asks there waits for the answer, or wants none."""


def read_bytes(home: Home) -> bytes:
    """The bytes of config.yaml, none when there is no file. Raises `Problems` when it cannot be read."""
    try:
        return home.config.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise Problems(FILE, [Problem((), f"cannot be read: {error.strerror}")]) from None


def load(home: Home, schema: Schema, environ: Mapping[str, str], *, number: int = 1) -> Snapshot:
    """The settings as they stand now. Blocks on files.

    Raises `Problems` (a `ConfigError`) naming all that is wrong.

    Order: `HERMES_<SECTION>__<KEY>` before config.yaml before secrets from outside before defaults.
    """
    return load_document(parse(read_bytes(home)), home, schema, environ, number=number)


def load_document(
    document: Document, home: Home, schema: Schema, environ: Mapping[str, str], *, number: int = 1
) -> Snapshot:
    """The same for a document that is at hand, which is used up."""
    return _Loading(document, home, schema, Environment.read(home, environ)).snapshot(number)


class _Loading:
    def __init__(self, document: Document, home: Home, schema: Schema, environment: Environment) -> None:
        self._values = document.values
        self._lines = document.lines
        self._home = home
        self._schema = schema
        self._environment = environment
        self._sources: dict[Path, str] = {}
        self._filled_in: set[Path] = set()
        self._problems: list[Problem] = []
        self._secrets: set[str] = set()
        self._filler = Filler(environment, self._is_literal)

    def snapshot(self, number: int) -> Snapshot:
        """All of it, in order; later steps rely on earlier ones."""
        self._override()
        self._interpolate()
        for name in self._values:
            if name not in self._schema.sections and name != "platforms":
                self._report((name,), unknown(name, [*self._schema.sections, "platforms"], "section"))
        sections = {name: self._section(name) for name in self._schema.sections}
        platforms = self._platforms(self._values.get("platforms"))
        if self._problems:
            raise Problems(FILE, self._problems).without(self._secrets | self._environment.seen)
        return Snapshot(
            number=number,
            home=self._home.root,
            sections=MappingProxyType({k: v for k, v in sections.items() if v is not None}),
            platforms=MappingProxyType(platforms),
            warnings=tuple(self._warning(path) for path in self._filler.literals),
        )

    # --- before validation

    def _override(self) -> None:
        for variable, text in self._environment.overrides().items():
            parts = [p.lower() for p in variable.removeprefix("HERMES_").split("__")]
            if len(parts) == 1 and not self._takes_whole(parts[0]):
                continue
            value = parse_flow(text) if text[:1] in {"[", "{"} else text
            path = self._set(parts, value)
            if path is None:
                self._problems.append(
                    Problem(
                        (), "names a key inside of a single value", source=f"environment variable {variable}"
                    )
                )
            else:
                self._sources[path] = f"environment variable {variable}"

    def _takes_whole(self, name: str) -> bool:
        return name in self._schema.sections and section_class(self._schema, name).whole is not None

    def _set(self, parts: list[str], value: Raw) -> Path | None:
        """Put `value` there. Keys that differ only in case or `-` are the same. `None`: no keys fit there."""
        here, path = self._values, tuple[str, ...]()
        for index, part in enumerate(parts):
            key = next((k for k in here if k.lower().replace("-", "_") == part), part)
            path = (*path, key)
            if index == len(parts) - 1:
                here[key] = value
                break
            inner = here.get(key)
            if inner is None:
                inner = here[key] = {}
            if not isinstance(inner, dict):
                return None
            here = inner
        return path

    def _interpolate(self) -> None:
        for path, value in list(walk(self._values)):
            if not isinstance(value, str) or "${" not in value or self._is_off(path):
                continue
            text, missing = self._environment.interpolate(value)
            self._filled_in.add(path)
            for name in missing:
                self._report(
                    path, f"needs the environment variable {name}, which is set neither there nor in .env"
                )
            here: Any = self._values
            for part in path[:-1]:
                here = here[part]
            here[path[-1]] = text

    def _is_off(self, path: Path) -> bool:
        if path[0] != "platforms" or len(path) < 2:
            return False
        raw = self._values["platforms"]
        return isinstance(raw, dict) and isinstance(raw.get(path[1]), dict) and _is_false(raw[path[1]])

    def _is_literal(self, path: Path) -> bool:
        return path in self._lines and path not in self._filled_in and path not in self._sources

    # --- validation

    def _section(self, name: str) -> Section | None:
        model = section_class(self._schema, name)
        raw = self._values.get(name)
        if model.whole is not None:
            raw = {} if raw is None else {model.whole: raw}
        elif raw is None:
            raw = {}
        found: Section | None = self._validated(model, raw, (name,), model.whole)
        return found

    def _platforms(self, raw: Raw) -> dict[str, PlatformSettings]:
        if raw is None:
            return {}
        if not isinstance(raw, dict):
            self._report(("platforms",), "must hold keys, for example: platforms: {telegram: {}}")
            return {}
        found = {name: self._platform(name, {} if data is None else data) for name, data in raw.items()}
        valid = {name: settings for name, settings in found.items() if settings is not None}
        for name, key, first in twins(valid):
            told = f"is the {key.replace('_', ' ')} of platforms.{first} too: both would answer each message; remove one"
            self._report(("platforms", name, key), told)
        for place, told in astray(valid, {name for name in found if found[name] is None}):
            self._report(("platforms", *place), told)
        return valid

    def _platform(self, name: str, data: Raw) -> PlatformSettings | None:
        path: Path = ("platforms", name)
        if not isinstance(data, dict):
            self._report(path, f"must hold keys, for example: {name}: {{enabled: true}}")
            return None
        kind = str(data.get("type") or name)
        if kind not in self._schema.platforms:
            where = (*path, "type") if data.get("type") else path
            self._report(where, unknown(kind, self._schema.platforms, "platform type"))
            return None
        if _is_false(data):
            # Not looked at any further: what is off is never imported, and may lack its secrets.
            return PlatformSettings(type=kind, enabled=False)
        model = load_class(self._schema.platforms[kind])
        found: PlatformSettings | None = self._validated(model, {**data, "type": kind}, path, None)
        return found

    def _validated(self, model: type[BaseModel], data: Raw, path: Path, whole: str | None) -> Raw:
        prefix = path if whole is None else ()
        try:
            if isinstance(data, dict):
                self._filler.fill(model, data, path)
            self._secrets.update(secret_values(model, data))
            return model.model_validate(data)
        except Problems as error:
            self._problems.extend(error.problems)
        except ValidationError as error:
            for detail in error.errors(include_url=False, include_input=False):
                place = placed(model, detail["loc"])
                inner = place.path if whole is None else place.path[1:]
                self._report((*(prefix or path), *inner), _sentence(detail, place))
        return None

    # --- reporting

    def _report(self, path: Path, text: str) -> None:
        source = next((s for p, s in self._sources.items() if p == path[: len(p)]), None)
        line = next((self._lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self._lines), None)
        self._problems.append(Problem(path, text, line, source))

    def _warning(self, path: Path) -> str:
        key = dotted(path)
        return (
            f"{FILE}, line {self._lines[path]}: {key} stands there in plain text; "
            f"`hermes config set {key}` moves it to .env ({secret_name(path)})."
        )


def twins(platforms: Mapping[str, PlatformSettings]) -> Iterator[tuple[str, str, str]]:
    """Instances that have what an earlier one has and only one may have: the instance, the key, the earlier one. Pure."""
    holders: dict[tuple[str, ...], str] = {}
    for name, settings in platforms.items():
        for key, values in settings.exclusive().items():
            first = holders.setdefault((settings.type, key, *values), name)
            if first != name:
                yield name, key, first


def receivers(platforms: Mapping[str, PlatformSettings]) -> list[str]:
    """The instances that can be sent to. Pure."""
    return [
        name for name, settings in platforms.items() if settings.enabled and settings.type not in _ONLY_ASK
    ]


def astray(platforms: Mapping[str, PlatformSettings], unknown: Collection[str]) -> Iterator[tuple[Path, str]]:
    """Where deliveries that lead nowhere are named, and why they do. unknown: instances whose settings are wrong. Pure."""
    there = receivers(platforms)
    for name, settings in platforms.items():
        for place, targets in settings.deliveries().items() if settings.enabled else ():
            for text in targets:
                try:
                    if parse_target(text).instance not in (HOME, *there, *unknown):
                        known = ", ".join(there) or "none"
                        told = f"names {text!r}, and no platform that is on and can be sent to; there are: {known}"
                        yield (name, *place), told
                except ConfigError as error:
                    yield (name, *place), f"is wrong: {error}"


def _is_false(data: dict[str, Any]) -> bool:
    return str(data.get("enabled", True)).lower() in {"false", "off", "no", "0"}


_OUT_OF_BOUNDS = {"greater_than", "greater_than_equal", "less_than", "less_than_equal"}


def _sentence(detail: Mapping[str, Any], place: Place) -> str:
    """What pydantic found, in our words and without the value."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden" and place.around is not None:
        return unknown(str(place.path[-1]), list(place.around.model_fields))
    if kind == "missing":
        return f"is missing{_example(place)}"
    if kind in {"model_type", "model_attributes_type", "dict_type"}:
        return f"must hold keys{_example(place)}"
    if kind == "string_type":
        return f"must be text, a number in quotes{_example(place)}"
    if kind == "value_error":
        return _joined(str(context.get("error", "is wrong")))
    if kind in _OUT_OF_BOUNDS and place.field is not None and (told := bounds(place.field)):
        return f"should be {told}{_example(place)}"
    said = detail["msg"]
    said = (
        said.replace("Input should", "should").replace("String should", "should").replace("Value error, ", "")
    )
    return f"{said[:1].lower()}{said[1:]}{_example(place)}"


def _joined(said: str) -> str:
    return said if said.startswith("is ") else f"is wrong: {said}"


def _example(place: Place) -> str:
    if place.field is None or place.secret:
        return ""
    key, examples = place.path[-1], place.field.examples
    if examples:
        return f"; for example {key}: {examples[0]}"
    default = place.field.get_default()
    if isinstance(default, int | float) and not isinstance(default, bool):
        return f"; for example {key}: {measured(default, measure_of(place.field))}"
    return f"; for example {key}: {default}" if isinstance(default, str | bool) and default != "" else ""
