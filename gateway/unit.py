"""The systemd unit: its text (from `hermes.service.in`), its place, and writing it.

Root gets a system service under a user of its own, anybody else a user service. Stop times follow from the
drain: systemd.service(5) kills what has not ended after `TimeoutStopSec`.
"""

from __future__ import annotations

import math
import os
import pwd
import shutil
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway.home import atomic_write, prepare
from hermes.errors import ConfigError
from hermes.home import Home

__all__ = ["STOP_MARGIN", "Unit", "plan", "remove", "render", "write"]

STOP_MARGIN = 45
"""Seconds beyond the drain: 5 for the outbox, 5 for each goodbye and the store, and air for a slow disk."""
STATE = Path("/var/lib/hermes")
MARK = "# Written by `hermes gateway install`."


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit to be: where it goes, what it runs.

    user: the account of a system service; empty for a user service. own_state: systemd keeps the home
    (`StateDirectory`) and invents the account (`DynamicUser`). drain: seconds.
    """

    path: Path
    program: Path
    home: Path
    drain: float
    system: bool = True
    user: str = "hermes"
    own_state: bool = True
    warnings: tuple[str, ...] = ()

    @property
    def manager(self) -> tuple[str, ...]:
        """The command that talks to the right service manager."""
        return ("systemctl",) if self.system else ("systemctl", "--user")


def plan(home: Home, environ: Mapping[str, str], *, drain: float) -> Unit:
    """The unit for whoever runs this. Looks at the file system, writes nothing. Raises `ConfigError`."""
    program = _program()
    if os.geteuid() != 0:
        config = Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        path = config / "systemd" / "user" / "hermes.service"
        return Unit(path, program, home.root, drain, system=False, user="", own_state=False)
    path = Path("/etc/systemd/system/hermes.service")
    if "HERMES_HOME" not in environ or home.root == STATE:
        warnings = _unreadable(program)
        return Unit(path, program, STATE, drain, warnings=warnings)
    return Unit(path, program, home.root, drain, user=_owner(home.root), own_state=False)


def _program() -> Path:
    """The `hermes` that runs now, else the one beside this interpreter."""
    for name in (sys.argv[0], str(Path(sys.executable).with_name("hermes")), shutil.which("hermes") or ""):
        found = Path(name).absolute()
        if found.name == "hermes" and found.is_file() and os.access(found, os.X_OK):
            return found
    raise ConfigError("No `hermes` program was found to put into the unit; install the package first.")


def _owner(home: Path) -> str:
    try:
        return pwd.getpwuid(home.stat().st_uid).pw_name
    except FileNotFoundError:
        return "root"
    except KeyError:
        raise ConfigError(f"The home {home} belongs to a user id without a name.") from None


def _unreadable(program: Path) -> tuple[str, ...]:
    """A warning where the service's own user cannot reach the program."""
    for place in (Path(sys.prefix), Path(sys.base_prefix), program):
        closed = [p for p in (place, *place.parents) if p.exists() and not p.stat().st_mode & stat.S_IXOTH]
        if closed or place.parts[:2] in {("/", "home"), ("/", "root")}:
            return (f"the service's user cannot read {place}; install Hermes below /opt, for example",)
    return ()


_RULES: Mapping[str, Callable[[Unit], bool]] = {
    "S|": lambda unit: unit.system,
    "D|": lambda unit: unit.own_state,
    "P|": lambda unit: not unit.own_state,
}
"""Which lines of the template are for which units."""


def render(unit: Unit) -> str:
    """The unit's text; without any secret: those stay in the home."""
    template = (Path(__file__).parent / "hermes.service.in").read_text(encoding="utf-8")
    lines = [_line(line, unit) for line in template.splitlines()]
    text = "".join(line + "\n" for line in lines if line is not None)
    values = {
        "@PROGRAM@": f'"{_escaped(unit.program)}"' if " " in str(unit.program) else _escaped(unit.program),
        "@HOME@": _escaped(unit.home),
        # PrivateTmp hides a home that lies there, unless it is mounted back.
        "@WRITABLE@": "BindPaths" if unit.home.parts[:2] == ("/", "tmp") else "ReadWritePaths",
        "@STOP@": str(math.ceil(unit.drain) + STOP_MARGIN),
        "@USER@": unit.user,
        "@TARGET@": "multi-user.target" if unit.system else "default.target",
    }
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def _line(line: str, unit: Unit) -> str | None:
    rule = _RULES.get(line[:2])
    if rule is None:
        return line
    return line[2:] if rule(unit) else None


def _escaped(path: Path) -> str:
    """A path between quotes of systemd.syntax(7), where % begins a specifier."""
    return str(path).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")


def write(unit: Unit, *, force: bool = False) -> None:
    """Put the unit into its place. Raises `ConfigError` when somebody else's lies there.

    A home that systemd does not keep is made, since a unit whose `ReadWritePaths` do not exist cannot start.
    Raises `HomeError` when it cannot be.
    """
    try:
        old = unit.path.read_text(encoding="utf-8") if unit.path.exists() else MARK
        if MARK not in old and not force:
            raise ConfigError(f"{unit.path} was not written by this command; --force replaces it.")
        unit.path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(unit.path, render(unit).encode(), mode=0o644)
    except OSError as error:
        raise ConfigError(f"{unit.path} cannot be written: {error.strerror}.") from error
    if not unit.own_state and not unit.home.exists():
        prepare(Home(unit.home))


def remove(unit: Unit) -> None:
    """Take the unit away. Raises `ConfigError` when it cannot be."""
    try:
        unit.path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{unit.path} cannot be removed: {error.strerror}.") from error
