"""Where an event belongs: its agent and its session key. Pure.

Session key: `agent:<agentId>:<account>:<platform>:<kind>:<chat>[:t=<thread>][:u=<sender>][:e=<n>]`, each
part percent-encoded, so that two different places never share a key. What follows the agent is the conversation's
place; several accounts of one person may have one place together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from urllib.parse import quote, unquote

from hermes.agent import SessionSpec
from hermes.errors import ConfigError
from hermes.events import Event, Target

__all__ = [
    "HOME",
    "ORIGIN",
    "Route",
    "Shared",
    "SharingRules",
    "format_target",
    "key_at",
    "key_now",
    "parse_target",
    "place_of",
    "route",
    "session_key",
]

DEFAULT_AGENT = "main"
HOME = "home"
"""As a platform: the only home that there is; as a chat: the platform's home."""
ORIGIN = "origin"
"""As a platform: where the message came from."""


@dataclass(frozen=True, slots=True)
class SharingRules:
    """Who shares a conversation: in groups each sender has one of his own by default, in threads everybody shares."""

    group: Literal["per_sender", "shared"] = "per_sender"
    thread: Literal["per_sender", "shared"] = "shared"


@dataclass(frozen=True, slots=True)
class Shared:
    """What is known of a direct chat's sender. place: where his person's conversation is kept.

    parted: how often his account left one that was kept under its own key, which it then has no more.
    """

    place: str | None = None
    parted: int = 0


@dataclass(frozen=True, slots=True)
class Route:
    """Where an event goes. own: the place of the sender's own conversation, also where he shares another."""

    key: str
    spec: SessionSpec
    own: str = ""


@lru_cache(maxsize=4096)
def _part(text: str) -> str:
    return quote(text, safe="-_.@+", errors="surrogatepass")


def key_at(agent_id: str, place: str) -> str:
    """The key of an agent's conversation at a place."""
    return f"agent:{_part(agent_id)}:{place}"


def place_of(key: str) -> str:
    """The place of a conversation: its key without the agent."""
    return key.split(":", 2)[2]


def session_key(event: Event, agent_id: str, sharing: SharingRules, shared: Shared | None = None) -> str:
    """The event's session; injective in everything that separates conversations."""
    if shared is not None and shared.place is not None:
        return key_at(agent_id, shared.place)
    key = _own_key(event, agent_id, sharing)
    return f"{key}:e={shared.parted}" if shared is not None and shared.parted else key


def key_now(event: Event, agent_id: str, key: str, shared: Shared) -> str:
    """Where a message that waits at `key` is handled: there, as long as its sender has a part in that conversation.

    He has none in a person's that he has left, or was put out of, since the message came.
    """
    if not (event.kind == "direct" and event.private_notice):
        return key
    own = session_key(event, agent_id, SharingRules(), Shared(None, shared.parted))
    return (
        key
        if key == own or place_of(key) == shared.place
        else session_key(event, agent_id, SharingRules(), shared)
    )


def _own_key(event: Event, agent_id: str, sharing: SharingRules) -> str:
    chat = event.chat if event.session is None else event.session
    key = ":".join(
        ("agent", _part(agent_id), _part(event.account), _part(event.platform), event.kind, _part(chat))
    )
    if event.thread is not None:
        key += f":t={_part(event.thread)}"
    if event.kind in ("group", "channel"):
        rule = sharing.group if event.thread is None else sharing.thread
        if rule == "per_sender":
            key += f":u={_part(event.sender.id)}"
    return key


def route(
    event: Event, sharing: SharingRules, agent_id: str = DEFAULT_AGENT, shared: Shared | None = None
) -> Route:
    """The agent and session for an event."""
    key = session_key(event, agent_id, sharing, shared)
    spec = SessionSpec(key, agent_id, event.platform, event.instance, event.kind, event.chat, event.thread)
    if shared is None or shared.place is None:
        return Route(key, spec, place_of(key))
    return Route(key, spec, place_of(session_key(event, agent_id, sharing, Shared(None, shared.parted))))


def parse_target(text: str) -> Target:
    """The target written as `instance:chat[:thread]`, `instance` alone (its home), `home` or `origin`.

    What is a name in it (see `directory`) is one still. Raises `ConfigError` with an example.
    """
    parts = text.split(":")
    if len(parts) > 3 or not all(parts) or not text.strip():
        raise ConfigError(
            f'{text!r} is no delivery target; write "platform:chat" or "platform:chat:thread", for example "telegram:12345"'
        )
    if len(parts) == 1:
        return Target(text, text if text in (HOME, ORIGIN) else HOME)
    return Target(parts[0], unquote(parts[1]), unquote(parts[2]) if len(parts) == 3 else None)


def format_target(target: Target) -> str:
    """The inverse of `parse_target`."""
    thread = f":{_part(target.thread)}" if target.thread is not None else ""
    return f"{target.instance}:{_part(target.chat)}{thread}"
