"""Sending what answers nothing, and what there is to send to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from gateway.control import Handler
from gateway.directory import Directory
from gateway.handlers.request import text
from gateway.handlers.running import Running
from gateway.router import format_target, parse_target
from hermes.errors import HermesError
from hermes.events import Target
from hermes.files import StoredFile
from hermes.messages import JSONObject, scrub_surrogates

__all__ = ["operations"]

_LONGEST = 600.0
_MOST_FILES = 20


def operations(gateway: Running) -> Mapping[str, Handler]:
    """The operations by name."""
    ops = _Operations(gateway)
    return {
        "send": ops.send,
        "send.prepare": ops.prepare,
        "targets.list": ops.listed,
        "targets.resolve": ops.resolve,
    }


class _Operations:
    def __init__(self, gateway: Running) -> None:
        self._gateway = gateway

    async def send(self, request: JSONObject) -> JSONObject:
        to, key = self._target(request), text(request, "key")
        wait = request.get("wait", 0)
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= _LONGEST:
            raise HermesError(f"The request's 'wait' is a number of seconds from 0 to {_LONGEST:g}.")
        said, files = request.get("text"), _files(request)
        if not isinstance(said, str):
            raise HermesError("The request needs a text 'text'.")
        outbound = self._gateway.core.outbound
        sent = await outbound.send(to, scrub_surrogates(said), key=key, seconds=wait, files=files)
        return {"sent": asdict(sent)}

    async def prepare(self, request: JSONObject) -> JSONObject:
        """What is known before a message with files is sent."""
        to, key = self._target(request), text(request, "key")
        return {"message": asdict(await self._gateway.core.outbound.prepare(to, key))}

    async def listed(self, _: JSONObject) -> JSONObject:
        return {"targets": _listed(self._gateway.core.directory)}

    async def resolve(self, request: JSONObject) -> JSONObject:
        target = self._gateway.core.directory.resolve(parse_target(text(request, "to")))
        return {"target": format_target(target)}

    def _target(self, request: JSONObject) -> str:
        to, core = text(request, "to"), self._gateway.core
        if self._gateway.may_yield and not core.delivery.serves(parse_target(to).instance):
            raise HermesError(
                "A chat has this home open, and sends nothing elsewhere: leave it, or start the daemon."
            )
        return to


def _files(request: JSONObject) -> list[StoredFile]:
    """The files that the command has put into the home. Raises `HermesError` for what names none."""
    given = request.get("files", [])
    if not isinstance(given, list) or len(given) > _MOST_FILES:
        raise HermesError(f"The request's 'files' is a list of at most {_MOST_FILES} files.")
    try:
        return [StoredFile.from_json(raw) for raw in given]
    except (KeyError, TypeError) as error:
        raise HermesError("The request names a file that is none.") from error


def _listed(directory: Directory) -> list[JSONObject]:
    """The chats that have names, and homes that have none."""
    homes = directory.homes()
    found: list[JSONObject] = [
        {
            "target": format_target(target),
            "name": f"{chat.instance}:{chat.name}",
            "kind": chat.kind,
            "home": target in homes,
            "heard": chat.at,
        }
        for chat in directory.chats()
        for target in [Target(chat.instance, chat.chat)]
    ]
    named = {t["target"] for t in found}
    bare = [format_target(home) for home in homes if format_target(home) not in named]
    return [*found, *({"target": t, "name": "", "kind": "", "home": True, "heard": None} for t in bare)]
