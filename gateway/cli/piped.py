"""What is piped into a command."""

from __future__ import annotations

import sys

from hermes.errors import ConfigError

__all__ = ["piped", "piped_secret"]


def piped(what: str) -> str:
    """All of stdin without its line end. Raises `ConfigError` for what is no text."""
    try:
        given = sys.stdin.read()
        given.encode()  # some locales read any byte, as half of a surrogate pair
    except UnicodeError:
        raise ConfigError(f"{what} is no UTF-8 text.") from None
    return given.rstrip("\r\n")


def piped_secret(what: str) -> str:
    """One secret from stdin. Raises `ConfigError` for nothing, which an unset variable gives, and for several lines."""
    given = piped(what).strip()
    if not given:
        raise ConfigError(f"{what} is empty: nothing was piped in.")
    if not given.isprintable():
        raise ConfigError(f"{what} has line ends or control characters in it; pipe in one line.")
    return given
