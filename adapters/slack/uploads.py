"""Files on their way out: an address is asked for, the bytes go there, and then Slack is told where to show them.

Source: https://docs.slack.dev/reference/methods/files.getUploadURLExternal and /files.completeUploadExternal . Only the
last step is seen by anybody. Such a message takes no metadata, so the file's id is noted before that step, in the home:
by it an upload whose outcome is unknown is found again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from adapters.slack.client import WebApi
from adapters.slack.failures import Refused, failure
from adapters.slack.files import number_of_share
from adapters.slack.notes import Notes
from adapters.slack.sending import Call, remedy
from hermes.adapter import Receipt
from hermes.clock import Clock
from hermes.errors import AdapterError, NotTaken, OutcomeUnknown, Rejected
from hermes.files import StoredFile

__all__ = ["LARGEST", "Uploads"]

LARGEST = 1_000_000_000
"""Bytes: https://slack.com/help/articles/201330736-Add-files-to-Slack ."""

_CHUNK = 256 * 1024
_SHORTEST, _SLOWEST = 120.0, 16 * 1024  # seconds for an upload, and bytes a second that it may go at
_PAUSES = (0.1, 0.2, 0.4, 0.8, 1.5)


class Uploads:
    """Sends files for one app."""

    def __init__(self, api: WebApi, clock: Clock, notes: Notes, stored: Callable[[StoredFile], Path]) -> None:
        self._api = api
        self._clock = clock
        self._notes = notes
        self._stored = stored

    async def send(self, call: Call, file: StoredFile, *, again: bool) -> Receipt:
        """Show a file with the call's text. again: an earlier try may have done it."""
        mark = call.mark or ""
        if again and (earlier := await asyncio.to_thread(self._notes.read, mark)) is not None:
            receipt, may_be_there = await self._follow(call, earlier, file.name)
            if receipt is not None:
                return receipt
            call = call.marked() if may_be_there else call
        file_id = await self._put(file)
        await asyncio.to_thread(self._notes.write, mark, file_id)
        return await self._show(call, file_id, file.name)

    async def _follow(self, call: Call, file_id: str, title: str) -> tuple[Receipt | None, bool]:
        """What became of an earlier try: its receipt, or else whether people may see it all the same.

        Slack takes the last step once for each file, so it may be asked for again.
        """
        is_known = True
        try:
            number = await self._seen(call.chat, file_id)
        except Refused as e:
            if e.error == "file_deleted":
                return Receipt(file_id, "had arrived before, and was deleted since"), False
            is_known = e.error != "file_not_found"
        else:
            if number is not None:
                return Receipt(number, "had arrived before"), False
        try:
            return await self._show(call, file_id, title), False
        except Refused:
            return None, is_known

    async def _put(self, file: StoredFile) -> str:
        """Bring the bytes to Slack, where nobody sees them yet; the file's id."""
        try:
            content = await asyncio.to_thread(lambda: self._stored(file).open("rb"))
        except OSError as e:
            raise Rejected(f"The file {file.name} is no longer there ({type(e).__name__}).") from e
        try:
            url, file_id = await self._address(file)
            await self._pour(url, content, file.size)
        except OutcomeUnknown as e:  # whatever became of it, nobody sees it
            raise NotTaken(str(e)) from e
        finally:
            await asyncio.to_thread(content.close)
        return file_id

    async def _address(self, file: StoredFile) -> tuple[str, str]:
        params = {"filename": file.name, "length": str(file.size)}
        asked = await self._api.call("files.getUploadURLExternal", params)
        url, file_id = asked.get("upload_url"), asked.get("file_id")
        if isinstance(url, str) and isinstance(file_id, str):
            return url, file_id
        raise OutcomeUnknown("Slack's answer to files.getUploadURLExternal has no address.")

    async def _pour(self, url: str, content: BinaryIO, size: int) -> None:
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
        within = _SHORTEST + size / _SLOWEST
        async with self._api.opened(
            "the upload", "POST", url, within=within, data=_chunks(content), headers=headers
        ) as answer:
            if answer.status != 200:
                raise failure("the upload", answer.status, None, answer.headers.get("Retry-After"))

    async def _show(self, call: Call, file_id: str, title: str) -> Receipt:
        """The last step. A thread that cannot be answered in: one more try without."""
        note = None
        while True:
            try:
                answer = await self._api.call(
                    "files.completeUploadExternal", call.upload_params(file_id, title)
                )
            except Refused as e:
                found = remedy(replace(call, mark=None), e)
                if found is None:
                    raise
                call, note = found
            else:
                return Receipt(await self._number(call.chat, file_id, answer), note)

    async def _number(self, chat: str, file_id: str, answer: Mapping[str, Any]) -> str:
        """The number of the file's message; the file's id where that cannot be learned."""
        files = answer.get("files")
        found = number_of_share(files[0], chat) if isinstance(files, list) and files else None
        with suppress(AdapterError):
            found = found or await self._seen(chat, file_id)
        return found or file_id

    async def _seen(self, chat: str, file_id: str) -> str | None:
        """The number of the file's message, once people see it; `None` when they still do not after a while.

        Slack answers before it shows a file, and what is sent next would overtake it.
        """
        for pause in _PAUSES:
            told = await self._api.call("files.info", {"file": file_id})
            if (found := number_of_share(told.get("file"), chat)) is not None:
                return found
            await self._clock.sleep(pause)
        return None


async def _chunks(content: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(content.read, _CHUNK):
        yield chunk
