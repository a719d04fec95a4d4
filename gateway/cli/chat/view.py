"""How an answer is written once it is whole; `drawn` has the one that grows on a terminal."""

from __future__ import annotations

import sys
from typing import Any

from gateway.cli.chat.text import clean
from gateway.sentences import say

__all__ = ["Plain"]


class Plain:
    """Answers as text, whole, on stdout. `failures_apart`: sentences of failed turns go to stderr."""

    def __init__(self, *, failures_apart: bool = False) -> None:
        self._failures_apart = failures_apart

    def show(self, update: dict[str, Any]) -> None:
        """One line of the gateway."""
        match update["type"]:
            case "end":
                failed = update["state"] not in {"answered", "silent"}
                self._print(update["text"], apart=failed and self._failures_apart)
            case "refused":
                self._print(update["text"], apart=self._failures_apart)
            case "notice":
                print(say("en", update["key"], **update["fields"]), file=sys.stderr, flush=True)

    @staticmethod
    def _print(text: str, *, apart: bool) -> None:
        stream = sys.stderr if apart else sys.stdout
        if text:
            print(clean(text) if stream.isatty() else text, file=stream, flush=True)
