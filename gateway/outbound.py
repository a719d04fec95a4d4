"""Messages that answer nothing: what a command or a tool sends to a target, by the same way as replies.

A message has a key; the same key is sent once, for as long as the outbox remembers it (`retention.outbox`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gateway import outbox
from gateway.delivery import Delivery
from gateway.router import format_target
from hermes.clock import Clock
from hermes.errors import HermesError
from hermes.events import Target
from hermes.store import Store

__all__ = ["Outbound", "Sent"]

_MOST_KEY = 200


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a message. `queued`: it goes out as soon as the platform takes it.

    message_ids: the platform's names of its pieces, as far as they were taken. error: the last trouble there was.
    """

    key: str
    target: str
    state: Literal["sent", "queued", "dead", "dropped"]
    message_ids: tuple[str, ...] = ()
    error: str | None = None


class Outbound:
    """Sends to targets that somebody names. targets: reads one, and raises `ConfigError` where nothing can be sent."""

    def __init__(
        self, store: Store, delivery: Delivery, clock: Clock, targets: Callable[[str], Target]
    ) -> None:
        self._store = store
        self._delivery = delivery
        self._clock = clock
        self._targets = targets

    async def send(self, to: str, markdown: str, *, key: str, seconds: float = 0.0) -> Sent:
        """Put the message into the outbox, durably, and see for so long what becomes of it.

        Raises `ConfigError` for what is no target, `HermesError` for a message without words, `StoreUnavailable`.
        """
        target = self._targets(to)
        if not key or len(key) > _MOST_KEY:
            raise HermesError(f"A message's key has 1 to {_MOST_KEY} characters.")
        drafts = self._delivery.compose([target], markdown, f"send:{key}", "send")
        if not drafts:
            raise HermesError("The message is empty: there is nothing to send.")
        (rows,) = await self._store.write(outbox.enqueue(drafts, self._clock.time()))
        self._delivery.wake(rows)
        keys = [d.key for d in drafts]
        standing = await outbox.standing(self._store, keys)
        await self._delivery.closed([row.id for row in standing], seconds)
        return _sum_up(key, target, await outbox.standing(self._store, keys))


def _sum_up(key: str, target: Target, rows: list[outbox.Standing]) -> Sent:
    states = {row.state for row in rows}
    ids = tuple(row.message_id for row in rows if row.message_id is not None)
    error = next((row.error for row in rows if row.error and row.state != "sent"), None)
    for state in ("dead", "dropped"):
        if state in states:
            return Sent(key, format_target(target), state, ids, error)
    return Sent(key, format_target(target), "sent" if states <= {"sent"} else "queued", ids, error)
