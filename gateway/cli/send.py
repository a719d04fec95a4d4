"""`hermes send --to TARGET TEXT`."""

from __future__ import annotations

import sys
import uuid
from typing import Annotated, Any

import typer

from gateway.cli.asking import ask_holder
from gateway.cli.output import AsJson, new_app, print_json
from gateway.router import parse_target
from hermes.errors import HermesError

__all__ = ["app"]

app = new_app("Send a message to a chat.", group=False)

_MOST = 900_000
"""Bytes: a request of the control socket is one line of at most a megabyte."""
_ANSWERING = 15.0


@app.command()
def send(
    to: Annotated[str, typer.Option(help="platform:chat or platform:chat:thread, such as telegram:12345.")],
    text: Annotated[
        str, typer.Argument(help="The message, in Markdown; - or nothing: from standard input.")
    ] = "-",
    key: Annotated[
        str,
        typer.Option(
            help="The message's own name: with the same key it is sent once, however often you try."
        ),
    ] = "",
    wait: Annotated[
        float, typer.Option(min=0, max=600, help="Seconds to wait for the platform to take it.")
    ] = 30.0,
    as_json: AsJson = False,
) -> None:
    """Send a message to a chat, by the running daemon or, when none runs, from here.

    It is on disk before it is sent: what the platform does not take now goes out as soon as it does.
    Exit code 1: the platform refused it, or nobody knows whether it arrived.
    """
    words = _words(text)
    platform = parse_target(to).instance
    asked = {"to": to, "text": words, "key": key or uuid.uuid4().hex, "wait": wait}
    sent = ask_holder("send", seconds=wait + _ANSWERING, sends=platform, **asked)["sent"]
    if as_json:
        print_json(sent)
    else:
        _tell(sent)
    if sent["state"] in ("dead", "dropped"):
        raise typer.Exit(1)


def _words(text: str) -> str:
    if text != "-":
        return text
    if sys.stdin.isatty():
        raise HermesError('Name the text, or pipe it in: hermes send --to telegram:12345 "Good morning"')
    data = sys.stdin.buffer.read(_MOST + 1)
    if len(data) > _MOST:
        raise HermesError(f"The text is longer than {_MOST} bytes.")
    return data.decode("utf-8", "replace")


def _tell(sent: dict[str, Any]) -> None:
    why = f" ({sent['error']})" if sent["error"] else ""
    match sent["state"]:
        case "sent":
            print(f"Sent to {sent['target']}.")
        case "queued":
            print(f"Not taken yet{why}: it goes out as soon as the platform takes it, while a daemon runs.")
        case "dropped":
            print(f"Nobody knows whether it arrived{why}; hermes deadletters list shows it.", file=sys.stderr)
        case _:
            print(f"Refused{why}; hermes deadletters list shows it.", file=sys.stderr)
