"""Files that shape an agent: the bootstrap files of its workspace and the one context file.

Read once per session, in a thread.

Only regular files inside the workspace count (a link out of it is none of ours), at most a bounded number
of bytes of each is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_core.security.scan import scan

__all__ = ["CONTEXT_FILES", "EACH", "NAMES", "TOTAL", "Files", "Piece", "limited", "read"]

NAMES = ("SOUL", "AGENTS", "IDENTITY", "USER", "TOOLS", "MEMORY", "HEARTBEAT", "BOOTSTRAP")
CONTEXT_FILES = (".hermes.md", "AGENTS.md", "CLAUDE.md", ".cursorrules")
EACH = 20_000
TOTAL = 150_000
"""Characters."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One file's text. `refused`: what the scan found; then `text` is empty."""

    name: str
    text: str
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Files:
    """What was found. `soul`: who the agent is, from the workspace or else the home; `None`: not said."""

    soul: Piece | None = None
    pieces: tuple[Piece, ...] = ()


def read(workspace: Path, home_soul: Path, *, context_files: bool = True) -> Files:
    """Read the files. Blocking. A file that is missing or cannot be read is left out."""
    found = {name: _piece(workspace, f"{name}.md") for name in NAMES}
    context = _context(workspace) if context_files else None
    if context is not None and context.name != "AGENTS.md":
        found["AGENTS"] = None  # the first context file found stands alone
    if not context_files:
        found["AGENTS"] = None
    soul = found.pop("SOUL") or _piece(home_soul.parent, home_soul.name)
    pieces = [p for p in found.values() if p is not None]
    if context is not None and context.name != "AGENTS.md":
        pieces.append(context)
    whole = limited([soul, *pieces] if soul else pieces)
    return Files(whole[0], whole[1:]) if soul else Files(None, whole)


def _context(workspace: Path) -> Piece | None:
    for name in CONTEXT_FILES:
        piece = _piece(workspace, name)
        if piece is not None:
            return piece
    return None


def _piece(folder: Path, name: str) -> Piece | None:
    text = _text(folder, name)
    if text is None or not text.strip():
        return None
    findings = scan(text)
    if findings:
        return Piece(name, "", ", ".join(sorted({f.kind for f in findings})))
    return Piece(name, text.strip())


def _text(folder: Path, name: str) -> str | None:
    path = folder / name
    try:
        path.lstat()  # most are missing, and to resolve a path costs a call for each folder above it
        if not path.resolve().is_relative_to(folder.resolve()):
            return None
        # O_NONBLOCK: opening a FIFO would wait for a writer that never comes.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(EACH * 4 + 4)  # a character takes at most four bytes
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\0", "")


def limited(pieces: Sequence[Piece | None]) -> tuple[Piece, ...]:
    """The pieces within `EACH` and `TOTAL` characters; where something is cut, a mark says so. Pure."""
    left = TOTAL
    out: list[Piece] = []
    for piece in pieces:
        if piece is None:
            continue
        most = min(EACH, left)
        text = piece.text if len(piece.text) <= most else _cut(piece.text, most)
        left -= len(text)
        out.append(Piece(piece.name, text, piece.refused))
    return tuple(out)


def _cut(text: str, most: int) -> str:
    mark = "\n[... cut: the file is longer than the limit ...]"
    return text[: max(0, most - len(mark))] + mark[: max(0, most)]
