"""What a command gets, and what it gives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gateway.ledger import InboxRow
from gateway.linking import Linking
from gateway.outbox import Draft
from gateway.settings import Busy
from hermes.agent import AgentHost, TurnInput
from hermes.events import Role
from hermes.store import Job

__all__ = ["Command", "CommandRequest", "Reply"]


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """One command to run. waiting: messages in the session's mailbox.

    stop: asks the running turn to stop; false when none runs. steer: gives a text to the running turn.
    set_mode: what becomes of messages while a turn runs, in this conversation; its job keeps the choice.
    role: what the sender is; refused: the commands that this role may not give. make_home: makes a chat (instance, id) its
    platform's home; its job keeps that.
    """

    row: InboxRow
    arguments: str
    host: AgentHost
    say: Callable[..., str]
    waiting: int
    stop: Callable[[], bool]
    steer: Callable[[str], None]
    set_mode: Callable[[Busy], Job]
    linking: Linking
    role: Role
    make_home: Callable[[str, str], Job]
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command wants. jobs: committed with the reply.

    forget: the live agent is dropped after the commit.
    redo: run a turn that asks this, in the place of the last one. later: the running turn's end will
    answer. also: what is sent elsewhere. secret: the text is sent and not kept with the message.
    """

    text: str = ""
    jobs: tuple[Job, ...] = ()
    forget: bool = False
    redo: TurnInput | None = None
    later: bool = False
    also: tuple[Draft, ...] = ()
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """One command. control: it passes the mailbox, since it is about the running turn, or must not wait for it.

    speaks: what follows it is said to the model, as a message is.
    """

    name: str
    description: str
    run: Callable[[CommandRequest], Awaitable[Reply]]
    control: bool = False
    speaks: bool = False
