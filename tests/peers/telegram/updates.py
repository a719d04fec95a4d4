"""The queue behind getUpdates. https://core.telegram.org/bots/api#getupdates"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection
from typing import Any

from tests.peers.journal import Changes
from tests.peers.telegram.chats import Refused

Update = dict[str, Any]
_NOT_BY_DEFAULT = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
_LONGEST_POLL = 50.0
_CONFLICT = (
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
)


class UpdateQueue:
    """Updates wait here until a poll with a higher offset confirms them; none is lost while nobody polls."""

    def __init__(self, stopping: asyncio.Event, changes: Changes) -> None:
        self.waiting: list[Update] = []
        self.pushed: deque[Update] = deque(maxlen=20_000)
        self.dropped = 0
        self.polls = 0
        self._next_id = 1000
        self._allowed: Collection[str] | None = None
        self._poll = 0
        self._changed = asyncio.Event()
        self._stopping = stopping
        self._changes = changes

    def push(self, body: Update, *, filtered: bool = True) -> Update:
        """Queue an update; it gets the next id unless it brings one. Returns it as it will be delivered."""
        update = body if "update_id" in body else {"update_id": self._next_id, **body}
        if isinstance(update["update_id"], int):
            self._next_id = max(self._next_id, update["update_id"] + 1)
        kinds = update.keys() - {"update_id"}
        if filtered and kinds and not any(self._wanted(kind) for kind in kinds):
            self.dropped += 1
            return update
        self.waiting.append(update)
        self.pushed.append(update)
        self._wake()
        return update

    def again(self, update_id: int, *, new_id: bool = False) -> Update:
        """Deliver an update once more, under its own id or under a new one."""
        old = next(u for u in reversed(self.pushed) if u["update_id"] == update_id)
        if new_id:
            return self.push({k: v for k, v in old.items() if k != "update_id"}, filtered=False)
        self.waiting.insert(0, old)
        self._wake()
        return old

    def clear(self) -> None:
        """Drop what waits (deleteWebhook with drop_pending_updates)."""
        self.waiting.clear()

    def take_out(self, update: Update) -> None:
        """It was delivered to a webhook."""
        if update in self.waiting:
            self.waiting.remove(update)
        self._wake()

    def allow(self, kinds: Collection[str] | None) -> None:
        """Kinds of updates that come from now on; `None`: those that come by default."""
        self._allowed = frozenset(kinds or ()) or None

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return once it holds; looked at when updates come and go."""
        while not condition():
            await self._changed.wait()

    async def poll(self, params: dict[str, Any]) -> list[Update]:
        """Answer one getUpdates. Raises `Refused` 409 when a newer poll has come meanwhile."""
        self.polls += 1
        self._poll += 1
        mine = self._poll
        self._wake()
        if "allowed_updates" in params:
            self.allow(params["allowed_updates"])
        offset = int(params.get("offset", 0))
        self._confirm(offset)
        deadline = asyncio.get_running_loop().time() + min(float(params.get("timeout", 0)), _LONGEST_POLL)
        while not self.waiting and mine == self._poll and not self._stopping.is_set():
            if not await self._wait_until(deadline):
                break
        if mine != self._poll:
            raise Refused(_CONFLICT, 409)
        return self.waiting[: max(1, min(int(params.get("limit", 100)), 100))]

    async def _wait_until(self, deadline: float) -> bool:
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            return False
        changed = self._changed
        try:
            async with asyncio.timeout(left):
                await changed.wait()
        except TimeoutError:
            return False
        return True

    def _confirm(self, offset: int) -> None:
        if offset < 0:
            del self.waiting[: max(0, len(self.waiting) + offset)]
        elif offset > 0:
            self.waiting = [u for u in self.waiting if not _is_below(u, offset)]

    def _wanted(self, kind: str) -> bool:
        return kind not in _NOT_BY_DEFAULT if self._allowed is None else kind in self._allowed

    def wake(self) -> None:
        """Let a waiting poll look again (used when the server stops)."""
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
        self._changes.notify()


def _is_below(update: Update, offset: int) -> bool:
    update_id = update["update_id"]
    return isinstance(update_id, int) and update_id < offset
