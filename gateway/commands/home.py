"""The command `/sethome`."""

from __future__ import annotations

from gateway.commands.request import CommandRequest, Reply

__all__ = ["sethome"]

_CHATS = ("direct", "group", "channel")


async def sethome(request: CommandRequest) -> Reply:
    """Make this chat its platform's home. Guests may not, whatever the settings refuse them."""
    event, say = request.row.event, request.say
    if request.role == "guest":
        return Reply(say("command_refused", command="/sethome"))
    if event.kind not in _CHATS:
        return Reply(say("home_not_here"))
    job = request.make_home(event.instance, event.chat)
    return Reply(say("home_set", platform=event.instance), (job,))
