"""`hermes chat`: a conversation at a terminal; with `-q` one question; else stdin, line by line."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.chat.link import Link, LinkLost
from gateway.cli.chat.talk import Interrupted, exchange
from gateway.cli.chat.view import Plain
from gateway.cli.loop import run
from gateway.cli.output import new_app
from hermes.errors import EXIT_OK, EXIT_UNEXPECTED
from hermes.home import Home, default_home

if TYPE_CHECKING:
    from gateway.cli.chat.prompt import Editor

__all__ = ["app"]

app = new_app("Talk to the agent in this terminal.", group=False)

INTERRUPTED = 130
TERMINATED = 143


@app.command()
def chat(
    question: Annotated[
        str | None, typer.Option("-q", "--question", metavar="TEXT", help="Ask this, print the answer, end.")
    ] = None,
    session: Annotated[str, typer.Option(metavar="NAME", help="Which conversation.")] = "main",
) -> None:
    """Talk to the agent: the daemon's, or, when none runs, one in this process.

    Without a terminal each line of stdin is a message. Ctrl-C stops the running turn, once more leaves.
    """
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", session):
        raise typer.BadParameter("a session's name has 1 to 64 letters, digits, dots, - and _")
    if question is not None and not question.strip():
        raise typer.BadParameter("the question is blank")
    raise typer.Exit(run(_chat(Home(default_home()), session, question)))


async def _chat(home: Home, session: str, question: str | None) -> int:
    link = Link(home, session)
    task = asyncio.current_task()

    def terminate() -> None:
        link.hurry()  # what runs here is open on disk: the next start goes on with it
        if task is not None:
            task.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
    try:
        async with link:
            link.tell = _tell
            if question is not None:
                return await _one(link, question)
            if sys.stdin.isatty():
                return await _converse(link, home, session)
            return await _lines(link)
    except Interrupted:
        return INTERRUPTED
    except asyncio.CancelledError:  # by SIGTERM
        return TERMINATED


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


async def _one(link: Link, question: str) -> int:
    state = await exchange(link, Plain(failures_apart=True), question)
    if state == "interrupted":
        return INTERRUPTED
    return EXIT_OK if state in {"answered", "silent"} else EXIT_UNEXPECTED


async def _lines(link: Link) -> int:
    view = Plain()
    while line := await asyncio.to_thread(sys.stdin.readline):
        if line.strip() and await exchange(link, view, line.strip()) == "interrupted":
            return INTERRUPTED
    return EXIT_OK


async def _converse(link: Link, home: Home, session: str) -> int:
    from gateway.cli.chat.keys import typed_ahead
    from gateway.cli.chat.prompt import open_editor

    editor = await open_editor(home)
    with typed_ahead(sys.stdin.fileno()):
        if sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown"):
            from gateway.cli.chat.room import Room

            return await Room(link, editor).run(session)
        return await _take_turns(link, editor)


async def _take_turns(link: Link, editor: Editor) -> int:
    """On a terminal that cannot move its cursor: first the message, then its whole answer."""
    view = Plain()
    interrupted = False
    while True:
        try:
            text = await editor.read()
        except KeyboardInterrupt:
            if interrupted:
                return EXIT_OK
            interrupted = True
            print("Once more Ctrl-C leaves; so does /exit.", file=sys.stderr)
            continue
        interrupted = False
        if text is None:
            return EXIT_OK
        if text.strip():
            await _say(link, view, text)


async def _say(link: Link, view: Plain, text: str) -> None:
    try:
        await exchange(link, view, text)
    except LinkLost as error:  # the next message tries anew
        print(error, file=sys.stderr)
