"""`hermes status` where its options are written wrongly or help is wanted; else `main` goes the short way."""

from __future__ import annotations

import typer

from gateway.cli.output import AsJson, new_app
from gateway.cli.status import show

__all__ = ["app"]

app = new_app("Say how the daemon is.", group=False)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Say how the daemon is. Exit code 0 when it runs, 3 when not."""
    raise typer.Exit(show(as_json=as_json))
