"""Results that are too long for the model.

The whole text goes to a file, the model gets both ends and the file's id.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
from dataclasses import replace
from pathlib import Path

from agent_core.security.fence import fence
from hermes.messages import scrub_surrogates
from hermes.tools import ToolResult

__all__ = ["finished"]

_HEAD_SHARE = 0.7


async def finished(result: ToolResult, tool: str, spills: Path, cap: int) -> ToolResult:
    """The result as the model reads it: about `cap` characters at most, fenced when untrusted, never empty.

    A text that cannot be kept (disk full) is cut all the same, and the preview says so.
    """
    text = scrub_surrogates(result.text) or "(no output)"
    if len(text) > cap:
        text = await _preview(text, tool, spills, cap)
    if result.untrusted:
        text = fence(text, "untrusted-output", tool)
    return replace(result, text=text)


async def _preview(text: str, tool: str, spills: Path, cap: int) -> str:
    name = f"{re.sub(r'[^a-z0-9_]+', '-', tool.lower())[:40]}-{secrets.token_hex(8)}.txt"
    try:
        await asyncio.to_thread(_keep, spills / name, text)
        kept = f'read_file with path "spill:{name}" shows the rest'
    except OSError as error:
        kept = f"the whole could not be kept: {error.strerror}"
    head = int(cap * _HEAD_SHARE)
    tail = cap - head
    left_out = len(text) - head - tail
    return (
        f"{text[:head]}\n[... {left_out:,} of {len(text):,} characters left out; {kept} ...]\n{text[-tail:]}"
    )


def _keep(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
