"""`search_files`: files by name, lines by pattern, in the workspace; bounded in time and in output."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path

from hermes.errors import ToolError
from hermes.messages import JSONObject
from hermes.tools import Tool, ToolContext, ToolResult
from tools.paths import locate, open_folder, out_of_bounds
from tools.schema import arguments, integer, text

__all__ = ["TOOLS"]

_PROGRAM = Path(__file__).with_name("searching.py")
_SECONDS = 6.0
_REFUSED = 3


async def search_files(asked: JSONObject, context: ToolContext) -> ToolResult:
    """What was found, one a line, and whether that is all."""
    if not asked.get("pattern") and not asked.get("name"):
        raise ToolError(
            "Give `name` (a glob for file names), `pattern` (a regular expression for lines), or both."
        )
    folder, hidden = await asyncio.to_thread(_folder, context, asked.get("path") or ".")
    try:
        order = {**asked, "folder": folder, "hidden": hidden, "seconds": _SECONDS - 2}
        code, out, err = await _run(json.dumps(order).encode(), folder)
    finally:
        os.close(folder)
    if code == _REFUSED:
        raise ToolError(out)
    if code != 0:
        raise ToolError(f"The search failed: {err[-300:]}")
    return ToolResult(out or "Nothing found.", untrusted=bool(out))


def _folder(context: ToolContext, asked: str) -> tuple[int, list[str]]:
    """A descriptor of the folder, which the caller closes, and what below it is passed over."""
    place = locate(context.workspace, asked, context.services)
    with open_folder(place) as folder:
        return os.dup(folder), out_of_bounds(place, context.services)


async def _run(order: bytes, folder: int) -> tuple[int, str, str]:
    """The program's exit code and what it wrote; it gets no secrets, and ends when it takes too long."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(_PROGRAM)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        pass_fds=(folder,),
        cwd="/",
        env={"PYTHONIOENCODING": "utf-8"},
    )
    try:
        async with asyncio.timeout(_SECONDS):
            out, err = await process.communicate(order)
    except TimeoutError:
        raise ToolError(
            f"The search took more than {_SECONDS:g} s; use a simpler pattern or a smaller folder."
        ) from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return process.returncode or 0, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


TOOLS = (
    Tool(
        name="search_files",
        description="Find files by name and lines by regular expression in the workspace.",
        parameters=arguments(
            {
                "pattern": text("Regular expression for lines."),
                "name": text("Glob for file names, such as *.md."),
                "path": text("Folder to look in; default: all."),
                "limit": integer("At most so many results (default 100).", 1, 1000),
            }
        ),
        handler=search_files,
        toolset="files",
        parallel="read",
        idempotent=True,
        emoji="🔎",
        timeout=30.0,
    ),
)
