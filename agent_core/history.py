"""The repair of a conversation to a request that every provider takes. Pure; what is stored is never changed.

Legal means: each assistant message with calls is followed at once by one result for each call, in call
order; ids are unique in the
request; arguments are objects; no assistant message is empty; nobody speaks twice in a row.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import replace

from hermes.messages import Message, ToolCall, scrub_surrogates

__all__ = ["INTERRUPTED", "UNANSWERED", "blocks", "clean", "distinct", "legal"]

INTERRUPTED = (
    "[interrupted: this call had begun when the program stopped. It may have run, wholly or in part; there "
    "is no result. Look at what is there before you decide whether to call it again.]"
)

UNANSWERED = "[no answer was given to this]"
"""Stands for a sentence of the system, lest the model take it for its own words and say the like again. It keeps
the message that failed apart from the next one, which must not bring it to life again."""


def clean(message: Message) -> Message:
    """The message with text that can be encoded anywhere. Calls are left alone; `legal` sees to them."""
    text = scrub_surrogates(message.text)
    return message if text is message.text else replace(message, text=text)


def distinct(message: Message) -> Message:
    """The message with an id of its own for each of its calls (some providers repeat one, MD-06)."""
    ids = [call.id for call in message.tool_calls]
    if len(set(ids)) == len(ids) and all(ids):
        return message
    taken: set[str] = set()
    return replace(message, tool_calls=tuple(replace(c, id=_unique(c.id, taken)) for c in message.tool_calls))


def legal(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages as a legal request.

    Stubs for missing results; orphans, duplicates and empty blocks dropped; a short note in place of what the
    system said.
    """
    taken: set[str] = set()
    out: list[Message] = []
    for block in blocks(messages):
        head = block[0]
        if head.role == "tool":
            continue  # a result whose call is not here
        if head.aside:
            _append(out, replace(head, text=UNANSWERED))
        elif head.role == "assistant":
            if head.tool_calls:
                head = _with_words_before(head, out)
                out.extend(_paired(head, block[1:], taken))
            elif head.text.strip():
                _append(out, head)
        else:
            _append(out, head)
    return tuple(out)


def blocks(messages: Sequence[Message]) -> list[list[Message]]:
    """Pieces that must not be torn: a message, or an assistant message with calls and all their results.

    Results are looked for up to the next assistant message that calls tools with the same ids; orphans
    stand alone.
    """
    out: list[list[Message]] = []
    waiting: dict[str, deque[list[Message]]] = {}
    for message in messages:
        if message.role == "tool":
            places = waiting.get(message.tool_call_id or "")
            if places:
                places.popleft().append(message)
            else:
                out.append([message])
            continue
        block = [message]
        out.append(block)
        if message.tool_calls:
            found: dict[str, deque[list[Message]]] = defaultdict(deque)
            for call in message.tool_calls:
                found[call.id].append(block)
            waiting |= found
    return out


def _paired(head: Message, results: Sequence[Message], taken: set[str]) -> list[Message]:
    by_id: dict[str, deque[Message]] = defaultdict(deque)
    for result in results:
        by_id[result.tool_call_id or ""].append(result)
    calls: list[ToolCall] = []
    answers: list[Message] = []
    for call in head.tool_calls:
        name = _unique(call.id, taken)
        calls.append(_sendable(call, name))
        have = by_id[call.id]
        answer = have.popleft() if have else Message("tool", INTERRUPTED, name=call.name)
        if answer.tool_call_id != name or not answer.text:
            answer = replace(answer, tool_call_id=name, text=answer.text or "(no output)")
        answers.append(answer)
    if tuple(calls) != head.tool_calls:
        head = replace(head, tool_calls=tuple(calls))
    return [head, *answers]


def _unique(wanted: str, taken: set[str]) -> str:
    name, number = wanted or "call", 1
    while name in taken:
        number += 1
        name = f"{wanted or 'call'}_{number}"
    taken.add(name)
    return name


def _sendable(call: ToolCall, name: str) -> ToolCall:
    if call.arguments is None:
        return ToolCall(name, call.name, {}, "{}")
    return call if call.id == name else replace(call, id=name)


def _with_words_before(head: Message, out: list[Message]) -> Message:
    """The message, having taken in the assistant's text right before it."""
    if not out or out[-1].role != "assistant" or out[-1].tool_calls:
        return head
    before = out.pop()
    return replace(head, text="\n\n".join(t for t in (before.text, head.text) if t.strip()))


def _append(out: list[Message], message: Message) -> None:
    """Append; join with the one before when a role speaks twice (several chat templates refuse that)."""
    before = out[-1] if out else None
    is_joined = before is not None and before.role == message.role and not before.tool_calls
    if before is None or not is_joined or message.role == "system":
        out.append(message)
        return
    text = "\n\n".join(t for t in (before.text, message.text) if t.strip())
    files = (*before.files, *message.files)
    out[-1] = replace(before, text=text, extra=before.extra or message.extra, files=files)
