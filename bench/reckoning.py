"""What a storm came to: which messages have their one answer, and which have another fate that is no fault. Pure.

`resend`: nothing is lost, and there is a second answer only where the platform had taken the first and we were not told so;
it is marked. `drop`: nothing is doubled, and what is lost is among the dead letters. In both a chat's answers keep the
order of its messages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

__all__ = ["AGAIN", "Books", "Talk", "token_in", "tokens"]

AGAIN = "↻ "
_ANSWER = re.compile(r"\bdone (m-[a-z]+-\d+)\.")
_TOKEN = re.compile(r"\bm-[a-z]+-\d+\b")


def token_in(text: str) -> str | None:
    """The message that a text answers."""
    found = _ANSWER.search(text.replace("\\", ""))  # Discord's people do not see these
    return found[1] if found else None


def asked_in(text: str) -> str | None:
    """The message that a text is about, also where that is only the beginning of an answer."""
    found = _TOKEN.search(text.replace("\\", ""))
    return found[0] if found else None


def tokens(texts: Iterable[str]) -> Counter[str]:
    """How often each message is named."""
    return Counter(token for text in texts if (token := asked_in(text)) is not None)


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation at its end: the tokens that were asked, in order, and the texts that came back."""

    name: str
    deduplicates: bool
    asked: Sequence[str]
    shown: Sequence[str]


@dataclass(slots=True)
class Books:
    """The sum over all conversations. wrong: what must not be, by message; `-` and a name for what is none's."""

    mode: str
    unheard: Counter[str]
    letters: Collection[str]
    wrong: dict[str, str] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    marked: int = 0

    @property
    def unreported(self) -> int:
        """How many were lost without a dead letter."""
        return len(set(self.lost) - set(self.letters))

    def add(self, talk: Talk) -> None:
        """Judge one conversation."""
        answers: dict[str, list[str]] = {token: [] for token in talk.asked}
        for text in talk.shown:
            token = token_in(text)
            if token is not None and token in answers:
                answers[token].append(text)
            elif not self._is_left_over(text):
                self.wrong[f"- {talk.name}"] = f"what nobody asked for: {text[:200]!r}"
        for token, texts in answers.items():
            if reason := self._judge(token, texts, deduplicates=talk.deduplicates):
                self.wrong[token] = reason
        firsts = list(dict.fromkeys(token for text in talk.shown if (token := token_in(text)) is not None))
        if firsts != [token for token in talk.asked if answers[token]]:
            self.wrong[f"- {talk.name} {talk.asked[0]}"] = f"the order is {firsts}"

    def close(self) -> None:
        """Judge the dead letters: each was lost, or nobody could know that it had arrived."""
        for token in set(self.letters) - set(self.lost):
            if not self.unheard[token]:
                self.wrong[f"{token} (letter)"] = "a dead letter whose answer had arrived"

    def _is_left_over(self, text: str) -> bool:
        """Whether an answer began to grow there, and we were not told that it had."""
        about = asked_in(text)
        return about is not None and self.unheard[about] > 0

    def _judge(self, token: str, texts: Sequence[str], *, deduplicates: bool) -> str | None:
        marked = sum(text.startswith(AGAIN) for text in texts)
        self.marked += marked
        if len(texts) > 1:
            self.doubled.append(token)
        if not texts:
            self.lost.append(token)
            if self.mode == "resend":
                return "lost"
            return None if token in self.letters else "lost, and not among the dead letters"
        excused = 0 if deduplicates or self.mode == "drop" else self.unheard[token]
        if len(texts) > 1 + excused:
            return f"{len(texts)} answers, {excused} excused"
        return "a double that is not marked" if len(texts) - marked > 1 else None
