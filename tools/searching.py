"""The search itself: a program of its own, started by `search_files` and ended by it when it takes too long.

Python's `re` can neither be interrupted nor be given a time limit, and a nested repetition takes hours on
one line; a process can be killed. Reads one JSON object from stdin, writes lines to stdout. Exit code 3:
stdout says what is wrong with the request. The folder comes as an open descriptor, so that it is the one that
was checked.
Imports nothing but the standard library, so that it starts at once. Links are never followed.
"""

import fnmatch
import io
import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from typing import Any

__all__ = ["main"]

_MOST_FILES = 50_000
_MOST_BYTES = 4 * 1024 * 1024
_MOST_OUT = 60_000
_LONGEST = 300
_PASSED_OVER = {".git", ".hg", "node_modules", "__pycache__", ".venv"}
_REFUSED = 3


class Search:
    """One search. `note`: why what was found may not be all."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.folder: int = order["folder"]
        self.hidden: list[str] = order.get("hidden") or []
        self.name: str | None = order.get("name")
        self.pattern = re.compile(order["pattern"]) if order.get("pattern") else None
        self.limit: int = order.get("limit", 100)
        self.deadline = time.monotonic() + order["seconds"]
        self.note = ""

    def results(self) -> Iterator[str]:
        """What is found, one a line."""
        for number, (folder, shown, file) in enumerate(self._files()):
            if number >= _MOST_FILES or time.monotonic() > self.deadline:
                self.note = f"stopped after {number:,} files"
                return
            if self.pattern is None:
                yield shown
            else:
                yield from self._lines(folder, file, shown)

    def _files(self) -> Iterator[tuple[int, str, str]]:
        for path, folders, files, descriptor in os.fwalk(".", follow_symlinks=False, dir_fd=self.folder):
            if time.monotonic() > self.deadline:
                self.note = f"stopped in {path}"
                return
            below = "" if path == "." else f"{path.removeprefix('./')}/"
            folders[:] = sorted(f for f in folders if f not in _PASSED_OVER and below + f not in self.hidden)
            for file in sorted(files):
                shown = below + file
                if self._is_named(file, shown):
                    yield descriptor, shown, file

    def _is_named(self, file: str, shown: str) -> bool:
        if not self.name:
            return True
        return fnmatch.fnmatch(shown if "/" in self.name else file, self.name)

    def _lines(self, folder: int, file: str, shown: str) -> Iterator[str]:
        data = _text(folder, file)
        if data is None or self.pattern is None:
            return
        for number, line in enumerate(io.StringIO(data), 1):
            if self.pattern.search(line.rstrip("\r\n")):
                yield f"{shown}:{number}: {line.strip()[:_LONGEST]}"
            if number % 1000 == 0 and time.monotonic() > self.deadline:
                self.note = f"stopped in {shown}"
                return


def _text(folder: int, file: str) -> str | None:
    """The file's text; `None` for what is binary, cannot be read, or is no regular file."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(_MOST_BYTES)
    return None if b"\0" in data[:8192] else data.decode("utf-8", "replace")


def main() -> int:
    """Run the order on stdin."""
    try:
        search = Search(json.loads(sys.stdin.buffer.read()))
    except re.error as error:
        sys.stdout.write(f"The pattern is no regular expression: {error}.")
        return _REFUSED
    found: list[str] = []
    size = 0
    for line in search.results():
        if len(found) >= search.limit or size > _MOST_OUT:
            search.note = f"more was found; only the first {len(found)} are shown"
            break
        found.append(line)
        size += len(line)
    if search.note:
        found.append(f"[{search.note}]")
    sys.stdout.buffer.write("\n".join(found).encode("utf-8", "replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
