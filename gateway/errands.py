"""What agents send elsewhere in the middle of a turn: where they may write, how much, and a line in the log for each.

It goes through the same gate as `hermes send`, under a key made of the turn and the call: a turn that is taken up again
finds its message in the outbox and sends it once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256

import structlog

from gateway.directory import Directory
from gateway.outbound import Outbound
from gateway.router import HOME, format_target, parse_target
from hermes.errors import ConfigError, HermesError
from hermes.events import Target
from hermes.messages import scrub_surrogates
from hermes.services import Delivered, Errand

__all__ = ["MOST_PER_TURN", "Errands", "is_allowed"]

log = structlog.get_logger("gateway.errands")

MOST_PER_TURN = 20
"""Messages; a model that goes in circles, or was talked into it, floods nobody."""
_SECONDS = 15.0
"""How long a call waits for the platform to take its message; it goes out later all the same."""


class Errands:
    """See `hermes.services.Deliveries`. allowed: `tools.send_to` as it is now."""

    def __init__(self, allowed: Callable[[], Sequence[str]]) -> None:
        self._allowed = allowed
        self._gate: tuple[Outbound, Directory] | None = None

    def join(self, outbound: Outbound, directory: Directory) -> None:
        """The gateway by which messages go; agents are built before it."""
        self._gate = outbound, directory

    async def deliver(self, errand: Errand) -> Delivered:
        """See `Deliveries.deliver`."""
        if self._gate is None:
            raise HermesError("Nothing can be sent yet.")
        outbound, directory = self._gate
        origin = None if errand.origin is None else replace(errand.origin, answers=None)
        target = outbound.target(errand.target, origin)
        self._check(target, origin, directory, errand)
        turn = f"turn:{errand.turn_id}:"
        key = (
            turn + sha256(errand.call_id.encode("utf-8", "replace")).hexdigest()[:32]
        )  # ids are the model's, of any length
        sent = await outbound.count(turn, without=key)
        if sent >= MOST_PER_TURN:
            raise HermesError(f"One turn sends at most {MOST_PER_TURN} messages elsewhere.")
        done = await outbound.send(target, scrub_surrogates(errand.text), key=key, seconds=_SECONDS)
        log.info(
            "errand.done",
            session=errand.session_key,
            turn=errand.turn_id,
            call=errand.call_id,
            target=done.target,
            characters=len(errand.text),
            state=done.state,
        )
        return Delivered(done.target, done.state, done.error)

    def _check(self, target: Target, origin: Target | None, directory: Directory, errand: Errand) -> None:
        rules = self._allowed()
        if is_allowed(target, origin, rules, directory):
            return
        where = format_target(target)
        log.warning("errand.not_allowed", session=errand.session_key, turn=errand.turn_id, target=where)
        raise HermesError(
            f"Writing to {where} is not allowed: the owner can put it into tools.send_to in the settings. Allowed are "
            f"this chat (origin){''.join(f', {rule}' for rule in rules)}."
        )


def is_allowed(target: Target, origin: Target | None, rules: Sequence[str], directory: Directory) -> bool:
    """Whether a turn whose answer goes to `origin` may write to the target, which has the chat's id. Pure."""
    place = target.instance, target.chat
    if origin is not None and place == (origin.instance, origin.chat):
        return True
    return any(_fits(rule, target, directory) for rule in rules)


def _fits(rule: str, target: Target, directory: Directory) -> bool:
    if rule in ("*", f"{target.instance}:*"):
        return True
    if rule == HOME:
        return any((h.instance, h.chat) == (target.instance, target.chat) for h in directory.homes())
    try:
        named = directory.resolve(parse_target(rule))
    except ConfigError:  # a name that nobody bears, or a platform without a home
        return False
    same_chat = (named.instance, named.chat) == (target.instance, target.chat)
    return same_chat and named.thread in (None, target.thread)
