"""The settings of a running daemon: a snapshot that is swapped, never changed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import aclosing
from importlib import import_module
from pathlib import Path
from typing import Any

from gateway.config.loading import load
from gateway.config.problems import Problems
from hermes.config import Schema, Snapshot
from hermes.home import Home

__all__ = ["LiveSettings"]


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
            try:
                fresh = await asyncio.to_thread(
                    load, self._home, self._schema, self._environ, number=self._current.number + 1
                )
            except Problems as error:
                self._last_error = f"The configuration was not reloaded, the old one stays: {error.summary}"
                self._on_error(self._last_error)
                return False
            self._last_error = None
            if _same(fresh, self._current):
                return True
            self._current = fresh
            for changed in tuple(self._subscribers.values()):
                changed(fresh)
            return True

    async def watch(self) -> None:
        """Reload whenever config.yaml or .env changes, until cancelled."""
        # Only a daemon watches, so only a daemon pays for the import; in a thread, since it reads files.
        watchfiles = await asyncio.to_thread(import_module, "watchfiles")
        names = {self._home.config.name, self._home.env.name}
        changes = watchfiles.awatch(
            self._home.root,
            watch_filter=lambda _, path: Path(path).name in names,
            recursive=False,
            debounce=200,
            step=50,
        )
        async with aclosing(changes):
            async for _ in changes:
                await self.reload()


def _same(one: Snapshot, other: Snapshot) -> bool:
    return (dict(one.sections), dict(one.platforms), one.warnings) == (
        dict(other.sections),
        dict(other.platforms),
        other.warnings,
    )
