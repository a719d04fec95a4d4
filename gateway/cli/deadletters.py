"""`hermes deadletters list|show|retry|drop`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gateway.cli.asking import ask_holder
from gateway.cli.chat.text import clean
from gateway.cli.output import AsJson, new_app, print_json, print_table, when

__all__ = ["app"]

app = new_app("Look at replies and messages that were given up, and try them again.")

Letters = Annotated[
    list[str], typer.Argument(metavar="ID...", help="Such as r12 or m34, as `list` shows them; or `all`.")
]
_ALL = 1000


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option(min=1, max=_ALL, help="How many, newest first.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List what was given up, newest first."""
    found = ask_holder("letters.list", limit=limit)["letters"]
    if as_json:
        print_json(found)
    elif not found:
        print("There are no dead letters.")
    else:
        print_table(("ID", "WHEN", "TO", "STATE", "WHY", "TEXT"), [_row(letter) for letter in found])


def _row(letter: dict[str, Any]) -> tuple[str, ...]:
    place = ":".join(p for p in (letter["instance"], letter["chat"], letter["thread"]) if p)
    return (
        *(letter["id"], when(letter["at"]), place, letter["state"]),
        *(_short(letter["reason"], 40), _short(_what(letter), 40)),
    )


def _what(letter: dict[str, Any]) -> str:
    return " ".join((*(f"[{name}]" for name in letter.get("files", ())), letter["text"]))


def _short(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


@app.command()
def show(
    letter: Annotated[str, typer.Argument(metavar="ID", help="Such as r12 or m34.")], as_json: AsJson = False
) -> None:
    """Print one whole."""
    found = ask_holder("letters.show", letter=letter)["letter"]
    if as_json:
        print_json(found)
        return
    for name in ("id", "kind", "state", "instance", "chat", "thread", "attempts", "reason"):
        if found[name] not in (None, ""):
            print(clean(f"{name}: {found[name]}"))
    for name in found.get("files", ()):
        print(clean(f"file: {name}"))
    print(clean(f"when: {when(found['at'])}\n\n{found['text']}"))


@app.command()
def retry(letters: Letters, as_json: AsJson = False) -> None:
    """Try them again, once each: a reply is sent, a message is answered. Without a daemon, at its next start."""
    _change("letters.retry", letters, "tried again", as_json=as_json)


@app.command()
def drop(letters: Letters, as_json: AsJson = False) -> None:
    """Take them off the list. What they held is removed after `retention.dead_letters`."""
    _change("letters.drop", letters, "taken off the list", as_json=as_json)


def _change(op: str, wanted: list[str], what: str, *, as_json: bool) -> None:
    if wanted == ["all"]:
        wanted = [letter["id"] for letter in ask_holder("letters.list", limit=_ALL)["letters"]]
    done: list[str] = ask_holder(op, letters=wanted)["letters"] if wanted else []
    if as_json:
        print_json(done)
    elif not done:
        print("There are no dead letters.")
    else:
        print(f"{done[0]} is {what}." if len(done) == 1 else f"{len(done)} letters are {what}.")
