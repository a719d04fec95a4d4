"""The terminal's keys in config.yaml: those that every platform has."""

from __future__ import annotations

from hermes.config import PlatformSettings

__all__ = ["TerminalSettings"]


class TerminalSettings(PlatformSettings):
    """`hermes chat`. Whoever may use the home may use it, so `allow_from` means nothing here."""
