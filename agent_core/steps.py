"""What a turn leaves on disk while it runs, and how it is read back. Pure.

Kinds: `input` (what came in), `answer` (an assistant message with calls, and its usage), `began` (a call is
about to run),
`result` (a tool message), `file` (what goes out with the answer),
`choices` (what people may pick below it), `steer` (what was said while the turn ran).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from agent_core.security.fence import fence, label
from agent_core.store.rows import role_of
from hermes.agent import GivenFile, TurnInput
from hermes.events import Role
from hermes.files import StoredFile
from hermes.messages import JSONObject, Message, ToolCall, Usage, scrub_surrogates

__all__ = [
    "Rebuilt",
    "answer_step",
    "asked",
    "asked_again",
    "choices_step",
    "file_step",
    "input_step",
    "rebuild",
    "steer_step",
    "title_of_inputs",
    "usage_of",
]

Step = tuple[str, JSONObject]


@dataclass(slots=True)
class Rebuilt:
    """A turn as its steps tell it.

    `pending`: calls of the last answer without a result; `began`: the ids of those that had begun. `files`: what goes
    out with the answer, each with its caption. `choices`: what people may pick below it.
    """

    messages: list[Message] = field(default_factory=list)
    title: str = ""
    pending: tuple[ToolCall, ...] = ()
    began: frozenset[str] = frozenset()
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    files: list[tuple[StoredFile, str]] = field(default_factory=list)
    choices: list[str] = field(default_factory=list)


def asked(inputs: Sequence[TurnInput], kind: str, source: str, at: float) -> list[Message]:
    """User messages as the model sees them.

    Fenced when untrusted, with the sender's name where several people talk. What their files say stands in the text.
    """
    return [
        Message(
            "user", _worded(i, kind, source), at=i.at or at, files=tuple(f.file for f in i.files if f.file)
        )
        for i in inputs
    ]


def _worded(item: TurnInput, kind: str, source: str) -> str:
    text = scrub_surrogates(item.text)
    if item.quoted:
        quoted = "\n".join(f"> {line}" for line in scrub_surrogates(item.quoted).splitlines())
        text = f"{quoted}\n\n{text}"
    if item.untrusted:  # what a stranger quotes is no more to be trusted than what he writes
        text = fence(text, "untrusted-input", source)
    if item.files:
        text = "\n\n".join(p for p in (text, *(_of_file(f, item) for f in item.files)) if p.strip())
    if kind in ("group", "channel"):
        text = f"[{label(item.sender_name or item.sender_id)}] {text}"
    return text


def _of_file(given: GivenFile, item: TurnInput) -> str:
    """What a file says, and what of it is missing."""
    said = scrub_surrogates(given.text).strip()
    if said and given.file is not None:
        is_own = given.file.kind == "voice" and not item.untrusted
        said = said if is_own else fence(said, "untrusted-input", given.file.name)
    note = f"[{' '.join(scrub_surrogates(given.note).split())}]" if given.note else ""
    return "\n".join(p for p in (said, note) if p)


def input_step(
    inputs: Sequence[TurnInput],
    messages: Sequence[Message],
    history: Sequence[Message],
    role: Role | None = None,
) -> Step:
    """The first step.

    What was written, what the model sees of it, the history that starts a new session, and the role of who asks.
    """
    content: JSONObject = {
        "inputs": [_kept(i) for i in inputs],
        "messages": [m.to_json() for m in messages],
    }
    if history:
        content["history"] = [m.to_json() for m in history]
    if role is not None:
        content["role"] = role
    return "input", content


def steer_step(inputs: Sequence[TurnInput], messages: Sequence[Message]) -> Step:
    """What was said to the turn while it ran."""
    return "steer", {
        "inputs": [_kept(i) for i in inputs],
        "messages": [m.to_json() for m in messages],
    }


def _kept(item: TurnInput) -> JSONObject:
    kept: JSONObject = {"text": scrub_surrogates(item.text)}
    if item.untrusted:
        kept["untrusted"] = True
    if item.quoted:
        kept["quoted"] = scrub_surrogates(item.quoted)
    if item.files:
        kept["files"] = [
            {"file": f.file and f.file.to_json(), "text": scrub_surrogates(f.text), "note": f.note}
            for f in item.files
        ]
    return kept


def asked_again(content: JSONObject) -> TurnInput | None:
    """What stands in a turn's input step as one, to be asked again; `None` for nothing. Untrusted if anything in it is."""
    kept = list(content.get("inputs", ()))
    text = "\n".join(t for i in kept if (t := str(i.get("text", ""))))
    files = tuple(given for i in kept for given in _files(i))
    if not text and not files:
        return None
    return TurnInput(
        text,
        "",
        untrusted=any(i.get("untrusted") for i in kept),
        quoted="\n".join(str(i["quoted"]) for i in kept if i.get("quoted")) or None,
        files=files,
        role=role_of(content.get("role")),
    )


def title_of_inputs(inputs: Iterable[JSONObject]) -> str:
    """The words of a turn's inputs, of those without any what their files are known by."""
    return " ".join(str(i.get("text", "")) or " ".join(f.title for f in _files(i)) for i in inputs)


def _files(kept: JSONObject) -> list[GivenFile]:
    return [
        GivenFile(f["file"] and StoredFile.from_json(f["file"]), f.get("text", ""), f.get("note", ""))
        for f in kept.get("files", ())
    ]


def answer_step(message: Message, usage: Usage) -> Step:
    """A model answer with calls."""
    return "answer", {"message": message.to_json(), "usage": asdict(usage)}


def file_step(file: StoredFile, caption: str) -> Step:
    """A file that goes out with the answer, and its caption."""
    return "file", {"file": file.to_json(), "caption": scrub_surrogates(caption)}


def choices_step(choices: Sequence[str]) -> Step:
    """Answers that people may pick below the turn's own."""
    return "choices", {"choices": [scrub_surrogates(c) for c in choices]}


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
            turn.title = title_of_inputs(content.get("inputs", ()))
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
        elif kind == "file":
            turn.files.append((StoredFile.from_json(content["file"]), content["caption"]))
        elif kind == "choices":
            turn.choices = list(content["choices"])
    turn.pending = tuple(open_calls.values())
    turn.began = frozenset(began & open_calls.keys())
    return turn
