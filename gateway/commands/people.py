"""The commands about who somebody is: `/link`, `/unlink`, `/whoami`."""

from __future__ import annotations

from gateway.commands.request import CommandRequest, Reply
from gateway.linking import Linked
from gateway.rights import is_private
from hermes.agent import SessionInfo

__all__ = ["link", "unlink", "whoami"]


async def link(request: CommandRequest) -> Reply:
    """Give a code, or join by one."""
    return _reply(request.linking.link(request.row, request.arguments))


async def unlink(request: CommandRequest) -> Reply:
    """Take this account out of its person."""
    return _reply(request.linking.unlink(request.row))


def _reply(linked: Linked) -> Reply:
    return Reply(linked.text, linked.jobs, also=linked.also, secret=linked.secret)


async def whoami(request: CommandRequest) -> Reply:
    """Who the sender is to us; where others read along, no more than they see themselves."""
    event, say = request.row.event, request.say
    name = event.sender.name or event.sender.username or event.sender.id
    first = say("whoami", name=name, sender=event.sender.id, platform=event.instance, role=request.role)
    if not is_private(event):
        return Reply(first)
    rights = request.linking.rights
    person = rights.person(event)
    found = await request.host.sessions(request.row.session_key, limit=1)
    lines = [
        first,
        say("whoami_admitted", admission=request.row.admission),
        say(
            "whoami_person",
            person=person.id if person is not None else "-",
            accounts=", ".join(rights.accounts(event)) if person is not None else "-",
        ),
        say("whoami_session", agent=request.row.agent_id, session=_named(found[0]) if found else "-"),
    ]
    return Reply("\n".join(lines))


def _named(session: SessionInfo) -> str:
    return f"{session.title} ({session.session_id})" if session.title else session.session_id
