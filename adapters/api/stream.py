"""The text of a turn as a stream that can only grow. Pure."""

from __future__ import annotations

from hermes.agent import TextDelta, TextReset, ToolStarted, TurnEnded, TurnUpdate

__all__ = ["Diverged", "GrowingText"]

_GAP = "\n\n"


class Diverged(Exception):
    """The text began anew and differently; what was sent cannot be taken back."""


class GrowingText:
    """Turns updates into pieces to send, in order.

    Text between two tool calls is a stretch. When a stretch begins anew (`TextReset`), it is held back
    until it has passed what was sent.
    """

    def __init__(self) -> None:
        self._before = ""  # sent, in earlier stretches
        self._sent = ""  # sent, of this stretch
        self._now = ""  # this stretch as the model writes it

    def feed(self, update: TurnUpdate) -> str:
        """What to send because of `update`, often nothing. Raises `Diverged`."""
        match update:
            case TextDelta(text):
                self._now += text
                return self._advance()
            case TextReset():
                self._now = ""
            case ToolStarted():
                self._close_stretch()
            case TurnEnded():
                return self._finish(update.text)
        return ""

    def _advance(self) -> str:
        if len(self._now) <= len(self._sent):
            if not self._sent.startswith(self._now):
                raise Diverged
            return ""
        if not self._now.startswith(self._sent):
            raise Diverged
        fresh = self._now[len(self._sent) :]
        gap = _GAP if self._before and not self._sent else ""
        self._sent = self._now
        return gap + fresh

    def _close_stretch(self) -> None:
        if not self._sent:
            return
        self._before += (_GAP if self._before else "") + self._sent
        self._sent = self._now = ""

    def _finish(self, whole: str) -> str:
        """The end says the whole answer: of the last stretch, or of all of them."""
        everything = self._before + (_GAP if self._before and self._sent else "") + self._sent
        for shown in (self._sent, everything):
            if shown and whole.startswith(shown):
                return whole[len(shown) :]
            if shown and shown.strip() == whole.strip():
                return ""
        if self._sent and whole.strip():
            raise Diverged
        return (_GAP if self._before and whole.strip() else "") + whole
