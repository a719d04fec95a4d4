"""The keys of the line editor, and how a paste is told from what is typed.

Most terminals mark a paste (bracketed paste). In the others its lines come like typed ones, only faster than
anybody types: an Enter that more text follows at once is a line end in it, and a Tab is a Tab.
"""

from __future__ import annotations

import asyncio
import termios
from collections.abc import Iterator
from contextlib import contextmanager

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyProcessor
from prompt_toolkit.keys import Keys

__all__ = ["build_keys", "typed_ahead"]

PASTE_GAP = 0.03
"""Seconds within which the next line of a paste comes; so long an Enter is held back."""
_TEXT = frozenset({"c-m", "c-j", "c-i"})


def build_keys() -> KeyBindings:
    """Enter sends, Alt-Enter begins a new line; a paste is one text."""
    keys = KeyBindings()
    in_line = has_focus(DEFAULT_BUFFER)

    @keys.add("escape", "enter", filter=in_line)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("enter", filter=in_line)
    def _(event: KeyPressEvent) -> None:
        following = event.key_processor.input_queue
        if not following:
            _Held(event.key_processor, event.current_buffer)
        elif _is_text(following[0].key):
            event.current_buffer.insert_text("\n")
        else:
            event.current_buffer.validate_and_handle()

    @keys.add("tab", filter=in_line & Condition(_is_followed))
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\t")

    return keys


def _is_followed() -> bool:
    return bool(get_app().key_processor.input_queue)


def _is_text(key: Keys | str) -> bool:
    return not isinstance(key, Keys) or key.value in _TEXT


class _Held:
    """An Enter that sends the text, unless something follows it at once."""

    def __init__(self, processor: KeyProcessor, buffer: Buffer) -> None:
        self._processor = processor
        self._buffer = buffer
        self._timer = asyncio.get_running_loop().call_later(PASTE_GAP, self._send)
        processor.before_key_press += self._followed

    def _followed(self, _: object) -> None:
        self._timer.cancel()
        self._processor.before_key_press -= self._followed
        self._buffer.insert_text("\n")

    def _send(self) -> None:
        self._processor.before_key_press -= self._followed
        self._buffer.validate_and_handle()


@contextmanager
def typed_ahead(descriptor: int) -> Iterator[None]:
    """Keep keys that are pressed while nobody reads as they are, Ctrl-D too; signals still work.

    In a line-wise terminal a Ctrl-D becomes an end of file, and a NUL when the editor takes over (termios(3), ICANON).
    """
    before = termios.tcgetattr(descriptor)
    now = termios.tcgetattr(descriptor)
    now[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(descriptor, termios.TCSANOW, now)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
