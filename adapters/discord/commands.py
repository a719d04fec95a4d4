"""The commands in Discord's own menu. Pure.

Source: https://discord.com/developers/docs/interactions/application-commands#application-command-object .
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from adapters.discord.interactions import ASK
from hermes.adapter import CommandInfo

__all__ = ["MOST", "is_same", "menu"]

MOST = 100
"""Global slash commands of one application."""
_NAME = re.compile(r"[-_\w]{1,32}")
_CORE = ("help", "new", "stop", "status", "retry")
"""What must be there when there are too many commands; all others are reached by `/ask`."""


def menu(commands: Iterable[CommandInfo]) -> list[dict[str, Any]]:
    """What to register: `/ask`, and as many commands as there is room for."""
    fit = [c for c in commands if _NAME.fullmatch(c.name) and c.name == c.name.lower() and c.name != ASK]
    fit.sort(key=lambda c: c.name not in _CORE)
    asking = _command(ASK, "Say something, or give any command", is_needed=True)
    return [asking, *(_command(c.name, c.description, is_needed=False) for c in fit[: MOST - 1])]


def is_same(registered: object, wanted: Sequence[dict[str, Any]]) -> bool:
    """Whether Discord has these commands already: what is not changed need not be written."""
    listed = registered if isinstance(registered, list) else []
    return sorted(map(_gist, listed)) == sorted(map(_gist, wanted))


def _command(name: str, description: str, *, is_needed: bool) -> dict[str, Any]:
    text = {"type": 3, "name": "text", "description": "What follows the command", "required": is_needed}
    return {"type": 1, "name": name, "description": (description or name)[:100], "options": [text]}


def _gist(command: object) -> str:
    if not isinstance(command, dict):
        return ""
    options = command.get("options") or []
    needs = [(o.get("name"), bool(o.get("required"))) for o in options if isinstance(o, dict)]
    return repr((command.get("name"), command.get("description"), needs))
