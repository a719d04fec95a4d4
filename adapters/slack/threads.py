"""The threads in which we take part: there nobody has to mention us again.

The newest thousand are kept, as a watermark: in the very transaction that takes the message which made us take part.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

__all__ = ["Threads", "thread_name"]

_MOST = 1000


def thread_name(chat: str, thread: str) -> str:
    """One name for a thread in a chat."""
    return f"{chat}:{thread}"


class Threads:
    """Names of threads, the newest last."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = dict.fromkeys(list(names)[-_MOST:])

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def join(self, name: str) -> bool:
        """Take part; whether that is new."""
        if name in self._names:
            return False
        self._names[name] = None
        if len(self._names) > _MOST:
            del self._names[next(iter(self._names))]
        return True

    def leave(self, name: str) -> None:
        """Take part no longer."""
        self._names.pop(name, None)

    def newest(self) -> list[str]:
        """The names, the newest first."""
        return list(reversed(self._names))

    def to_text(self) -> str:
        """As they are stored."""
        return json.dumps(list(self._names), separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str | None) -> Threads:
        """The inverse of `to_text`; none for anything else."""
        try:
            names = json.loads(text or "[]")
        except ValueError:
            return cls()
        return cls(name for name in names if isinstance(name, str)) if isinstance(names, list) else cls()
