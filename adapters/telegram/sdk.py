"""What is used of python-telegram-bot, imported as if `cryptography` were not there.

With that the SDK could decrypt people's passports, which nobody asks of us, and 8 MB more would stay in memory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Bot", "HTTPXRequest", "PTBUserWarning", "TelegramError"]


@contextmanager
def _without(name: str) -> Iterator[None]:
    """Others may have it, and may import it afterwards."""
    held = sys.modules.get(name)
    sys.modules[name] = None  # type: ignore[assignment]  # None: as if it were not installed
    try:
        yield
    finally:
        del sys.modules[name]
        if held is not None:
            sys.modules[name] = held


with _without("cryptography"):
    from telegram import Bot
    from telegram.error import TelegramError
    from telegram.request import HTTPXRequest
    from telegram.warnings import PTBUserWarning
