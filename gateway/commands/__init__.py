"""Chat commands: one table feeds dispatch, /help and the platforms' menus."""

from gateway.commands.parse import Invocation, parse_command, parse_typed
from gateway.commands.request import Command, CommandRequest, Reply
from gateway.commands.table import COMMANDS, menu

__all__ = [
    "COMMANDS",
    "Command",
    "CommandRequest",
    "Invocation",
    "Reply",
    "menu",
    "parse_command",
    "parse_typed",
]
