"""A file that came with a message or goes out with an answer, as everybody but the platforms knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["FileKind", "StoredFile", "in_words"]

FileKind = Literal["image", "audio", "voice", "video", "document"]


def in_words(size: int) -> str:
    """A size for people: "25 MB", "1.5 kB", "999 bytes"."""
    for unit, worth in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 1000)):
        if size >= worth:
            return f"{size / worth:,.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} bytes"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that is kept in the home.

    digest: SHA-256 of its bytes in hexadecimal; it is found by that.
    kind, mime: what its content is, whatever its name says; `voice` is audio that was spoken to us.
    name: for people: one line, never a path. size: bytes.
    """

    digest: str
    kind: FileKind
    mime: str
    name: str
    size: int

    def to_json(self) -> dict[str, Any]:
        """A JSON object with all fields."""
        return {
            "digest": self.digest,
            "kind": self.kind,
            "mime": self.mime,
            "name": self.name,
            "size": self.size,
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> StoredFile:
        """The inverse of `to_json`. Raises `KeyError` where a field is missing."""
        return cls(raw["digest"], raw["kind"], raw["mime"], raw["name"], raw["size"])
