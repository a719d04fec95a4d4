"""Messages that answer nothing: what a command or a tool sends to a target, by the same way as replies.

A message has a key; the same key is sent once, for as long as the outbox remembers it (`retention.outbox`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from gateway import outbox
from gateway.delivery import Delivery
from gateway.outbox import Draft
from gateway.router import format_target
from gateway.uncut import uncut
from hermes.clock import Clock
from hermes.errors import HermesError
from hermes.events import Target
from hermes.files import StoredFile, in_words
from hermes.store import Store

__all__ = ["Outbound", "Prepared", "Sent", "check_files"]

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


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is known before a message is sent. target: where it goes. is_known: its key was used; it is not sent again.

    largest_file: bytes that a file may have; `None`: none can be sent there.
    """

    target: str
    is_known: bool
    largest_file: int | None


class Outbound:
    """Sends to targets that somebody names.

    targets: reads one, for a turn whose answer goes to the second, where there is such; raises `ConfigError` where nothing
    can be sent.
    """

    def __init__(
        self,
        store: Store,
        delivery: Delivery,
        clock: Clock,
        targets: Callable[[str, Target | None], Target],
    ) -> None:
        self._store = store
        self._delivery = delivery
        self._clock = clock
        self._targets = targets

    def target(self, to: str, origin: Target | None = None) -> Target:
        """Where `to` leads, with the chat's id in place of a name. Raises `ConfigError` for what is no target."""
        return self._targets(to, origin)

    async def count(self, begins: str, *, without: str) -> int:
        """How many messages there are whose keys begin so, one of them left out."""
        return await outbox.count_messages(self._store, f"send:{begins}", f"send:{without}:0")

    async def prepare(self, to: str, key: str) -> Prepared:
        """Look before anything is copied or sent. Raises `ConfigError` for what is no target."""
        target = self.target(to)
        known = await outbox.message_rows(self._store, _name(key))
        return Prepared(format_target(target), bool(known), self._delivery.largest_file(target))

    async def send(
        self,
        to: str | Target,
        markdown: str,
        *,
        key: str,
        seconds: float = 0.0,
        files: Sequence[StoredFile] = (),
    ) -> Sent:
        """Put the message into the outbox, durably, and see for so long what becomes of it.

        to: as somebody wrote it, or as `target` gave it. files: go with it, in order; its words are the caption of the
        first. A message with a known key is left as it is.
        Raises `ConfigError` for what is no target, `HermesError` for a message without words and files and for files
        that the platform does not take, `StoreUnavailable`.
        """
        target, name = to if isinstance(to, Target) else self.target(to), _name(key)
        if not await outbox.message_rows(self._store, name):
            drafts = await self._drafts(target, markdown, key, files)
            await uncut(self._put(drafts), name="outbound")
        standing = await outbox.message_rows(self._store, name)
        await self._delivery.closed([row.id for row in standing], seconds)
        return _sum_up(key, target, await outbox.message_rows(self._store, name))

    async def _put(self, drafts: Sequence[Draft]) -> None:
        (rows,) = await self._store.write(outbox.enqueue_message(drafts, self._clock.time()))
        self._delivery.wake(rows)

    async def _drafts(
        self, target: Target, markdown: str, key: str, files: Sequence[StoredFile]
    ) -> list[Draft]:
        check_files(target.instance, self._delivery.largest_file(target), [(f.name, f.size) for f in files])
        bare = [(file, "") for file in files]
        drafts = self._delivery.compose([target], markdown, f"send:{key}", "send", bare)
        if not drafts:
            raise HermesError("The message is empty: there is nothing to send.")
        return drafts


def check_files(platform: str, most: int | None, files: Sequence[tuple[str, int]]) -> None:
    """See that the platform takes the files, each a name and its bytes. Raises `HermesError`. Pure."""
    if files and most is None:
        raise HermesError(f"{platform} takes no files from us.")
    for name, size in files:
        if size == 0:
            raise HermesError(f"{name} is empty; an empty file cannot be sent.")
        if most is not None and size > most:
            has, bound = in_words(size), in_words(most)
            if has == bound:
                has, bound = f"{size:,} bytes", f"{most:,}"
            raise HermesError(f"{name} has {has}; {platform} takes at most {bound}.")


def _name(key: str) -> str:
    """The message's name in the outbox. Raises `HermesError` for what is no key."""
    if not key or len(key) > _MOST_KEY:
        raise HermesError(f"A message's key has 1 to {_MOST_KEY} characters.")
    return f"send:{key}:0"


def _sum_up(key: str, target: Target, rows: Sequence[outbox.Standing]) -> Sent:
    states = {row.state for row in rows}
    ids = tuple(row.message_id for row in rows if row.message_id is not None)
    error = next((row.error for row in rows if row.error and row.state != "sent"), None)
    if states & {"dead", "put away"}:
        return Sent(key, format_target(target), "dead", ids, error)
    if "dropped" in states:
        return Sent(key, format_target(target), "dropped", ids, error)
    return Sent(key, format_target(target), "sent" if states <= {"sent"} else "queued", ids, error)
