"""The way out: messages posted once, changed, and looked for where it is not known whether they arrived."""

from __future__ import annotations

from typing import Any

from adapters.slack.client import WebApi
from adapters.slack.failures import GONE, Refused
from adapters.slack.sending import Call, find_sent, remedy, send_call
from adapters.slack.uploads import Uploads
from hermes.adapter import Piece, Receipt
from hermes.clock import Clock
from hermes.errors import Gone, OutcomeUnknown, Rejected
from hermes.events import Target

__all__ = ["WINDOW", "Outward"]

WINDOW = 86_400.0
"""Seconds within which a message is found again by its metadata."""

_LOOK_BACK = 2 * WINDOW
_PAGE, _PAGES = 200, 5
_NOT_THERE = frozenset({"not_in_channel", "channel_not_found"})
_STATUS = "is thinking..."
_MOST_CHATS = 1000


class Outward:
    """Sends for one app."""

    def __init__(self, api: WebApi, clock: Clock, uploads: Uploads) -> None:
        self._api = api
        self._clock = clock
        self._uploads = uploads
        self._direct: dict[str, str] = {}
        self._statusless: set[str] = set()

    async def send(self, target: Target, piece: Piece, key: str, *, again: bool) -> Receipt:
        """See `Adapter.send`. A thread that cannot be answered in: one more try without."""
        call = send_call(await self._chat(target), target.thread, piece, key)
        if piece.file is not None:
            return await self._uploads.send(call, piece.file, again=again)
        if again:
            found, is_complete = await self._find(call.chat, call.thread, key)
            if found is not None:
                return Receipt(found, "had arrived before")
            call = call if is_complete else call.marked()
        return await self._post(call, piece)

    async def _post(self, call: Call, piece: Piece) -> Receipt:
        notes: list[str] = []
        while True:
            try:
                sent = await self._api.call("chat.postMessage", call.params())
            except Refused as e:
                respond = piece.format.get("respond")
                if e.error in _NOT_THERE and isinstance(respond, str):
                    return await self._respond(respond, call, e)
                found_call = remedy(call, e)
                if found_call is None:
                    raise
                call, note = found_call
                notes.append(note)
            else:
                return Receipt(_number(sent), "; ".join(notes) or None)

    async def edit(self, target: Target, message_id: str, piece: Piece) -> Receipt:
        """See `EditingAdapter.edit`; https://docs.slack.dev/reference/methods/chat.update ."""
        if piece.file is not None or message_id.startswith("F"):  # a file whose message was not seen
            raise Gone("No file can be put into a message that stands in Slack; it is sent anew.")
        call, note = send_call(await self._chat(target), None, piece, None), None
        while True:
            try:
                await self._api.call("chat.update", call.update_params(message_id))
            except Refused as e:
                if e.error in GONE:
                    raise Gone(str(e)) from e
                found = remedy(call, e)
                if found is None:
                    raise
                call, note = found
            else:
                return Receipt(message_id, note)

    async def typing(self, target: Target) -> None:
        """Show a status under the thread. Where Slack has none for us, it is not asked again."""
        if target.thread is None or target.chat in self._statusless:
            return
        params = {"channel_id": target.chat, "thread_ts": target.thread, "status": _STATUS}
        try:
            await self._api.call("assistant.threads.setStatus", params)
        except Rejected:
            if len(self._statusless) >= _MOST_CHATS:
                self._statusless.clear()
            self._statusless.add(target.chat)

    async def _chat(self, target: Target) -> str:
        """The conversation's id; for a person's id that of our direct conversation. Raises `Rejected`."""
        if not target.chat:
            raise Rejected("A Slack target needs a channel's id (C..., D..., G...) or a person's (U...).")
        if target.chat[0] not in "UW":
            return target.chat
        if target.chat not in self._direct:
            opened = await self._api.call("conversations.open", {"users": target.chat})
            channel: Any = opened.get("channel")
            if not isinstance(channel, dict) or not isinstance(channel.get("id"), str):
                raise Rejected(f"Slack opened no conversation with {target.chat}.")
            if len(self._direct) >= _MOST_CHATS:
                self._direct.clear()
            self._direct[target.chat] = channel["id"]
        return self._direct[target.chat]

    async def _find(self, chat: str, thread: str | None, key: str) -> tuple[str | None, bool]:
        """The message that an earlier try has made, and whether all was looked at."""
        method = "conversations.history" if thread is None else "conversations.replies"
        oldest = f"{self._clock.time() - _LOOK_BACK:.6f}"
        params: dict[str, Any] = {
            "channel": chat, "limit": str(_PAGE), "oldest": oldest, "include_all_metadata": "true",
        }  # fmt: skip
        if thread is not None:
            params["ts"] = thread
        for _ in range(_PAGES):
            try:
                answer = await self._api.call(method, params)
            except Rejected:
                return None, False
            if (found := find_sent(answer, key)) is not None:
                return found, True
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return None, True
            params["cursor"] = cursor
        return None, False

    async def _respond(self, url: str, call: Call, refused: Refused) -> Receipt:
        """Answer a command where the app is no member: only who asked sees it, within half an hour."""
        try:
            await self._api.respond(url, {**call.shown(), "response_type": "ephemeral"})
        except Refused as e:
            raise refused from e
        return Receipt(f"response:{call.mark}", f"sent to who asked alone ({refused.error})")


def _number(sent: Any) -> str:  # noqa: ANN401  JSON
    if isinstance(sent.get("ts"), str):
        return str(sent["ts"])
    raise OutcomeUnknown("Slack's answer to chat.postMessage has no ts.")
