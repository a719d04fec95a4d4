"""`hermes doctor`: what is wrong with the home, the settings and the store, and mending what can be rebuilt."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from gateway import swap
from gateway.cli.loop import run
from gateway.cli.output import AsJson, new_app, print_json
from gateway.cli.status import failures, faults
from gateway.control_client import ask
from gateway.home import HomeLock, check_made, check_ours, prepare
from hermes.errors import EXIT_UNEXPECTED, ConfigError, HermesError
from hermes.home import Home, default_home

__all__ = ["app"]

app = new_app("Find what is damaged, and mend it.", group=False)

Finding = dict[str, Any]


@app.command()
def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Build search index and transcripts anew.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look at home, configuration, daemon and store. Exit code 1 when something is wrong."""
    home = Home(default_home())
    check_made(home)
    check_ours(home)
    if swap.is_decided(home.root):
        prepare(home)  # finishes a restore that was cut
    findings = [*_configuration(home), *_daemon_or_store(home, fix=fix)]
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            print(_line(finding))
    if not all(finding["ok"] for finding in findings):
        raise typer.Exit(EXIT_UNEXPECTED)


def _finding(name: str, detail: str, *, ok: bool, note: bool = False) -> Finding:
    """`note`: nothing is wrong, but somebody should look at it."""
    return {"name": name, "ok": ok, "note": note, "detail": detail, "fixable": False}


def _configuration(home: Home) -> list[Finding]:
    from gateway.config.loading import load
    from gateway.wiring import SCHEMA, unusable

    try:
        snapshot = load(home, SCHEMA, os.environ)
    except ConfigError as error:
        return [_finding("configuration", str(error), ok=False)]
    return [
        *(_finding("configuration", warning, ok=True, note=True) for warning in snapshot.warnings),
        *([] if snapshot.warnings else [_finding("configuration", "It is right.", ok=True)]),
        *(_finding("models", sentence, ok=False) for sentence in unusable(snapshot)),
    ]


def _daemon_or_store(home: Home, *, fix: bool) -> list[Finding]:
    """The store is looked at by whoever has it open: the daemon, else this command under the home's lock."""
    status = ask(home, "status")
    if status is not None:
        if fix:
            raise HermesError("Nothing can be mended while Hermes runs: `hermes gateway stop`, then again.")
        found = [*faults(status), *failures(status)]
        detail = "; ".join(found) or "It runs and takes messages."
        answer = ask(home, "doctor", seconds=600.0)
        if answer is None:
            raise HermesError("The daemon ended while it looked at its store; try again.")
        return [_finding("daemon", detail, ok=not found), *answer.get("findings", [])]
    if not home.state.exists():
        return [_finding("store", "There is no store yet.", ok=True)]
    prepare(home)
    with HomeLock(home):
        return _store(home, fix=fix)


def _store(home: Home, *, fix: bool) -> list[Finding]:
    from gateway.books import examine

    try:
        return run(examine(home, fix=fix))
    except HermesError as error:
        return [_finding("store", str(error), ok=False)]


def _line(finding: Finding) -> str:
    mark = "BAD " if not finding["ok"] else "note" if finding.get("note") else "ok  "
    hint = " (`hermes doctor --fix` mends it)" if finding["fixable"] and not finding["ok"] else ""
    return f"{mark} {finding['name']}: {finding['detail']}{hint}"
