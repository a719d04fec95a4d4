"""`hermes logs`: what the daemon wrote, and with `-f` what it writes."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Annotated, Literal

import typer

from gateway.cli.output import AsJson, json_text, new_app
from hermes.errors import HermesError
from hermes.home import Home, default_home

__all__ = ["app"]

app = new_app("Show the daemon's log.", group=False)


@app.command()
def logs(
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="Go on with what is written from now on.")
    ] = False,
    number: Annotated[
        int, typer.Option("-n", "--lines", min=0, max=100_000, help="How many, newest last.")
    ] = 50,
    level: Annotated[
        Literal["debug", "info", "warning", "error"], typer.Option(help="Records of this level and worse.")
    ] = "debug",
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Such as 1h: not older than this.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the daemon's log, without secrets. With --json, one document a line."""
    from gateway import logbook
    from gateway.home import check_made

    home = Home(default_home())
    check_made(home)
    folder = home.logs
    wanted = logbook.Filter(level, _since(since))

    def show(record: logbook.Record) -> None:
        text = json_text(record.to_json()) if as_json else record.text
        print(text, flush=True)

    try:
        with logbook.Log(folder) as log:
            for record in deque((r for r in log.stored() if wanted.takes(r)), maxlen=number):
                show(record)
            if follow:
                for record in log.follow():
                    if wanted.takes(record):
                        show(record)
    except BrokenPipeError:  # whoever reads has seen enough
        raise
    except OSError as error:
        raise HermesError(f"The log in {folder} cannot be read: {error.strerror}.") from error
    if not folder.is_dir():
        print(f"There is no log in {folder} yet.", file=sys.stderr)


def _since(text: str | None) -> float:
    from hermes.config import parse_duration

    if text is None:
        return 0.0
    try:
        return time.time() - parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
