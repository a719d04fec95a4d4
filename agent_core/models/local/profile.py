"""What a small model is asked: a short prompt of its own, no tools, and as much history as fits. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from agent_core.history import UNANSWERED
from hermes.messages import Message
from hermes.model import ModelRequest

__all__ = ["SYSTEM", "Profile", "most_tokens", "tokens"]

SYSTEM = "You are a helpful AI assistant. You cannot use tools."
"""Longer ones confuse a model of this size more than they tell it."""
_ANSWER = 512
_MARGIN = 64
_PER_MESSAGE = 8
_STEPS = 4
_GAP = "\n[...]\n"


def tokens(text: str) -> int:
    """About what `text` costs: three ASCII characters a token, a token for each byte of other script."""
    ascii_chars = len(text.encode("ascii", "ignore"))
    other = len(text.encode("utf-8", "surrogatepass")) - ascii_chars
    return -(-ascii_chars // 3) + other


def most_tokens(text: str) -> int:
    """What `text` costs at the very most: a token is a byte or more."""
    return len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Profile:
    """How requests are shortened. `context`: tokens of question and answer together.

    notice: stands once in a conversation before an answer, and is not shown to the model.
    """

    context: int
    notice: str

    def shorten(self, request: ModelRequest, *, surely: bool = False) -> ModelRequest:
        """The request that is sent.

        `surely`: count so that it fits whatever the text is, for when the usual count was too low.
        """
        answer = min(request.max_tokens or _ANSWER, self.context // 4)
        cost = most_tokens if surely else tokens
        room = self.context - answer - _MARGIN - cost(SYSTEM) - _PER_MESSAGE
        plain = _merged(_plain(request.messages, self.notice))
        kept = _newest(plain, room, lambda m: cost(m.text) + _PER_MESSAGE)
        if kept:
            kept[-1] = replace(kept[-1], text=_cut(kept[-1].text, room - _PER_MESSAGE, surely=surely))
        return ModelRequest(SYSTEM, tuple(kept), (), answer, request.session)

    def needs_notice(self, messages: Iterable[Message]) -> bool:
        """Whether the conversation has not been told yet who answers."""
        return not any(m.role == "assistant" and self.notice in m.text for m in messages)


def _plain(messages: Iterable[Message], notice: str) -> list[Message]:
    """What people and model said to each other; calls, results and our own line are left out.

    So is what was not answered: a small model takes the note that stands for an answer for the thing to say.
    """
    out: list[Message] = []
    for message in messages:
        if message.role == "assistant" and message.text == UNANSWERED:
            while out and out[-1].role == "user":
                out.pop()
        elif message.role in {"user", "assistant"} and (text := message.text.replace(notice, "").strip()):
            out.append(Message(message.role, text))
    return out


def _merged(messages: Iterable[Message]) -> list[Message]:
    """Turn about, beginning with a user's: templates of chats refuse anything else."""
    out: list[Message] = []
    for message in messages:
        if out and out[-1].role == message.role:
            out[-1] = replace(out[-1], text=f"{out[-1].text}\n\n{message.text}")
        elif out or message.role == "user":
            out.append(message)
    return out


def _newest(messages: Sequence[Message], room: int, cost: Callable[[Message], int]) -> list[Message]:
    """The newest that fit.

    Whole quarters of the room leave at once, counted from the beginning: so the next requests begin like
    this one, and the server does not read everything again.
    """
    over = sum(map(cost, messages)) - room
    step = max(1, room // _STEPS)
    leaving = -(-over // step) * step if over > 0 else 0
    start = 0
    while leaving > 0 and start < len(messages) - 1:
        leaving -= cost(messages[start])
        start += 1
    while start < len(messages) - 1 and messages[start].role != "user":
        start += 1
    return list(messages[start:])


def _cut(text: str, room: int, *, surely: bool) -> str:
    """Beginning and end of a message that is too long alone."""
    cost = most_tokens if surely else tokens
    if cost(text) <= room:
        return text
    share = room / cost(text)
    kept = max(0, int(len(text) * share) - len(_GAP))
    shorter = text[: kept - kept // 3] + _GAP + text[len(text) - kept // 3 :]
    while cost(shorter) > room and kept > 0:  # where scripts are mixed unevenly
        kept = kept * 3 // 4
        shorter = text[: kept - kept // 3] + _GAP + text[len(text) - kept // 3 :]
    return shorter
