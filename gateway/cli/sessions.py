"""`hermes sessions list|show|export|rename|delete|prune`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

from gateway.cli.asking import ask_holder
from gateway.cli.chat.text import clean
from gateway.cli.consent import ensure_agreed
from gateway.cli.output import AsJson, json_text, new_app, print_json, print_table, when

__all__ = ["app"]

app = new_app("Look at conversations, export, rename and delete them.")

Id = Annotated[str, typer.Argument(metavar="ID", help="An id that `list` shows.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
_AT_ONCE = 1000
_LONG = 600.0
"""Seconds that a deletion may take: the database is written anew."""


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
def show(session: Id, as_json: AsJson = False) -> None:
    """Print a conversation."""
    answer = ask_holder("sessions.show", session=session)
    if as_json:
        print_json(answer["messages"])
        return
    for message in answer["messages"]:
        print(clean(f"[{when(message['at'])}] {message['role']}: {message['text']}"))


@app.command()
def export(
    session: Id,
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="`-`: print it.")] = "-",
    form: Annotated[
        Literal["md", "json", "jsonl"],
        typer.Option("--format", help="Markdown to read; JSON and JSONL hold tool calls too."),
    ] = "md",
) -> None:
    """Write a whole conversation out."""
    facts, messages = _transcript(session)
    if form == "jsonl":
        text = "".join(f"{json_text(m)}\n" for m in messages)
    elif form == "json":
        text = json_text({"session": facts, "messages": list(messages)}, indent=1) + "\n"
    else:
        text = as_markdown(facts, messages)
    if output == "-":
        print(clean(text) if sys.stdout.isatty() else text, end="")
        return
    from pathlib import Path

    from gateway.home import atomic_write
    from hermes.errors import HermesError

    try:
        atomic_write(Path(output), text.encode())
    except OSError as error:
        raise HermesError(f"{output} cannot be written: {error.strerror}.") from error
    print(f"Wrote {output}.")


def _transcript(session: str) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    first = ask_holder("sessions.page", session=session)

    def lines() -> Iterator[dict[str, Any]]:
        page = first
        while page["lines"]:
            yield from (json.loads(line) for line in page["lines"])
            page = ask_holder("sessions.page", session=session, after=page["last"])

    return first["session"], lines()


def as_markdown(facts: dict[str, Any], messages: Iterator[dict[str, Any]]) -> str:
    """A conversation to read: what people and the agent said, and the names of the tools that were used."""
    parts = [f"# {facts['title'] or facts['id']}", f"{facts['key']}, from {when(facts['started_at'])}"]
    for message in messages:
        said = str(message.get("text") or "").strip()
        used = [str(call.get("name")) for call in message.get("tool_calls") or ()]
        if message.get("role") == "tool" or not (said or used):
            continue
        tools = [f"*used {', '.join(used)}*"] if used else []
        parts += [f"## {message['role']}, {when(message.get('at'))}", *([said] if said else []), *tools]
    return "\n\n".join(parts) + "\n"


@app.command()
def rename(session: Id, title: str, as_json: AsJson = False) -> None:
    """Give a conversation another title."""
    called = ask_holder("sessions.rename", session=session, title=title)["title"]
    if as_json:
        print_json({"id": session, "title": called})
    else:
        print(clean(f"{session} is now called {called}."))


@app.command()
def delete(
    sessions: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids that `list` shows.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete conversations with everything that was said in them, for good."""
    for session in sessions:
        ask_holder("sessions.page", session=session)  # says which one is not there
    _delete(sessions, yes=yes, as_json=as_json)


@app.command()
def prune(
    older_than: Annotated[str, typer.Option(metavar="TIME", help="Such as 90d: no message for so long.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete the conversations that have been silent for long."""
    from hermes.config import parse_duration

    try:
        before = time.time() - parse_duration(older_than)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    found = ask_holder("sessions.older", before=before)["sessions"]
    if not found and not as_json:
        print("There are none.")
    if found and not as_json and not yes:
        print_table(("ID", "LAST", "TITLE"), [(s["id"], when(s["last_at"]), s["title"]) for s in found])
    _delete([s["id"] for s in found], yes=yes, as_json=as_json)


def _delete(sessions: list[str], *, yes: bool, as_json: bool) -> None:
    count = f"{len(sessions)} conversation{'s' if len(sessions) != 1 else ''}"
    if sessions and not yes:
        ensure_agreed(f"Delete {count} for good?", f"Add --yes to delete {count} for good.")
    copies: list[str] = []
    for at in range(0, len(sessions), _AT_ONCE):
        part = sessions[at : at + _AT_ONCE]
        copies = ask_holder("sessions.delete", seconds=_LONG, sessions=part)["copies"]
    if as_json:
        print_json({"deleted": sessions, "copies": copies})
    elif sessions:
        print(f"Deleted {count}.")
        for copy in copies:
            print(f"This copy of the database may still hold what was said: {copy}")
