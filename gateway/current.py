"""What the settings say at the moment, as the parts ask for it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from gateway import wiring
from gateway.door import DoorRules
from gateway.fate import DeliveryRules
from gateway.live import LiveRules
from gateway.media.rules import MediaRules
from gateway.replies import LongReply
from gateway.rights import Rights
from gateway.router import Route, SharingRules, route
from gateway.sentences import say
from gateway.settings import (
    Bindings,
    Busy,
    Display,
    GatewaySettings,
    MediaSettings,
    PeopleSettings,
    RoleSettings,
)
from hermes.config import SettingsSource, Snapshot
from hermes.events import Event, Role

__all__ = ["Current", "choose_agent", "media_rules"]


class Current:
    """fetches: the instances whose messages may consist of files alone."""

    def __init__(self, settings: SettingsSource, fetches: Collection[str] = ()) -> None:
        self._settings = settings
        self._fetches = fetches

    def say(self, key: str, /, **fields: Any) -> str:
        """A sentence of the system in the language of the settings."""
        return say(wiring.language(self._snapshot), key, **fields)

    def delivery(self) -> DeliveryRules:
        """What becomes of what could not be sent."""
        d = self._gateway.delivery
        return DeliveryRules(d.on_unknown, d.attempts)

    def live(self) -> LiveRules:
        """How answers grow."""
        display = self._snapshot.get("display", Display)
        return LiveRules(display.live, display.tool_progress)

    def long_reply(self) -> LongReply:
        """When an answer goes as a file."""
        display = self._snapshot.get("display", Display)
        return LongReply(display.long_reply_after if display.long_reply == "file" else None)

    def busy(self, instance: str) -> Busy:
        """What becomes of a message while a turn runs."""
        platform = self._snapshot.platforms.get(instance)
        own = platform.busy if platform is not None else None
        return own or self._gateway.sessions.busy

    def media(self) -> MediaRules:
        """The bounds on files."""
        return media_rules(self._snapshot)

    def door(self, instance: str) -> DoorRules:
        """Whom the door lets in, how much of it, and how often."""
        limits = self._gateway.limits
        platform = self._snapshot.platforms.get(instance)
        free = platform is not None and platform.type in ("webhook", "api", "terminal")
        return DoorRules(
            allow_from=None if platform is None else platform.allow_from,
            rate=None if free else limits.rate,
            backlog=limits.backlog,
            chars=limits.message_chars if not free else max(limits.message_chars, limits.http_body),
            fetches=instance in self._fetches,
        )

    def edits(self) -> Literal["ignore", "rerun"]:
        """What becomes of a new version of a message that was answered."""
        return self._gateway.edits

    def is_per_person(self) -> bool:
        """Whether the direct chats of a person are one conversation."""
        return self._gateway.sessions.dm == "per_person"

    def may_link(self) -> bool:
        """Whether accounts can be joined."""
        return self._snapshot.get("people", PeopleSettings).link

    def may(self, role: Role) -> RoleSettings:
        """What a role may do."""
        return self._snapshot.get("people", PeopleSettings).may(role)

    def route(self, event: Event, rights: Rights) -> Route:
        """The agent and the conversation of a message."""
        snapshot, shared = self._snapshot, self._gateway.sessions
        agent = choose_agent(event, snapshot.get("bindings", Bindings), wiring.agent_ids(snapshot)[0])
        return route(event, SharingRules(shared.group, shared.thread), agent, rights.shared(event))

    @property
    def _snapshot(self) -> Snapshot:
        return self._settings.current()

    @property
    def _gateway(self) -> GatewaySettings:
        return self._snapshot.get("gateway", GatewaySettings)


def choose_agent(event: Event, bindings: Bindings, default: str) -> str:
    """The agent of the first binding that fits, else the default one. Pure."""
    for rule in bindings.rules:
        wanted = (
            (rule.platform, event.instance),
            (rule.account, event.account),
            (rule.chat, event.chat),
            (rule.thread, event.thread),
            (rule.sender, event.sender.id),
        )
        if all(want is None or want == have for want, have in wanted):
            return rule.agent
    return default


def media_rules(snapshot: Snapshot) -> MediaRules:
    """The bounds on files, as these settings have them."""
    media = snapshot.get("media", MediaSettings)
    return MediaRules(
        media.largest,
        media.files,
        media.documents,
        media.characters,
        media.quota,
        media.keep,
        snapshot.get("gateway", GatewaySettings).resume_max_starts,
    )
