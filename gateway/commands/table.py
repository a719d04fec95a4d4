"""The commands themselves.

Each returns a `Reply`: what to say and what to commit with it; nothing is sent or stored here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.commands.home import sethome
from gateway.commands.people import link, unlink, whoami
from gateway.commands.request import Command, CommandRequest, Reply
from gateway.day import midnight
from hermes.adapter import CommandInfo
from hermes.agent import SessionInfo

__all__ = ["COMMANDS", "menu"]


async def _help(request: CommandRequest) -> Reply:
    lines = [f"/{c.name} - {c.description}" for c in COMMANDS.values() if c.name not in request.refused]
    return Reply("\n".join([request.say("help"), *lines]))


async def _start(request: CommandRequest) -> Reply:
    return Reply(request.say("hello"))


async def _new(request: CommandRequest) -> Reply:
    return Reply(request.say("fresh"), (request.host.reset(request.row.session_key),), forget=True)


async def _stop(request: CommandRequest) -> Reply:
    if request.stop():
        return Reply(request.say("stopped"), later=True)
    return Reply(request.say("nothing_running"))


async def _steer(request: CommandRequest) -> Reply:
    if request.arguments:
        request.steer(request.arguments)
        return Reply(later=True)
    return Reply(request.say("mode_steer"), (request.set_mode("steer"),))


async def _queue(request: CommandRequest) -> Reply:
    return Reply(request.say("mode_queue"), (request.set_mode("queue"),))


async def _status(request: CommandRequest) -> Reply:
    key = request.row.session_key
    current = await _current(request)
    usage = await request.host.usage(key)
    text = request.say(
        "status",
        session=current.title if current and current.title else "-",
        messages=current.messages if current else 0,
        tokens=int(usage.get("prompt", 0)) + int(usage.get("completion", 0)),
        model=request.host.model_name(key) or "-",
        waiting=request.waiting,
    )
    return Reply(text)


async def _model(request: CommandRequest) -> Reply:
    key, wanted = request.row.session_key, request.arguments
    now = request.host.model_name(key)
    if not wanted:
        return Reply(request.say("model", model=now) if now else request.say("model_config"))
    if len(wanted.split()) > 1 or len(wanted) > 200:
        return Reply(request.say("model_refused"))
    if now.startswith("local/") and wanted != "default":
        return Reply(request.say("model_embedded", model=now))
    chosen = None if wanted == "default" else wanted
    text = request.say("model_default") if chosen is None else request.say("model_chosen", model=chosen)
    return Reply(text, (request.host.choose_model(key, chosen),), forget=True)


async def _usage(request: CommandRequest) -> Reply:
    key = request.row.session_key
    here: Mapping[str, Any] = await request.host.usage(key)
    accounts = request.linking.rights.accounts(request.row.event)
    spent, today = await request.host.spent(key, accounts, midnight())
    text = request.say(
        "usage",
        turns=here["turns"],
        calls=here["calls"],
        prompt=here["prompt"],
        completion=here["completion"],
        cost=_dollars(spent["cost"]),
        today=int(today["prompt"]) + int(today["completion"]),
        today_cost=_dollars(today["cost"]),
    )
    return Reply(text)


def _dollars(cost: float | None) -> str:
    return "" if cost is None else f", ${cost:.4f}"


async def _retry(request: CommandRequest) -> Reply:
    asked = await request.host.last_input(request.row.session_key)
    return Reply(request.say("nothing_to_retry")) if asked is None else Reply(redo=asked)


async def _undo(request: CommandRequest) -> Reply:
    key = request.row.session_key
    asked = await request.host.last_input(key)
    if asked is None:
        return Reply(request.say("nothing_to_undo"))
    named = asked.text or ", ".join(given.title for given in asked.files if given.title)
    return Reply(request.say("undone", text=_short(named)), (request.host.undo(key),), forget=True)


async def _title(request: CommandRequest) -> Reply:
    title = " ".join(request.arguments.split())[:80]
    if title:
        return Reply(
            request.say("titled", title=title), (request.host.retitle(request.row.session_key, title),)
        )
    current = await _current(request)
    if current is None or not current.title:
        return Reply(request.say("title_usage"))
    return Reply(request.say("title_is", title=current.title))


async def _sessions(request: CommandRequest) -> Reply:
    found = await request.host.sessions(request.row.session_key, limit=10)
    if not found:
        return Reply(request.say("no_sessions"))
    lines = [f"{n}. {_titled(s)} ({s.messages})" for n, s in enumerate(found, 1)]
    return Reply("\n".join([request.say("sessions"), *lines]))


async def _resume(request: CommandRequest) -> Reply:
    found = await request.host.sessions(request.row.session_key, limit=10)
    choice = request.arguments
    if not choice.isdecimal() or not 1 <= int(choice) <= len(found):
        return Reply(request.say("resume_usage"))
    chosen = found[int(choice) - 1]
    job = request.host.resume(request.row.session_key, chosen.session_id)
    return Reply(request.say("resumed", title=_titled(chosen)), (job,), forget=True)


async def _current(request: CommandRequest) -> SessionInfo | None:
    found = await request.host.sessions(request.row.session_key, limit=1)
    return found[0] if found and not found[0].closed else None


def _titled(session: SessionInfo) -> str:
    return session.title or session.session_id


def _short(text: str, limit: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


COMMANDS: Mapping[str, Command] = {
    c.name: c
    for c in (
        Command("help", "what you can send me", _help),
        Command("start", "say hello", _start),
        Command("new", "begin a fresh conversation", _new),
        Command("reset", "the same as /new", _new),
        Command("stop", "stop what I am doing", _stop, control=True),
        Command("queue", "let messages wait while I work", _queue, control=True),
        Command(
            "steer",
            "say something to the running work; without text: always",
            _steer,
            control=True,
            speaks=True,
        ),
        Command("status", "how things stand", _status, control=True),
        Command("model", "which model answers; /model NAME chooses another", _model),
        Command("usage", "tokens used in this conversation", _usage),
        Command("retry", "answer the last message again", _retry),
        Command("undo", "take the last message and its answer back", _undo),
        Command("title", "name this conversation", _title),
        Command("whoami", "who you are to me", whoami),
        Command("link", "join your accounts: a code, or /link CODE on the other one", link),
        Command("unlink", "take this account out again", unlink, control=True),
        Command("sethome", "what names no other chat is sent to this one", sethome),
        Command("sessions", "earlier conversations here", _sessions),
        Command("resume", "go on with an earlier conversation", _resume),
    )
}


def menu() -> tuple[CommandInfo, ...]:
    """The commands for a platform's menu."""
    return tuple(CommandInfo(c.name, c.description) for c in COMMANDS.values())
