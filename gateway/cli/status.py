"""`hermes status`: how the daemon is. It imports next to nothing, since scripts call it all the time."""

from __future__ import annotations

import json
import sys
from typing import Any

from gateway.control_client import ask
from hermes.errors import EXIT_NOT_RUNNING, EXIT_OK
from hermes.files import in_words
from hermes.home import Home, default_home

__all__ = ["describe", "failures", "faults", "show", "warnings"]

_COLUMNS = 79

_RESTART = "`hermes gateway restart`"


def show(*, as_json: bool) -> int:
    """Print the daemon's state; 0 when it runs, 3 when not."""
    home = Home(default_home())
    answer = ask(home, "status")
    running = answer is not None and answer.get("role") == "daemon"
    if as_json:
        print(
            json.dumps(
                {k: v for k, v in answer.items() if k != "ok"} if running and answer else _at_rest(home)
            )
        )
    elif running and answer:
        print("\n".join(describe(answer)))
    else:
        print("No daemon runs; start one with `hermes gateway run`.", file=sys.stderr)
        if answer is not None:
            print(f"A chat (process {answer.get('pid')}) uses this home.", file=sys.stderr)
        at_rest = _at_rest(home)
        print("\n".join([*_places(at_rest), *(f"Warning: {text}" for text in warnings(at_rest))]))
    return EXIT_OK if running else EXIT_NOT_RUNNING


def describe(status: dict[str, Any]) -> list[str]:
    """The lines for people; pure."""
    version, uptime = status.get("version", ""), _span(status.get("uptime", 0))
    head = f"Hermes {version} runs as process {status['pid']}, up {uptime}"
    lines = [head + (f", at {status['url']}." if status.get("url") else ".")]
    platforms: dict[str, dict[str, Any]] = status.get("platforms", {})
    width = max(map(len, platforms), default=0)
    lines += [f"  {name:<{width}}  {_state(name, p)}" for name, p in platforms.items()] or [
        "  no platform is on"
    ]
    turns, delivery = status.get("turns", {}), status.get("delivery", {})
    lines.append(
        f"Turns: {turns.get('running', 0)} running, {turns.get('finished', 0)} finished. "
        f"Replies: {delivery.get('waiting', 0)} waiting, {delivery.get('sent', 0)} sent, "
        f"{delivery.get('dead', 0)} dead letters."
    )
    lag = status.get("loop_lag", {})
    lines.append(
        f"Sessions: {status.get('sessions', {}).get('busy', 0)} busy. Inbox: "
        f"{status.get('sessions', {}).get('waiting', 0)} waiting. Loop lag: {lag.get('last', 0) * 1000:.0f} ms "
        f"(worst {lag.get('worst', 0) * 1000:.0f} ms)."
    )
    return [*lines, *_used(status), *_places(status), *(f"Warning: {text}" for text in warnings(status))]


def _used(status: dict[str, Any]) -> list[str]:
    today = status.get("usage", {}).get("today")
    if not today:
        return []
    cost = "" if today["cost"] is None else f", ${today['cost']:.4f}"
    tokens = f"{today['prompt']:,} tokens in ({today['cached']:,} cached), {today['completion']:,} out{cost}"
    calls = f"{today['calls']:,} model call{'' if today['calls'] == 1 else 's'}"
    return _filled("Today:", [calls, *tokens.split(", ")])


def _at_rest(home: Home) -> dict[str, Any]:
    """What can be said of a home that no daemon runs in."""
    from gateway import disk, versions

    found = disk.measure(home)
    warning = disk.low(found)
    return {
        "running": False,
        "disk": {**found, "warning": warning},
        "versions": versions.here(),
        "schema": versions.schemas(home.state),
        "warnings": [warning] if warning else [],
    }


def _places(status: dict[str, Any]) -> list[str]:
    disk, found = status.get("disk"), status.get("versions", {})
    lines = []
    if disk:
        kinds = [f"{kind} {in_words(size)}" for kind, size in disk["kinds"].items() if size]
        lines += _filled("Disk:", [*kinds, f"free {in_words(disk['free'])} of {in_words(disk['total'])}"])
    named = [f"{name} {version}" for name, version in found.items()]
    named += [f"schema {part} {number}" for part, number in status.get("schema", {}).items()]
    return lines + (_filled("Versions:", named) if named else [])


def _filled(head: str, parts: list[str]) -> list[str]:
    """The parts in a row, in lines of at most 79 columns."""
    lines, row = [], head
    for i, part in enumerate(parts):
        piece = part + ("." if i == len(parts) - 1 else ",")
        if len(row) + 1 + len(piece) > _COLUMNS:
            lines.append(row)
            row = " "
        row += f" {piece}"
    return [*lines, row]


def _state(name: str, platform: dict[str, Any]) -> str:
    state, reason = platform.get("state", "?"), platform.get("reason")
    if not reason:
        return str(state)
    advice = _advice(name, platform)
    return f"{state}: {reason}" + (f" ({advice})" if advice else "")


def _advice(name: str, platform: dict[str, Any]) -> str:
    """What a person can do. The key to set is named only where its value is what was refused."""
    if platform["reason"] == "conflict":
        return "another program uses the same account; stop that one"
    if platform["reason"] != "unauthorized":
        return ""
    told = platform.get("told") or "The platform refused its credentials."
    setting = platform.get("setting")
    if not setting:
        return f"{told} Then {_RESTART}"
    return f"{told} Then `hermes config set platforms.{name}.{setting}`, which asks for the new one, and {_RESTART}"


def warnings(status: dict[str, Any]) -> list[str]:
    """What is not as it should be, in sentences; pure."""
    return faults(status) + list(status.get("settings", {}).get("warnings", ()))


def faults(status: dict[str, Any]) -> list[str]:
    """The same without advice on the settings; pure."""
    settings = status.get("settings", {})
    found = [] if status.get("ready", True) else [f"nothing is taken: {status.get('reason')}"]
    if settings.get("error"):
        found.append(str(settings["error"]))
    if settings.get("restart_needed"):
        found.append(str(settings["restart_needed"]))
    return found + list(status.get("warnings", ()))


def failures(status: dict[str, Any]) -> list[str]:
    """The platforms that have given up, each with its reason; pure."""
    platforms: dict[str, dict[str, Any]] = status.get("platforms", {})
    return [f"{name} has {_state(name, p)}" for name, p in platforms.items() if p.get("state") == "failed"]


def _span(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
