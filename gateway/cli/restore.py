"""`hermes restore`: go on from a backup, or go back to the copy from before an upgrade."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.consent import ensure_agreed
from gateway.cli.output import AsJson, new_app, print_json, when
from hermes import failpoint
from hermes.errors import HermesError
from hermes.home import Home, default_home

__all__ = ["app"]

app = new_app("Go on from a backup.", group=False)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `hermes backup` made.")],
    into: Annotated[Path | None, typer.Option("--into", metavar="DIR", help="A new home there.")] = None,
    database: Annotated[
        bool, typer.Option("--database", help="FILE is a copy of state.db, such as state.db.v3.bak.")
    ] = False,
    resend: Annotated[
        bool, typer.Option("--resend", help="Send and answer what was open then; it may come twice.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put a backup in the place of what the home has now, which is moved aside. No daemon may run."""
    from gateway.home import HomeLock, prepare
    from gateway.restore import go_back
    from gateway.restore import restore as put_back

    failpoint.arm()
    home = Home((into.expanduser() if into else default_home()).absolute())
    file = file.expanduser().absolute()
    if not file.is_file():
        raise HermesError(f"{file} is no file." if file.exists() else f"There is no {file}.")
    # The lock is all that a restore leaves in a new home when it was refused.
    if into is not None and home.root.is_dir() and {p.name for p in home.root.iterdir()} - {home.lock.name}:
        raise HermesError(f"{home.root} is not empty; name a new folder.")
    prepare(home)
    with HomeLock(home):
        if home.state.exists() and not yes:
            _ask(home)
        done = go_back(home, file) if database else put_back(home, file, resend=resend)
    if as_json:
        print_json({**asdict(done), "home": str(home.root), "aside": str(done.aside) if done.aside else None})
        return
    print(f"{home.root} is as it was at {when(done.at)}.")
    if done.aside is not None:
        print(f"What was there before lies in {done.aside}; remove it when you do not need it.")
    if done.lost:
        print("Not there any more: " + ", ".join(f"{n} {name}" for name, n in done.lost.items()) + ".")
    if done.dropped or done.stopped:
        print(
            f"Open at that time, and left so: {done.dropped} replies that were not sent, "
            f"{done.stopped} messages that were not answered."
        )
    if done.left_out:
        print(f"Secrets to set again: {', '.join(done.left_out)} (in {home.env}).")
    print("Look at it with `hermes doctor`, then start: hermes gateway run")


def _ask(home: Home) -> None:
    question = f"Put it in the place of what {home.root} has now?"
    ensure_agreed(question, f"{home.root} holds conversations; add --yes to put the backup in their place.")
