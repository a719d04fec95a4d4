"""The settings of a running daemon: a snapshot that is swapped, never changed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gateway.config.loading import load
from gateway.config.problems import Problems
from hermes.config import Schema, Snapshot
from hermes.home import Home

__all__ = ["LiveSettings"]

_LOOK_EVERY = 0.5


class LiveSettings:
    """A `SettingsSource` over config.yaml and .env.

    A file that cannot be used changes nothing: the last good snapshot stays, and `on_error` gets one
    sentence. All methods belong to the event loop's thread.
    """

    def __init__(
        self,
        home: Home,
        schema: Schema,
        first: Snapshot,
        *,
        environ: Mapping[str, str] = os.environ,
        on_error: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._home = home
        self._schema = schema
        self._current = first
        self._environ = environ
        self._on_error = on_error
        self._subscribers: dict[object, Callable[[Snapshot], Any]] = {}
        self._reloading = asyncio.Lock()
        self._last_error: str | None = None
        self._had_text = False

    def current(self) -> Snapshot:
        """The newest good snapshot."""
        return self._current

    @property
    def error(self) -> str | None:
        """Why the files as they are now are not in use; `None` when they are."""
        return self._last_error

    def subscribe(self, changed: Callable[[Snapshot], Any]) -> Callable[[], None]:
        """Call `changed` on the loop after each swap; it must not raise. The returned function ends that."""
        token = object()
        self._subscribers[token] = changed
        return lambda: self._subscribers.pop(token, None) and None

    async def reload(self) -> bool:
        """Read the files now. True when what they say is in use, also when nothing has changed."""
        async with self._reloading:
            has_text = await asyncio.to_thread(_has_text, self._home)
            if self._had_text and not has_text:
                return self._refuse(f"{self._home.config.name} is missing or empty")
            try:
                fresh = await asyncio.to_thread(
                    load, self._home, self._schema, self._environ, number=self._current.number + 1
                )
            except Problems as error:
                return self._refuse(error.summary)
            self._last_error = None
            self._had_text = has_text
            if _same(fresh, self._current):
                return True
            self._current = fresh
            for changed in tuple(self._subscribers.values()):
                changed(fresh)
            return True

    def _refuse(self, why: str) -> bool:
        self._last_error = f"The configuration was not reloaded, the old one stays: {why}"
        self._on_error(self._last_error)
        return False

    async def watch(self) -> None:
        """Reload within about a second of a change to config.yaml or .env, until cancelled.

        A config.yaml that vanishes or is emptied meanwhile changes nothing, and that is said.
        """
        self._had_text = await asyncio.to_thread(_has_text, self._home)
        # Looking costs less than being told: whoever watches the folder is woken by every write to state.db,
        # which lies beside these two, and that is a tenth of a turn's CPU.
        used = last = await asyncio.to_thread(self._stamps)
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            now = await asyncio.to_thread(self._stamps)
            if now == last != used:  # it has come to rest: no editor is in the middle of it
                used = now
                await self.reload()
            last = now

    def _stamps(self) -> list[tuple[int, int, int] | None]:
        return [_stamp(path) for path in (self._home.config, self._home.env)]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What changes whenever a file is written or replaced; `None`: it cannot be seen."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _has_text(home: Home) -> bool:
    try:
        return bool(home.config.read_bytes().strip())
    except OSError:
        return False


def _same(one: Snapshot, other: Snapshot) -> bool:
    return (dict(one.sections), dict(one.platforms), one.warnings) == (
        dict(other.sections),
        dict(other.platforms),
        other.warnings,
    )
