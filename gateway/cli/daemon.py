"""`hermes gateway add|remove|run|stop|restart|reload|status|list|install|uninstall`, and `hermes run`."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from typing import Annotated, Any

import typer

from gateway.cli import platforms
from gateway.cli.output import AsJson, new_app, print_json, print_table
from gateway.control_client import ControlRefused, ask, running_daemon
from hermes.errors import EXIT_NOT_RUNNING, EXIT_UNEXPECTED, ConfigError
from hermes.home import Home, default_home

__all__ = ["app", "run_app"]

app = new_app("Run, stop, restart and install the daemon.")
run_app = new_app("Run the daemon here.", group=False)
app.command()(platforms.add)
app.command()(platforms.remove)

MARGIN = 30.0
"""Seconds beyond the drain that a stop may take: the outbox, adapters, the store."""

Only = Annotated[
    str | None, typer.Option("--gateway", metavar="NAME", help="Only this one of the platforms.")
]
Daemon = Annotated[bool, typer.Option("--daemon", help="Detach; return when it is ready.")]
ReadyFd = Annotated[int | None, typer.Option(hidden=True)]


# --- run -----------------------------------------------------------------------------------------


@run_app.command()
@app.command()
def run(gateway: Only = None, daemon: Daemon = False, ready_fd: ReadyFd = None) -> None:
    """Run the daemon in the foreground until it is asked to stop."""
    if daemon:
        from gateway.cli.detach import detach

        words = ["gateway", "run", *(["--gateway", gateway] if gateway else [])]
        raise typer.Exit(detach(Home(default_home()), words))
    from gateway.cli.serving import serve_here

    raise typer.Exit(serve_here(gateway, ready_fd))


# --- stop, restart, reload -----------------------------------------------------------------------


@app.command()
def stop(as_json: AsJson = False) -> None:
    """Stop the daemon: running turns end first, up to `gateway.drain_timeout`. Exit code 3 when none runs."""
    from gateway.cli.process import has_ended

    home = Home(default_home())
    pid = _ask_to_stop(home)
    seconds = _stop_seconds(home)
    if not has_ended(pid, seconds):
        raise ControlRefused(
            f"The daemon (process {pid}) has not ended within {seconds:.0f} s; `kill -9 {pid}` ends it."
        )
    if as_json:
        print_json({"pid": pid})
    else:
        print(f"Stopped (process {pid}).")


def _ask_to_stop(home: Home) -> int:
    from gateway.cli.process import holder

    running = running_daemon(home)
    if running is not None and ask(home, "stop") is not None:
        return int(running["pid"])
    pid = holder(home)  # it starts, stops, or its socket was removed
    if pid is None or (running is None and ask(home, "status") is not None):  # or only a chat has the home
        raise _not_running()
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    return pid


@app.command()
def restart(as_json: AsJson = False) -> None:
    """Stop the daemon as `stop` does, and have it start again. Exit code 3 when none runs."""
    home = Home(default_home())
    before = running_daemon(home)
    if before is None:
        raise _not_running()
    asked = time.monotonic()
    ask(home, "restart")
    deadline = asked + _stop_seconds(home) + MARGIN
    while time.monotonic() < deadline:
        now = _status_or_none(home)
        if now is not None and now.get("ready") and now.get("uptime", 0.0) < time.monotonic() - asked:
            if as_json:
                print_json({"pid": now["pid"]})
            else:
                print(f"Restarted (process {now['pid']}).")
            return
        time.sleep(0.1)  # nothing tells that a process which does not exist yet is ready
    raise ControlRefused(
        "The daemon did not come back; its log says why (`hermes gateway run` shows it here)."
    )


@app.command()
def reload(as_json: AsJson = False) -> None:
    """Have the daemon read its settings again. Exit code 3 when none runs."""
    home = Home(default_home())
    if running_daemon(home) is None:
        raise _not_running()
    answer = ask(home, "reload")
    if answer is None:
        raise ControlRefused("The daemon ended meanwhile; its log may say why.")
    if as_json:
        print_json({"number": answer["number"]})
    else:
        print(f"Settings number {answer['number']} are in use.")


def _status_or_none(home: Home) -> dict[str, Any] | None:
    try:
        return running_daemon(home)
    except ControlRefused:  # it is between two lives
        return None


def _not_running() -> ControlRefused:
    return ControlRefused("No daemon runs.", EXIT_NOT_RUNNING)


def _stop_seconds(home: Home) -> float:
    from gateway.config.loading import load
    from gateway.settings import GatewaySettings
    from gateway.wiring import SCHEMA

    try:
        drain = load(home, SCHEMA, os.environ).get("gateway", GatewaySettings).drain_timeout
    except ConfigError:  # the daemon runs on an earlier one
        drain = GatewaySettings().drain_timeout
    return drain + MARGIN


# --- status, list --------------------------------------------------------------------------------


@app.command()
def status(as_json: AsJson = False) -> None:
    """Say how the daemon is. Exit code 0 when it runs, 3 when not."""
    from gateway.cli.status import show

    raise typer.Exit(show(as_json=as_json))


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the platforms that are set up, and how they are."""
    from gateway.config.loading import load
    from gateway.home import check_made
    from gateway.wiring import SCHEMA

    home = Home(default_home())
    snapshot = load(home, SCHEMA, os.environ)
    if not snapshot.platforms:
        check_made(home)
    running = _status_or_none(home) or {}
    live = running.get("platforms", {})
    changed = running.get("settings", {}).get("restart_needed")
    rows = [
        {
            "name": name,
            "type": p.type,
            "enabled": p.enabled,
            "state": live.get(name, {}).get("state", "stopped"),
            "reason": live[name].get("reason") if name in live else changed if p.enabled else None,
        }
        for name, p in sorted(snapshot.platforms.items())
    ]
    if as_json:
        print_json(rows)
    elif not rows:
        print("No platform is set up: hermes gateway add telegram")
    else:
        shown = [
            (r["name"], r["type"], "on" if r["enabled"] else "off", r["state"], r["reason"]) for r in rows
        ]
        print_table(("NAME", "TYPE", "ON", "STATE", "REASON"), shown)


# --- the unit ------------------------------------------------------------------------------------


@app.command()
def install(
    print_only: Annotated[bool, typer.Option("--print", help="Print the unit, write nothing.")] = False,
    force: Annotated[bool, typer.Option(help="Replace a unit that was changed by hand.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a systemd unit: for the system as root, else for you."""
    from gateway.unit import plan, render, write

    home = Home(default_home())
    unit = plan(home, os.environ, drain=_stop_seconds(home) - MARGIN)
    if print_only:
        print(render(unit), end="")
        return
    write(unit, force=force)
    start = f"{' '.join(unit.manager)} enable --now {unit.path.name}"
    if as_json:
        print_json({"path": str(unit.path), "start": start, "warnings": list(unit.warnings)})
        _manager_reload(unit.manager)
        return
    print(f"Wrote {unit.path}.")
    for line in unit.warnings:
        print(f"Warning: {line}", file=sys.stderr)
    _manager_reload(unit.manager)
    print(f"Start it, now and at each boot: {start}")
    if not unit.system:
        print("So that it also runs while you are not logged in: loginctl enable-linger")


@app.command()
def uninstall(as_json: AsJson = False) -> None:
    """Stop the service and remove the unit."""
    from gateway.unit import plan, remove

    home = Home(default_home())
    unit = plan(home, os.environ, drain=0)
    if not unit.path.exists():
        print(f"There is no {unit.path}.", file=sys.stderr)
        raise typer.Exit(EXIT_UNEXPECTED)
    if _booted():
        _systemctl([*unit.manager, "disable", "--now", unit.path.name])
    remove(unit)
    _manager_reload(unit.manager)
    if as_json:
        print_json({"path": str(unit.path), "home": str(home.root)})
    else:
        print(f"Removed {unit.path}. The home {home.root} was left alone.")


def _booted() -> bool:
    """Whether systemd runs this machine (sd_booted(3))."""
    return os.path.isdir("/run/systemd/system")  # noqa: PTH112  one call


def _manager_reload(manager: tuple[str, ...]) -> None:
    if _booted():
        _systemctl([*manager, "daemon-reload"])
    else:
        print("systemd does not run here, so nothing was told to it.", file=sys.stderr)


def _systemctl(words: list[str]) -> None:
    import subprocess

    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        said, failed = done.stderr.strip(), done.returncode != 0
    except (OSError, subprocess.TimeoutExpired) as error:
        said, failed = str(error), True
    if failed:
        print(f"Warning: `{' '.join(words)}` failed: {said}", file=sys.stderr)
