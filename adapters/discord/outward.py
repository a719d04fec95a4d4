"""From pieces to the API: where each goes, in which form, and what a failure says of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters.discord.answers import Answers
from adapters.discord.buttons import without_buttons
from adapters.discord.client import Rest
from adapters.discord.direct import DirectChannels
from adapters.discord.failures import Refused
from adapters.discord.multipart import Upload
from adapters.discord.sending import (
    answers_of,
    changed_body,
    channel_of,
    is_bad_reference,
    is_for_buttons,
    message_body,
    person_of,
)
from adapters.discord.slash import Slash
from adapters.discord.threads import Threads
from hermes.adapter import Piece, Receipt
from hermes.clock import Clock
from hermes.errors import Gone, OutcomeUnknown, Rejected
from hermes.events import Target
from hermes.files import StoredFile

__all__ = ["NONCE_HELD", "Outward"]

NONCE_HELD = 120.0
"""Seconds for which Discord knows a nonce; it says "the past few minutes"."""
_TRIED = 1024
_PLAIN = "sent without buttons"


class Outward:
    """The sending side of one bot. stored: where a file lies."""

    def __init__(self, rest: Rest, slash: Slash, clock: Clock, stored: Callable[[StoredFile], Path]) -> None:
        self._rest = rest
        self._slash = slash
        self._clock = clock
        self._stored = stored
        self._threads = Threads(rest)
        self._direct = DirectChannels(rest)
        self._tried: OrderedDict[str, float] = OrderedDict()

    async def send(self, target: Target, piece: Piece, *, key: str, again: bool) -> Receipt:
        """See `Adapter.send`. Buttons that are refused become a list under the text."""
        try:
            return await self._send(target, piece, key=key, again=again)
        except Refused as e:
            plain = without_buttons(piece) if is_for_buttons(e) else None
            if plain is None:
                raise
        return replace(await self._send(target, plain, key=key, again=again), note=_PLAIN)

    async def _send(self, target: Target, piece: Piece, *, key: str, again: bool) -> Receipt:
        """A slash command that can be answered no more, a lost thread: a plain message."""
        answers = answers_of(piece)
        upload = None if piece.file is None else self._upload(piece.file)
        if answers.token:
            done = await self._slash.answer(answers, piece, upload, again=again)
            if done is not None:
                return done
        channel, reference = await self._channel(target, answers), answers.message
        if channel == answers.message:  # the question stands above its thread
            reference = ""
        body = message_body(piece, key, again=again and not self._is_held(key), reference=reference)
        self._try(key)
        try:
            return _receipt(await self._post(channel, body, upload))
        except Refused as e:
            if not reference or not is_bad_reference(e):
                raise
        del body["message_reference"]
        return _receipt(await self._post(channel, body, upload))

    async def edit(self, target: Target, message_id: str, piece: Piece) -> Receipt:
        """See `EditingAdapter.edit`; https://discord.com/developers/docs/resources/message#edit-message ."""
        try:
            return await self._edit(target, message_id, piece)
        except Refused as e:
            plain = without_buttons(piece) if is_for_buttons(e) else None
            if plain is None:
                raise
        return replace(await self._edit(target, message_id, plain), note=_PLAIN)

    async def _edit(self, target: Target, message_id: str, piece: Piece) -> Receipt:
        answers = answers_of(piece)
        if answers.token and (done := await self._slash.change(answers, message_id, piece)) is not None:
            return done
        channel = await self._channel(target, answers)
        path = f"/channels/{channel}/messages/{message_id}"
        bucket = f"PATCH message {channel}"
        try:
            await self._rest.call("PATCH", path, changed_body(piece), name="PATCH message", bucket=bucket)
        except Refused as e:
            if e.is_gone:
                raise Gone(str(e)) from e
            raise
        return Receipt(message_id)

    async def typing(self, target: Target) -> None:
        """See `Adapter.typing`. A slash command shows it by itself."""
        answers = Answers.from_text(target.answers)
        if answers.token:
            return
        channel = await self._channel(target, answers)
        path = f"/channels/{channel}/typing"
        await self._rest.call("POST", path, name="POST typing", bucket=f"POST typing {channel}")

    async def _post(self, channel: str, body: Mapping[str, Any], upload: Upload | None) -> object:
        path, name, bucket = f"/channels/{channel}/messages", "POST message", f"POST message {channel}"
        if upload is not None:
            return await self._rest.upload("POST", path, body, upload, name=name, bucket=bucket)
        return await self._rest.call("POST", path, body, name=name, bucket=bucket)

    def _upload(self, file: StoredFile) -> Upload:
        try:
            return Upload(file, self._stored(file))
        except OSError as e:
            raise Rejected(f"The file {file.name} is no longer there.") from e

    async def _channel(self, target: Target, answers: Answers) -> str:
        """The channel to send to: of a thread that is to begin, of a person, or the target's own."""
        if answers.parent:
            return answers.message if await self._threads.begun(answers) else answers.parent
        person = person_of(target)
        return channel_of(target) if person is None else await self._direct.of(person)

    def _is_held(self, key: str) -> bool:
        """Whether Discord certainly knows the nonce of an earlier try, if that arrived."""
        return self._clock.monotonic() - self._tried.get(key, float("-inf")) < NONCE_HELD * 0.8

    def _try(self, key: str) -> None:
        self._tried.setdefault(key, self._clock.monotonic())
        if len(self._tried) > _TRIED:
            self._tried.popitem(last=False)


def _receipt(sent: object) -> Receipt:
    if isinstance(sent, dict) and sent.get("id"):
        return Receipt(str(sent["id"]))
    raise OutcomeUnknown("Discord's answer to a message has no id.")
