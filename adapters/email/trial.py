"""Which mail is being read, noted beside the home's database, so that one whose reading ends the process stops nobody.

The readers of HTML are native code: what they do not survive, the process does not. A mail that did so twice is read
without them, and one that still does so is put aside. Notes outlast the process, not the machine: nothing is synced.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import structlog

from adapters.email.head import Reading
from hermes.events import Parsed, Unparsable

__all__ = ["Trial"]

_log = structlog.get_logger("adapters.email")
_BY_HAND, _NO_MORE = 2, 3
"""Deaths after which a mail is read more carefully, and after which it is not read any more."""
_MOST = 50
_RAW = 64 * 1024


class Trial:
    """The notes of one mailbox. Blocking: to be used beside the loop, by any thread."""

    def __init__(self, path: Path, reading: Reading) -> None:
        self._path = path
        self._reading = reading
        self._lock = threading.Lock()
        self._under_way: dict[str, int] = {}

    def read(self, mail: str, raw: bytes, parse: Callable[[Reading], Parsed]) -> Parsed:
        """Parse a mail, known by `mail` also to the next process; as its earlier deaths say."""
        died = self._begin(mail)
        if died >= _NO_MORE:
            _log.warning("email.put_aside", instance=self._reading.instance, mail=mail, deaths=died)
            return Unparsable(raw[:_RAW].decode("latin-1"), f"reading it has ended the process {died} times")
        parsed = parse(replace(self._reading, by_hand=died >= _BY_HAND))
        with self._lock:
            self._under_way.pop(mail, None)
            self._note({mail: 0})
        return parsed

    def forgive(self) -> None:
        """The process ends in order: what is being read has not ended it.

        Not for a reading that was given up while the process goes on: a mail on which it hangs must count.
        """
        with self._lock:
            if self._under_way:
                self._note(self._under_way)
                self._under_way.clear()

    def _begin(self, mail: str) -> int:
        """How many deaths the mail has; one more is noted, for the case that this is the next."""
        with self._lock:
            died = self._notes().get(mail, 0)
            if died < _NO_MORE:
                self._under_way[mail] = died
                self._note({mail: died + 1})
            return died

    def _note(self, deaths: Mapping[str, int]) -> None:
        self._write({name: n for name, n in {**self._notes(), **deaths}.items() if n})

    def _notes(self) -> dict[str, int]:
        try:
            raw = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        if not isinstance(raw, dict):
            return {}
        return {str(name): n for name, n in raw.items() if isinstance(n, int)}

    def _write(self, deaths: dict[str, int]) -> None:
        """Without a place to write, everything is read as if it were the first time."""
        kept = dict(list(deaths.items())[-_MOST:])
        try:
            if not kept:
                self._path.unlink(missing_ok=True)
                return
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            self._path.write_text(json.dumps(kept), encoding="utf-8")
        except OSError:
            return
