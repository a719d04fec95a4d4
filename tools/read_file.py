"""`read_file`: lines of a text file in the workspace."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

from hermes.errors import ToolError
from hermes.messages import JSONObject
from hermes.tools import Tool, ToolContext, ToolResult
from tools.paths import Place, locate, open_regular
from tools.schema import arguments, integer, text

__all__ = ["TOOLS"]

_SPILL = "spill:"
_MOST_LINES = 2000
_MOST_CHARS = 24_000
"""Below the cap of results, so that a page is never itself kept as a file."""
_LONGEST_LINE = 2000
_CHUNK = 4 * _LONGEST_LINE + 8
"""Bytes of a line that are read; a character takes at most four."""
_SEEN_BYTES = 16 * 1024 * 1024
"""How far into a file lines are looked for."""


def read_file(asked: JSONObject, context: ToolContext) -> ToolResult:
    """Numbered lines from `offset`, and where to go on."""
    place = _place(asked["path"], context)
    first, most = asked.get("offset", 1), asked.get("limit", _MOST_LINES)
    with open_regular(place) as descriptor:
        size = os.fstat(descriptor).st_size
        with os.fdopen(os.dup(descriptor), "rb") as file:
            if b"\0" in file.read(8192):
                return ToolResult(
                    f"{place.shown} is a binary file of {size:,} bytes; its content is not shown."
                )
            file.seek(0)
            lines, is_more = _page(_lines(file), first, most)
    if not lines:
        note = "is empty" if size == 0 else f"has no line {first} within its first {_SEEN_BYTES:,} bytes"
        return ToolResult(f"{place.shown} {note}.", ok=size == 0)
    body = "\n".join(f"{number}|{line}" for number, line in enumerate(lines, first))
    more = f"\n[more follows: go on with offset {first + len(lines)}]" if is_more else ""
    return ToolResult(body + more, untrusted=True)


def _place(asked: str, context: ToolContext) -> Place:
    """A file of the workspace, or the rest of a long result, whose name nobody can guess."""
    if asked.startswith(_SPILL):
        name = asked.removeprefix(_SPILL)
        if not re.fullmatch(r"[a-z0-9_-]{1,60}-[0-9a-f]{16}\.txt", name):
            raise ToolError(f"There is no kept result {name[:80]}.")
        return Place(context.services.spills.resolve(), (name,))
    return locate(context.workspace, asked, context.services)


def _page(lines: Iterator[bytes], first: int, most: int) -> tuple[list[str], bool]:
    """The lines wanted, within the bound of characters, and whether there are more."""
    out: list[str] = []
    left = _MOST_CHARS
    for raw in islice(lines, first - 1, None):
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if len(line) > _LONGEST_LINE:
            line = line[:_LONGEST_LINE] + " [...]"
        left -= len(line) + 8
        if len(out) >= most or (left < 0 and out):
            return out, True
        out.append(line)
    return out, False


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Line by line, long ones cut, so that neither a long line nor many short ones fill the memory."""
    seen = 0
    while seen < _SEEN_BYTES and (raw := file.readline(_CHUNK)):
        seen += len(raw)
        rest = raw
        while len(rest) == _CHUNK and not rest.endswith(b"\n") and seen < _SEEN_BYTES:
            rest = file.readline(_CHUNK)
            seen += len(rest)
        yield raw


TOOLS = (
    Tool(
        name="read_file",
        description="Read a text file in the workspace as numbered lines.",
        parameters=arguments(
            {
                "path": text("Path relative to the workspace, or spill:NAME for the rest of a long result."),
                "offset": integer("First line, from 1.", 1, 10_000_000),
                "limit": integer("How many lines.", 1, _MOST_LINES),
            },
            required=("path",),
        ),
        handler=read_file,
        toolset="files",
        parallel="read",
        idempotent=True,
        emoji="📖",
        timeout=30.0,
    ),
)
