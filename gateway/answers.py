"""What is answered without a turn: commands, and messages that are closed with a sentence or with none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import structlog

from gateway import ledger, outbox
from gateway.commands import COMMANDS, CommandRequest, Reply, parse_command
from gateway.ledger import InboxRow
from gateway.parts import Parts
from gateway.settings import Busy
from hermes.agent import TurnEnded
from hermes.errors import StoreCorrupt, StoreError, StoreUnavailable
from hermes.store import Job

__all__ = ["Answers", "Surroundings"]

log = structlog.get_logger("gateway.answers")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a command can see and do in its conversation: fields of `CommandRequest`."""

    waiting: int
    stop: Callable[[], bool]
    steer: Callable[[str], None]
    set_mode: Callable[[Busy], Job]


class Answers:
    """Runs commands and closes what needs no turn."""

    def __init__(self, parts: Parts) -> None:
        self._store = parts.store
        self._host = parts.host
        self._agents = parts.agents
        self._delivery = parts.delivery
        self._feeds = parts.feeds
        self._clock = parts.clock
        self._say = parts.say
        self._linking = parts.linking
        self._rights = parts.linking.rights
        self._may = parts.may
        self._directory = parts.directory

    def admits(self, row: InboxRow) -> bool:
        """Whether the sender has still the right by which the message was taken; who joins by a code gets his so."""
        invocation = parse_command(row.event)
        if self._rights.admits(row.event) or (invocation is not None and invocation.name == "link"):
            return True
        log.info("message.not_admitted_any_longer", instance=row.event.instance)
        return False

    def key_now(self, row: InboxRow) -> str:
        """The conversation in which the message is handled: another one when its sender has no part in its own any more."""
        return self._rights.key_now(row.event, row.agent_id, row.session_key)

    async def of(self, row: InboxRow, around: Surroundings) -> Reply:
        """What the row's command says; nothing that it changes is committed yet."""
        invocation = parse_command(row.event)
        assert invocation is not None  # noqa: S101  only rows with a command come here
        command = COMMANDS.get(invocation.name)
        if command is None:
            return Reply(self._say("unknown_command", command=f"/{invocation.name}"))
        role = self._rights.role(row.event)
        refused = self._may(role).refused
        if command.name in refused:
            return Reply(self._say("command_refused", command=f"/{command.name}"))
        request = CommandRequest(
            row,
            invocation.arguments if command.speaks else invocation.line,
            self._host,
            self._say,
            around.waiting,
            around.stop,
            around.steer,
            around.set_mode,
            self._linking,
            role,
            lambda instance, chat: self._directory.make_home(instance, chat, self._clock.time()),
            refused,
        )
        try:
            return await command.run(request)
        except StoreCorrupt:
            return Reply(self._say("history_unreadable"))
        except Exception:  # a command's fault is told to the user and must not stop the mailbox
            log.exception("command.failed", command=invocation.name)
            return Reply(self._say("internal"))

    async def close(
        self,
        row: InboxRow,
        reply: Reply,
        *,
        state: ledger.InboxState = "answered",
        dropped: Sequence[InboxRow] = (),
    ) -> None:
        """Commit a command's reply and what it changes, once, however long the store is away.

        dropped: messages that the reply's jobs close.
        """
        drafts = self._delivery.compose(row.event.reply_to, reply.text, row.ticket) if reply.text else []
        drafts += reply.also
        kept = "" if reply.secret else reply.text
        now = self._clock.time()
        jobs = (
            *reply.jobs,
            ledger.close([row.id], state, kept, None, now),
            outbox.enqueue(drafts, now),
        )
        while True:
            try:
                outgoing = (await self._store.write(*jobs))[-1]
                break
            except StoreUnavailable:
                await self._store.wait_healthy()
                await self._clock.sleep(0.2)
            except LookupError as error:
                log.info("command.refused", error=str(error))
                jobs = (ledger.close([row.id], state, kept, None, now), outbox.enqueue(drafts, now))
        if reply.forget:
            await self._agents.drop(row.session_key)
        self._delivery.wake(outgoing)
        for gone in dropped:
            self._feeds.end(gone.ticket, TurnEnded("stopped", ""))
        self._feeds.end(row.ticket, TurnEnded("answered" if state == "answered" else "stopped", reply.text))
        if reply.jobs:
            with suppress(StoreError):  # the next turn brings it, or the next start
                await self._host.changed(row.session_key)
