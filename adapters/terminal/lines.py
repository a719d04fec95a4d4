"""The lines between `hermes chat` and the gateway; pure.

From the client: `{"id": ID, "text": TEXT, "session": NAME}`. The id is the client's own and makes a line that
is sent again after a lost connection the same message. To the client, each with its `id` and a `type`:

    taken      `ticket`, `again`: it is stored; everything of its turn follows, from the start
    delta      `text`
    reset      what was written since the last tool call is void
    tool       `call_id`, `name`, `summary`, `emoji`
    tool_end   `call_id`, `name`, `ok`
    notice     `key`, `fields`: a system sentence
    end        `state`, `text`: the whole answer, or the sentence that says why there is none;
               `usage` {prompt, completion}; `turn`: messages that one turn answered have the same
    refused    `reason`, `text`: it was not taken
    error      `text`: the line was none of these (without an `id`)
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from hermes.agent import Notice, TextDelta, TextReset, ToolEnded, ToolStarted, TurnUpdate
from hermes.events import Event, Sender
from hermes.messages import JSONObject, scrub_surrogates

__all__ = ["ClientLine", "build_event", "parse", "render"]

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SESSION = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class ClientLine:
    """One message of the client."""

    id: str
    text: str
    session: str


def parse(line: bytes) -> ClientLine:
    """The message in `line`. Raises `ValueError` with a sentence."""
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError):
        raw = None
    if not isinstance(raw, dict):
        raise ValueError(  # noqa: TRY004  whatever is wrong with a line is one kind of error
            'A line must be a JSON object such as {"id": "1", "text": "hello"}.'
        )
    ident, text, session = raw.get("id"), raw.get("text"), raw.get("session", "main")
    if not isinstance(ident, str) or not _ID.fullmatch(ident):
        raise ValueError("`id` must be 1 to 64 of letters, digits, - and _.")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("`text` must be a text that is not blank.")
    if not isinstance(session, str) or not _SESSION.fullmatch(session):
        raise ValueError("`session` must be 1 to 64 of letters, digits, dot, - and _.")
    return ClientLine(ident, scrub_surrogates(text), session)


def build_event(line: ClientLine, instance: str, sender: Sender) -> Event:
    """The event of a message of the machine's own user."""
    return Event(
        platform="terminal",
        instance=instance,
        account="local",
        kind="terminal",
        chat=line.session,
        sender=sender,
        text=line.text,
        dedupe_key=f"{line.session}:{line.id}",
        message_id=line.id,
        admitted="local",
    )


def render(update: TurnUpdate) -> JSONObject:
    """The line for an update, without its id."""
    match update:
        case TextDelta(text):
            return {"type": "delta", "text": text}
        case TextReset():
            return {"type": "reset"}
        case ToolStarted(call_id, name, summary, emoji):
            return {"type": "tool", "call_id": call_id, "name": name, "summary": summary, "emoji": emoji}
        case ToolEnded(call_id, name, ok):
            return {"type": "tool_end", "call_id": call_id, "name": name, "ok": ok}
        case Notice(key, fields):
            return {"type": "notice", "key": key, "fields": fields}
        case _:
            usage = {"prompt": update.usage.prompt, "completion": update.usage.completion}
            ended = {"state": update.state, "text": update.text, "usage": usage, "turn": update.turn}
            return {"type": "end", **ended}
