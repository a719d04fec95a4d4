"""Messages and files on their way out: one call each, and what is asked instead when that is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters.telegram.client import BotApi
from adapters.telegram.failures import Refused
from adapters.telegram.form import Upload
from adapters.telegram.sending import Call, chat_id, is_gone, is_unchanged, remedy, send_call, thread_id
from hermes.adapter import Piece, Receipt
from hermes.errors import Gone, OutcomeUnknown, Rejected
from hermes.events import Target
from hermes.files import StoredFile

__all__ = ["Outward"]


class Outward:
    """Sends by one account. stored: where a file lies."""

    def __init__(self, api: BotApi, stored: Callable[[StoredFile], Path]) -> None:
        self._api = api
        self._stored = stored

    async def send(self, target: Target, piece: Piece, *, again: bool) -> Receipt:
        """See `Adapter.send`. Refused formatting or file type, a lost topic, a moved chat: one more try without each."""
        call = send_call(target, piece, again=again)
        notes: list[str] = []
        while True:
            try:
                sent = await self._carried(call, piece.file)
            except Refused as e:
                found = remedy(call, e)
                if found is None:
                    raise
                call, note = found
                notes.append(note)
            else:
                return Receipt(_message_id(call.method, sent), "; ".join(notes) or None)

    async def _carried(self, call: Call, file: StoredFile | None) -> object:
        if file is None:
            return await self._api.call(call.method, call.params())
        try:
            path = self._stored(file)
        except OSError as e:
            raise Rejected(f"The file to send is not there any more ({type(e).__name__}).") from e
        upload = Upload(call.ways[0].part, path, file.name, file.mime)
        return await self._api.upload(call.method, call.params(), upload)

    async def edit(self, target: Target, message_id: str, piece: Piece) -> Receipt:
        """See `EditingAdapter.edit`; https://core.telegram.org/bots/api#editmessagetext ."""
        call = replace(send_call(target, piece, again=False), thread=None, answers=None)
        notes: list[str] = []
        while True:
            try:
                await self._api.call("editMessageText", {**call.params(), "message_id": int(message_id)})
            except Refused as e:
                if is_unchanged(e):
                    break
                found = remedy(call, e)
                if is_gone(e) or (found is not None and found[0].moved):
                    raise Gone(str(e)) from e
                if found is None:
                    raise
                call, note = found
                notes.append(note)
            else:
                break
        return Receipt(message_id, "; ".join(notes) or None)

    async def typing(self, target: Target) -> None:
        """See `Adapter.typing`."""
        params: dict[str, Any] = {"chat_id": chat_id(target), "action": "typing"}
        if (thread := thread_id(target)) is not None:
            params["message_thread_id"] = thread
        await self._api.call("sendChatAction", params)


def _message_id(method: str, sent: object) -> str:
    if isinstance(sent, dict) and isinstance(sent.get("message_id"), int):
        return str(sent["message_id"])
    raise OutcomeUnknown(f"Telegram's answer to {method} has no message id.")
