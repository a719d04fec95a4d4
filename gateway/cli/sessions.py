"""`hermes sessions list|show`."""

from __future__ import annotations

from typing import Annotated

import typer

from gateway.cli.asking import ask_holder
from gateway.cli.output import AsJson, new_app, print_json, print_table, when

__all__ = ["app"]

app = new_app("Look at conversations.")


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List conversations, newest first."""
    found = ask_holder("sessions.list", limit=limit)["sessions"]
    if as_json:
        print_json(found)
    elif not found:
        print("There are no conversations yet.")
    else:
        rows = [(s["session_id"], when(s["last_at"]), s["messages"], s["title"], s["key"]) for s in found]
        print_table(("ID", "LAST", "MESSAGES", "TITLE", "SESSION"), rows)


@app.command()
def show(
    session: Annotated[str, typer.Argument(help="An id that `list` shows.")], as_json: AsJson = False
) -> None:
    """Print a conversation."""
    answer = ask_holder("sessions.show", session=session)
    if as_json:
        print_json(answer["messages"])
        return
    for message in answer["messages"]:
        print(f"[{when(message['at'])}] {message['role']}: {message['text']}")
