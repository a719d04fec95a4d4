"""`write_file`: a whole text file in the workspace, replaced in one step."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping, Sequence
from typing import Any

from hermes.errors import ToolError
from hermes.messages import JSONObject, scrub_surrogates
from hermes.tools import Tool, ToolContext, ToolResult
from tools.paths import Place, locate, open_folder
from tools.schema import arguments, text

__all__ = ["TOOLS"]

_MOST_BYTES = 2 * 1024 * 1024


def write_file(asked: JSONObject, context: ToolContext) -> ToolResult:
    """Write the file; whoever reads it meanwhile sees the old or the new one."""
    data = scrub_surrogates(asked["content"]).encode()
    if len(data) > _MOST_BYTES:
        raise ToolError(f"{len(data):,} bytes are too much for one file; at most {_MOST_BYTES:,}.")
    place = locate(context.workspace, asked["path"], context.services)
    if not place.parts:
        raise ToolError("That is the workspace itself; name a file in it.")
    with open_folder(place, up_to=-1, make=True) as folder:
        existed = _replace(folder, place, data)
    return ToolResult(f"{'Replaced' if existed else 'Wrote'} {place.shown} ({len(data):,} bytes).")


def _replace(folder: int, place: Place, data: bytes) -> bool:
    name = place.parts[-1]
    mode = _mode_of(folder, name, place)
    unfinished = f".{name[:100]}.{secrets.token_hex(6)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(unfinished, flags, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, 0o644 if mode is None else mode)
            os.fsync(descriptor)
        os.replace(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(unfinished, dir_fd=folder)
        raise
    os.fsync(folder)
    return mode is not None


def _mode_of(folder: int, name: str, place: Place) -> int | None:
    """The permissions of the file that is there, `None` when there is none."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"{place.shown} is no regular file and cannot be replaced.")
    return stat.S_IMODE(found.st_mode) & 0o777


def _paths(asked: Mapping[str, Any]) -> Sequence[str]:
    return (str(asked.get("path", "")),)


TOOLS = (
    Tool(
        name="write_file",
        description="Write a text file in the workspace, replacing what is there. Missing folders are made.",
        parameters=arguments(
            {"path": text("Path relative to the workspace."), "content": text("The whole new content.")},
            required=("path", "content"),
        ),
        handler=write_file,
        toolset="files",
        parallel="path",
        paths=_paths,
        idempotent=True,
        emoji="✍️",
        trusted_only=True,
        timeout=30.0,
    ),
)
