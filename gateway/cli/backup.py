"""`hermes backup`: everything that is needed to go on elsewhere, in one file, while the daemon runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.output import AsJson, new_app, print_json
from gateway.control_client import ask
from hermes.errors import HermesError
from hermes.home import Home, default_home

__all__ = ["app"]

app = new_app("Make a backup of the home, while the daemon runs or not.", group=False)

_COPY_SECONDS = 6 * 3600.0
_TOLD_EVERY = 1.0


@app.command()
def backup(
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE|DIR", help="Absent: backups/ in the home.")
    ] = None,
    no_secrets: Annotated[bool, typer.Option("--no-secrets", help="Leave .env out.")] = False,
    workspace: Annotated[bool, typer.Option("--workspace", help="The agent's workspace/ too.")] = False,
    keep: Annotated[
        int | None, typer.Option(min=1, help="Keep so many in that folder (in the home's own: 5).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put settings, secrets, conversations, memory, skills and tools into one file.

    Logs, models and earlier backups are not in it.
    """
    from gateway.backup import Wish, make
    from gateway.books import copy_online
    from gateway.home import HomeLock, check_made, check_ours, prepare
    from gateway.kept import database_copy

    home = Home(default_home())
    check_made(home)
    check_ours(home)
    wish = Wish(output, secrets=not no_secrets, workspace=workspace, keep=keep)
    with ExitStack() as stack:
        held = ask(home, "status") is not None
        if not held:
            prepare(home)
            stack.enter_context(HomeLock(home))

        def copy() -> Path | None:
            if held:
                return Path(_copied_by_holder(home))
            if not home.state.exists():
                return None
            target = database_copy(home)
            copy_online(home.state, target)
            return target

        made = make(home, wish, copy, _progress())
    if as_json:
        print_json(
            {
                "path": str(made.path),
                "size": made.size,
                "files": len(made.manifest.files),
                "at": made.manifest.at,
                "schemas": dict(made.manifest.schemas),
                "left_out": list(made.manifest.left_out),
                "skipped": list(made.skipped),
                "removed": [str(p) for p in made.removed],
            }
        )
        return
    print(f"{made.path} ({made.size:,} bytes, {len(made.manifest.files)} files)")
    if made.manifest.left_out:
        print(f"Secrets that are not in it: {', '.join(made.manifest.left_out)}")
    elif not no_secrets:
        print("It holds your secrets; keep it as you keep them.")
    if made.skipped:
        print(f"Links, odd names and the like that are not in it: {', '.join(made.skipped)}", file=sys.stderr)
    if not workspace and any(home.workspace.glob("*")):
        print(f"{home.workspace} is not in it; --workspace takes it too.", file=sys.stderr)
    for path in made.removed:
        print(f"Removed the older {path.name}.")


def _copied_by_holder(home: Home) -> str:
    answer = ask(home, "backup.copy", seconds=_COPY_SECONDS)
    if answer is None:
        raise HermesError("The daemon ended while it copied the database; try again.")
    return str(answer["path"])


def _progress() -> Callable[[int, int], None]:
    """Says how far it is, at a terminal, once a second."""
    last = time.monotonic()
    shown = sys.stderr.isatty()

    def told(done: int, total: int) -> None:
        nonlocal last
        if shown and time.monotonic() - last >= _TOLD_EVERY:
            last = time.monotonic()
            sys.stderr.write(f"\r{min(done / max(total, 1), 1):4.0%} of {total:,} bytes ")
            sys.stderr.flush()

    return told
