"""Reading a chat command from a text. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hermes.events import Event

__all__ = ["Invocation", "parse_command", "parse_typed"]

_COMMAND = re.compile(r"/([a-z][a-z0-9_]{0,31})(?:\s+(.*))?\s*", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command as it was typed: `name` in lower case, the rest of the text in `arguments`."""

    name: str
    arguments: str

    @property
    def line(self) -> str:
        """The first line of it, for all commands that carry no words for the model: what stands below is a signature."""
        return next(iter(self.arguments.splitlines()), "").strip()


def parse_command(event: Event) -> Invocation | None:
    """The command that the event is, if it is one: "/name" at the very start, where the event's text may be a command at all."""
    return parse_typed(event.text) if event.command_text else None


def parse_typed(typed: str) -> Invocation | None:
    """The command that a text would be, if it may be one."""
    text = typed.strip()
    if not text.startswith("/"):
        return None
    match = _COMMAND.fullmatch(text)
    return None if match is None else Invocation(match[1].lower(), (match[2] or "").strip())
