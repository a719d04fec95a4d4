"""Taking up what an earlier process left open.

The plan is pure (`plan`); carrying it out is one transaction per item.

Order: rows that nobody can come back for are closed; control commands are applied; turns that failed too
often or are too old are closed
with a sentence; the others go on from their last stored step; then the messages that wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import structlog

from gateway import ledger, outbox
from gateway.active import TurnWork
from gateway.busy import gathered
from gateway.ledger import InboxRow
from gateway.parts import Parts
from gateway.sessions import Sessions, is_control
from hermes.agent import SessionSpec, UnfinishedTurn

__all__ = ["Ending", "Plan", "ResumeRules", "plan", "recover"]

log = structlog.get_logger("gateway.recovery")


@dataclass(frozen=True, slots=True)
class ResumeRules:
    """max_age: seconds after which a turn is not resumed by itself.

    max_starts: starts without a stored step until a turn is dead.
    """

    max_age: float = 86_400.0
    max_starts: int = 3


@dataclass(frozen=True, slots=True)
class Ending:
    """Rows to close without running them. turn_id: their open turn, if they had one.

    sentence: key to tell, `None` for silence.
    """

    rows: tuple[InboxRow, ...]
    state: Literal["stopped", "dead", "answered"]
    sentence: str | None
    turn_id: str | None = None
    starts: int = 0


@dataclass(slots=True)
class Plan:
    """What to do at start, in this order."""

    endings: list[Ending] = field(default_factory=list)
    turns: list[TurnWork] = field(default_factory=list)
    waiting: list[InboxRow] = field(default_factory=list)


def plan(
    rows: Sequence[InboxRow], unfinished: Sequence[UnfinishedTurn], rules: ResumeRules, now: float
) -> Plan:
    """Decide on every open row, each exactly once."""
    out = Plan()
    turns = {t.turn_id: t for t in unfinished}
    stops = {r.session_key: r for r in rows if r.state == "waiting" and is_control(r) and _names(r, "stop")}
    running: dict[str, list[InboxRow]] = {}
    for row in rows:
        if row.turn_id is not None and row.turn_id in turns:
            running.setdefault(row.turn_id, []).append(row)
        elif row.event.volatile:
            out.endings.append(Ending((row,), "stopped", None))
        elif stops.get(row.session_key) is not row:
            out.waiting.append(row)
    used: set[int] = set()
    for turn_id, members in running.items():
        stop = stops.get(members[0].session_key)
        if stop is not None:
            used.add(stop.id)
            out.endings.append(Ending(tuple(members), "stopped", None, turn_id))
            out.endings.append(Ending((stop,), "answered", "stopped"))
            stops.pop(members[0].session_key)
        else:
            _judge(out, turns[turn_id], tuple(members), rules, now)
    for stop in stops.values():
        if stop.id in used:
            continue
        dropped = _about_to_begin(out.waiting, stop, now)
        if dropped:
            out.waiting = [r for r in out.waiting if r not in dropped]
            out.endings.append(Ending(dropped, "stopped", None))
        out.endings.append(Ending((stop,), "answered", "stopped" if dropped else "nothing_running"))
    return out


def _about_to_begin(waiting: Sequence[InboxRow], stop: InboxRow, now: float) -> tuple[InboxRow, ...]:
    """What the /stop was about when no turn of its session was open yet: the first message with its other parts."""
    rows = [r for r in waiting if r.session_key == stop.session_key and r.id < stop.id and not is_control(r)]
    if not rows or rows[0].early(now) > 0:
        return ()
    return tuple(rows[: 1 + gathered(rows[0], rows[1:], "queue")])


def _judge(
    out: Plan, turn: UnfinishedTurn, rows: tuple[InboxRow, ...], rules: ResumeRules, now: float
) -> None:
    if all(r.event.volatile for r in rows):
        out.endings.append(Ending(rows, "stopped", None, turn.turn_id))
    elif turn.starts >= rules.max_starts:
        out.endings.append(Ending(rows, "dead", "dead", turn.turn_id, turn.starts))
    elif now - turn.begun_at > rules.max_age:
        out.endings.append(Ending(rows, "dead", "expired", turn.turn_id))
    else:
        last = turn.starts >= rules.max_starts - 1
        spec = _spec(rows[-1])
        out.turns.append(TurnWork(turn.turn_id, spec, rows, resumed=True, last_start=last, most=turn.role))


def _names(row: InboxRow, command: str) -> bool:
    return row.event.text.strip().split()[0].lower() == f"/{command}"


def _spec(row: InboxRow) -> SessionSpec:
    e = row.event
    return SessionSpec(row.session_key, row.agent_id, e.platform, e.instance, e.kind, e.chat, e.thread)


async def recover(parts: Parts, sessions: Sessions, rules: ResumeRules) -> Plan:
    """Carry the plan out. When this returns, everything open is in a mailbox, a lane, or closed.

    What came by a platform that this process does not listen to is left to one that does.
    """
    await parts.delivery.recover()
    rows = [r for r in await ledger.open_inbox(parts.store) if parts.delivery.hears(r.event.instance)]
    found = plan(rows, await parts.host.unfinished(), rules, parts.clock.time())
    for ending in found.endings:
        await _end(parts, ending)
    for work in found.turns:
        log.info("turn.resumed", turn=work.turn_id, last_start=work.last_start)
        sessions.resume(work)
    for row in found.waiting:
        sessions.put(row)
    return found


async def _end(parts: Parts, ending: Ending) -> None:
    text = "" if ending.sentence is None else parts.say(ending.sentence, starts=ending.starts)
    row = ending.rows[-1]
    drafts = parts.delivery.compose(row.event.reply_to, text, ending.turn_id or row.ticket) if text else []
    standing = await outbox.live_message(parts.store, ending.turn_id) if ending.turn_id is not None else None
    if standing is not None:
        drafts = drafts or parts.delivery.compose(
            row.event.reply_to, parts.say("stopped"), ending.turn_id or ""
        )
        drafts[:1] = [replace(d, edits=standing) for d in drafts[:1]]
    now = parts.clock.time()
    jobs = [
        ledger.close([r.id for r in ending.rows], ending.state, text, None, now),
        outbox.enqueue(drafts, now),
    ]
    if ending.turn_id is not None:
        state: Literal["dead", "stopped"] = "dead" if ending.state == "dead" else "stopped"
        jobs.insert(0, parts.host.abort(ending.turn_id, state, text))
    if ending.state == "dead":
        log.error("turn.dead", turn=ending.turn_id, starts=ending.starts, session=row.session_key)
    outgoing = (await parts.store.write(*jobs))[-1]
    parts.delivery.wake(outgoing)
