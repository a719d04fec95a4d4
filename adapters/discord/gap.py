"""What was written while nobody listened, read by REST after every new session.

Bounded: 50 channels, a day, 300 messages each. Channels are those of the watermark (also direct ones, which Discord
lists for nobody) and those of the servers in which something was written since.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import structlog

from adapters.discord.client import Rest
from adapters.discord.mark import Mark, at_time
from adapters.discord.places import Place, read_place
from hermes.clock import Clock
from hermes.errors import AdapterError, NotTaken, Rejected, Unauthorized

__all__ = ["Gap"]

_log = structlog.get_logger("adapters.discord")
_CHANNELS, _GUILDS = 50, 25
_DAY = 86_400.0
_PAGE, _PAGES = 100, 3
_TRIES = 3
_LONGEST_PAUSE = 30.0


class Gap:
    """Reads the gaps of one bot. `alive` is called with every answer."""

    def __init__(self, rest: Rest, clock: Clock, alive: Callable[[], None]) -> None:
        self._rest = rest
        self._clock = clock
        self._alive = alive

    async def read(
        self, mark: Mark, guilds: Sequence[str]
    ) -> AsyncIterator[tuple[str, Place | None, list[Any]]]:
        """Channel by channel: its id, its place where that is known, and what was written there, oldest first."""
        oldest = at_time(self._clock.time() - _DAY)
        places: dict[str, Place | None] = dict.fromkeys(reversed(mark.channels))
        places |= dict(await self._stirred(mark, guilds, oldest))
        if len(places) > _CHANNELS:
            _log.warning("discord.gap_too_wide", channels=len(places), read=_CHANNELS)
        for channel, place in list(places.items())[:_CHANNELS]:
            after = mark.after(channel, oldest)
            for _ in range(_PAGES):
                page = await self._page(channel, after)
                if not page:
                    break
                yield channel, place, page
                after = max(after, *(_number(m) for m in page))
                if len(page) < _PAGE:
                    break

    async def _stirred(self, mark: Mark, guilds: Sequence[str], oldest: int) -> list[tuple[str, Place]]:
        """Channels and open threads of servers whose last message we have not seen, the newest first."""
        found: list[tuple[int, str, Place]] = []
        for guild in guilds[:_GUILDS]:
            channels = await self._ask(f"/guilds/{guild}/channels", "GET guild channels")
            active = await self._ask(f"/guilds/{guild}/threads/active", "GET active threads")
            threads = active.get("threads") if isinstance(active, dict) else None
            for channel in [*_listed(channels), *_listed(threads)]:
                last, name = _number(channel, "last_message_id"), str(channel.get("id"))
                if last > mark.after(name, oldest):
                    found.append((last, name, read_place(channel)))
        found.sort(key=lambda one: -one[0])
        return [(name, place) for _, name, place in found]

    async def _page(self, channel: str, after: int) -> list[Any]:
        path = f"/channels/{channel}/messages?limit={_PAGE}&after={after}"
        page = await self._ask(path, "GET messages", bucket=f"GET messages {channel}")
        return sorted(_listed(page), key=_number)

    async def _ask(self, path: str, name: str, bucket: str = "") -> Any:  # noqa: ANN401  JSON
        """The answer, or `None` when Discord will not say or cannot be reached for long."""
        for _ in range(_TRIES):
            try:
                answer = await self._rest.call("GET", path, name=name, bucket=bucket)
            except (Rejected, Unauthorized):
                return None
            except AdapterError as e:
                told = e.retry_after if isinstance(e, NotTaken) else None
                _log.info("discord.gap_waits", error=str(e))
                await self._clock.sleep(min(_LONGEST_PAUSE, 1.0 if told is None else told))
            else:
                self._alive()
                return answer
        _log.warning("discord.gap_unread", call=name)
        return None


def _listed(found: object) -> list[dict[str, Any]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _number(holder: dict[str, Any], key: str = "id") -> int:
    told = holder.get(key)
    return int(told) if isinstance(told, str) and told.isascii() and told.isdigit() else 0
