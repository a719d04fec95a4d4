"""What a turn leaves on disk while it runs, and how it is read back. Pure.

Kinds: `input` (what came in), `answer` (an assistant message with calls, and its usage), `began` (a call is
about to run),
`result` (a tool message), `steer` (what was said while the turn ran).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from agent_core.security.fence import fence, label
from hermes.agent import TurnInput
from hermes.messages import JSONObject, Message, ToolCall, Usage, scrub_surrogates

__all__ = ["Rebuilt", "answer_step", "asked", "input_step", "rebuild", "steer_step", "usage_of"]

Step = tuple[str, JSONObject]


@dataclass(slots=True)
class Rebuilt:
    """A turn as its steps tell it.

    `pending`: calls of the last answer without a result; `began`: the ids of those that had begun.
    """

    messages: list[Message] = field(default_factory=list)
    title: str = ""
    pending: tuple[ToolCall, ...] = ()
    began: frozenset[str] = frozenset()
    calls: int = 0
    usage: Usage = field(default_factory=Usage)


def asked(inputs: Sequence[TurnInput], kind: str, source: str, at: float) -> list[Message]:
    """User messages as the model sees them.

    Fenced when untrusted, with the sender's name where several people talk.
    """
    return [Message("user", _worded(i, kind, source), at=i.at or at) for i in inputs]


def _worded(item: TurnInput, kind: str, source: str) -> str:
    text = scrub_surrogates(item.text)
    if item.quoted:
        quoted = "\n".join(f"> {line}" for line in scrub_surrogates(item.quoted).splitlines())
        text = f"{quoted}\n\n{text}"
    if item.untrusted:  # what a stranger quotes is no more to be trusted than what he writes
        text = fence(text, "untrusted-input", source)
    if kind in ("group", "channel"):
        text = f"[{label(item.sender_name or item.sender_id)}] {text}"
    return text


def input_step(inputs: Sequence[TurnInput], messages: Sequence[Message], history: Sequence[Message]) -> Step:
    """The first step.

    What was written, what the model sees of it, and the history that starts a new session.
    """
    content: JSONObject = {
        "inputs": [{"text": scrub_surrogates(i.text)} for i in inputs],
        "messages": [m.to_json() for m in messages],
    }
    if history:
        content["history"] = [m.to_json() for m in history]
    return "input", content


def steer_step(inputs: Sequence[TurnInput], messages: Sequence[Message]) -> Step:
    """What was said to the turn while it ran."""
    return "steer", {
        "inputs": [{"text": scrub_surrogates(i.text)} for i in inputs],
        "messages": [m.to_json() for m in messages],
    }


def answer_step(message: Message, usage: Usage) -> Step:
    """A model answer with calls."""
    return "answer", {"message": message.to_json(), "usage": asdict(usage)}


def usage_of(raw: JSONObject) -> Usage:
    """The usage of a stored answer; figures that are not known stay zero."""
    known = {k: raw[k] for k in ("prompt", "completion", "cached", "reasoning", "estimated") if k in raw}
    return Usage(**known)


def rebuild(steps: Iterable[tuple[str, Any]]) -> Rebuilt:
    """The turn that these steps (kind, content) in order tell of. Unknown kinds are passed over."""
    turn = Rebuilt()
    open_calls: dict[str, ToolCall] = {}
    began: set[str] = set()
    for kind, content in steps:
        if kind == "input":
            turn.title = " ".join(str(i.get("text", "")) for i in content.get("inputs", ()))
            turn.messages += [
                Message.from_json(m) for m in (*content.get("history", ()), *content["messages"])
            ]
        elif kind == "answer":
            message = Message.from_json(content["message"])
            turn.messages.append(message)
            turn.calls += 1
            turn.usage += usage_of(content.get("usage", {}))
            open_calls = {call.id: call for call in message.tool_calls}
            began = set()
        elif kind == "steer":
            turn.messages += [Message.from_json(m) for m in content["messages"]]
        elif kind == "began":
            began.add(content["id"])
        elif kind == "result":
            message = Message.from_json(content)
            turn.messages.append(message)
            open_calls.pop(message.tool_call_id or "", None)
    turn.pending = tuple(open_calls.values())
    turn.began = frozenset(began & open_calls.keys())
    return turn
