"""What mailboxes, turns and recovery share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.agents import Agents
from gateway.delivery import Delivery
from gateway.directory import Directory
from gateway.feeds import Feeds
from gateway.linking import Linking
from gateway.live import LiveRules
from gateway.media.fetching import Fetching
from gateway.replies import Keep, LongReply
from gateway.settings import Busy, RoleSettings
from hermes.agent import AgentHost
from hermes.clock import Clock
from hermes.events import Role
from hermes.store import Store

__all__ = ["Parts"]


@dataclass(frozen=True, slots=True)
class Parts:
    """The surroundings of a turn.

    say: the table of system sentences in the language of the settings. live: how answers grow, and
    busy: what becomes of a message while a turn runs, by platform instance; as the settings say now. linking: who is who.
    may: what a role may do. directory: what chats are called. files: fetches what came with messages.
    keep: puts a file into the home. long_reply: when an answer goes as a file.
    """

    store: Store
    host: AgentHost
    agents: Agents
    delivery: Delivery
    feeds: Feeds
    clock: Clock
    say: Callable[..., str]
    linking: Linking
    may: Callable[[Role], RoleSettings]
    directory: Directory
    files: Fetching
    keep: Keep | None = None
    long_reply: Callable[[], LongReply] = LongReply
    live: Callable[[], LiveRules] = LiveRules
    busy: Callable[[str], Busy] = lambda _: "queue"
