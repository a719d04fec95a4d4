"""`hermes send --to TARGET [--file FILE] TEXT`, and the list of what there is to send to."""

from __future__ import annotations

import os
import stat
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from gateway.cli.asking import Ask, ask_holder, talk_to_holder
from gateway.cli.output import AsJson, new_app, print_json, print_table
from gateway.router import HOME, ORIGIN, parse_target
from hermes.errors import ConfigError, HermesError
from hermes.messages import JSONObject

__all__ = ["app"]

app = new_app("Send a message to a chat.", group=False)

_MOST = 900_000
"""Bytes: a request of the control socket is one line of at most a megabyte."""
_ANSWERING = 15.0
_MOST_FILES = 20


@app.command()
def send(  # noqa: PLR0913, PLR0917  its options
    text: Annotated[
        str | None,
        typer.Argument(
            help="The message, in Markdown; - or, without a file, nothing: from standard input. With files it is the "
            "caption of the first."
        ),
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            help="platform:chat or platform:chat:thread, such as telegram:12345; platform:#name; platform alone: its "
            "home (/sethome)."
        ),
    ] = "",
    file: Annotated[
        list[Path] | None, typer.Option(help="A file to send; may be said several times.")
    ] = None,
    key: Annotated[
        str,
        typer.Option(
            help="The message's own name: with the same key it is sent once, files and all, however often you try."
        ),
    ] = "",
    wait: Annotated[
        float, typer.Option(min=0, max=600, help="Seconds to wait for the platform to take it.")
    ] = 30.0,
    listed: Annotated[
        bool, typer.Option("--list", help="List the chats that are known by a name, and the homes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Send a message to a chat, by the running daemon or, when none runs, from here.

    It is on disk before it is sent: what the platform does not take now goes out as soon as it does.
    Exit code 1: the platform refused it, or nobody knows whether it arrived.
    """
    if listed:
        _list(as_json=as_json)
        return
    if not to:
        raise ConfigError(
            "Name the target: hermes send --to telegram:12345; hermes send --list shows those that have names."
        )
    if to == ORIGIN:
        raise ConfigError("`origin` is the chat that a message came from; nothing came from one here.")
    files = file or []
    if len(files) > _MOST_FILES:
        raise HermesError(f"One message has at most {_MOST_FILES} files.")
    if not key:  # with one it may have been sent already, and then nobody needs its files
        _look_at(files)
    words = _words(text, bare=bool(files))
    if parse_target(to).instance == HOME:
        to = ask_holder("targets.resolve", to=to)["target"]
    message = _Message(to, words, key or uuid.uuid4().hex, wait, files)
    sent = talk_to_holder(message.sent_by, sends=parse_target(to).instance)
    if as_json:
        print_json(sent)
    else:
        _tell(sent)
    if sent["state"] in ("dead", "dropped"):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Found:
    """A file that is to be sent. shown: as it was named. size: bytes."""

    path: Path
    shown: str
    size: int


@dataclass(frozen=True, slots=True)
class _Message:
    to: str
    words: str
    key: str
    wait: float
    files: list[Path]

    def sent_by(self, ask: Ask) -> dict[str, Any]:
        """What becomes of it. Files are copied once it is known that they will be taken."""
        kept = self._kept(ask) if self.files else []
        asked = {"to": self.to, "text": self.words, "key": self.key, "wait": self.wait, "files": kept}
        sent: dict[str, Any] = ask("send", seconds=self.wait + _ANSWERING, **asked)["sent"]
        return sent

    def _kept(self, ask: Ask) -> list[JSONObject]:
        ready = ask("send.prepare", to=self.to, key=self.key)["message"]
        if ready["is_known"]:
            return []
        from gateway.cli.keeping import keep_files
        from gateway.outbound import check_files

        found, platform = _look_at(self.files), parse_target(ready["target"]).instance
        check_files(platform, ready["largest_file"], [(f.shown, f.size) for f in found])
        return [f.to_json() for f in keep_files([f.path for f in found], ready["largest_file"])]


def _look_at(paths: list[Path]) -> list[_Found]:
    return [_looked_at(path) for path in paths]


def _looked_at(path: Path) -> _Found:
    """The file as it is now. Raises `HermesError` for what cannot be sent."""
    shown = str(path)
    try:
        descriptor = os.open(path.expanduser(), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise HermesError(f"There is no file {shown}.") from None
    except (OSError, ValueError) as error:
        raise HermesError(f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise HermesError(f"{shown} is a folder; pack it into one file first.")
    if not stat.S_ISREG(status.st_mode):
        raise HermesError(f"{shown} is no regular file.")
    if status.st_size == 0:
        raise HermesError(f"{shown} is empty; an empty file cannot be sent.")
    return _Found(path.expanduser(), shown, status.st_size)


def _words(text: str | None, *, bare: bool) -> str:
    """bare: there are files, which need no words."""
    if text is None and bare:
        return ""
    if text not in (None, "-"):
        return str(text)
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


def _list(*, as_json: bool) -> None:
    found = ask_holder("targets.list")["targets"]
    if as_json:
        print_json(found)
    elif not found:
        print(
            "No chat is known by a name yet: names are learned as people write, and /sethome makes a chat the home."
        )
    else:
        head = ("TARGET", "NAME", "KIND", "HOME")
        print_table(head, [(t["target"], t["name"], t["kind"], "home" if t["home"] else "") for t in found])
