"""What one send asks of the Web API, what to ask instead when that is refused, and how an earlier try is known.

Pure. Source: https://docs.slack.dev/reference/methods/chat.postMessage , /chat.update , /files.completeUploadExternal and
https://docs.slack.dev/messaging/message-metadata .
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from adapters.fields import objects
from adapters.slack.choices import blocks, labels_of, listed
from adapters.slack.failures import Refused
from adapters.slack.render import AGAIN, LIMIT
from hermes.adapter import Piece

__all__ = ["Call", "find_sent", "mark_of", "remedy", "send_call"]

EVENT_TYPE = "hermes_piece"
_NO_THREAD = frozenset(
    {"cannot_reply_to_message", "thread_not_found", "invalid_thread_ts", "message_not_found"}
)
_NO_METADATA = frozenset({"invalid_metadata_format", "invalid_metadata_schema", "metadata_too_large"})
_NO_BLOCKS = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"})


@dataclass(frozen=True, slots=True)
class Call:
    """One message. mark: what it is known by; `None`: it carries none. choices: labels of the buttons under it."""

    chat: str
    text: str
    thread: str | None = None
    mark: str | None = None
    choices: tuple[str, ...] = ()

    def shown(self) -> dict[str, Any]:
        """What people see of it."""
        return {"text": self.text, **({"blocks": blocks(self.text, self.choices)} if self.choices else {})}

    def params(self) -> dict[str, Any]:
        """Parameters of chat.postMessage. Links are not unfolded: a page's picture is no part of an answer."""
        params: dict[str, Any] = {
            "channel": self.chat,
            **self.shown(),
            "unfurl_links": False,
            "unfurl_media": False,
        }
        if self.thread is not None:
            params["thread_ts"] = self.thread
        if self.mark is not None:
            params["metadata"] = {"event_type": EVENT_TYPE, "event_payload": {"key": self.mark}}
        return params

    def update_params(self, number: str) -> dict[str, Any]:
        """Parameters of chat.update. Buttons that stood there before go, unless there are new ones."""
        return {"channel": self.chat, "ts": number, "blocks": [], **self.shown()}

    def upload_params(self, file_id: str, title: str) -> dict[str, str]:
        """Parameters of files.completeUploadExternal, for a message with a file."""
        files = json.dumps([{"id": file_id, "title": title}])
        params = {"files": files, "channel_id": self.chat}
        if self.text:
            params["initial_comment"] = self.text
        if self.thread is not None:
            params["thread_ts"] = self.thread
        return params

    def marked(self) -> Call:
        """So that its repeat is recognised as one."""
        return replace(self, text=(AGAIN + self.text).strip())


def mark_of(key: str) -> str:
    """What a piece's message is known by. The key itself names conversations, which others need not see."""
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def send_call(chat: str, thread: str | None, piece: Piece, key: str | None) -> Call:
    """The call for a piece. key: what its message is found again by."""
    source = piece.format.get("text")
    return Call(
        chat,
        source if isinstance(source, str) and source else piece.text,
        thread,
        None if key is None else mark_of(key),
        labels_of(piece.format),
    )


def remedy(call: Call, refused: Refused) -> tuple[Call, str] | None:
    """What to ask instead, with a note for the log; `None`: the refusal stands."""
    if call.thread is not None and refused.error in _NO_THREAD:
        return replace(call, thread=None), f"thread {call.thread} cannot be answered in; sent without it"
    if call.mark is not None and refused.error in _NO_METADATA:
        return replace(call, mark=None), "sent without metadata"
    if call.choices and refused.error in _NO_BLOCKS:
        text = listed(call.text, call.choices)
        return replace(
            call, text=text if len(text) <= LIMIT else call.text, choices=()
        ), "sent without buttons"
    return None


def find_sent(answer: Mapping[str, Any], key: str) -> str | None:
    """The number of the message in a page of a conversation that an earlier try has made."""
    mark = mark_of(key)
    for message in objects(answer, "messages"):
        metadata = message.get("metadata")
        if not isinstance(metadata, Mapping) or metadata.get("event_type") != EVENT_TYPE:
            continue
        payload = metadata.get("event_payload")
        if isinstance(payload, Mapping) and payload.get("key") == mark and isinstance(message.get("ts"), str):
            return str(message["ts"])
    return None
