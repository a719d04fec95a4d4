"""Files that came with a message: their address is asked for, then they are read from the server.

A Bot API server of one's own that runs with --local keeps them on its disk and tells the path instead:
https://core.telegram.org/bots/api#using-a-local-bot-api-server. That path holds the token, so it is in no error.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path, PurePosixPath
from typing import IO

from adapters.telegram.client import BotApi
from adapters.telegram.failures import Refused
from hermes.errors import Gone, OutcomeUnknown, Unreachable

__all__ = ["fetched"]

_CHUNK = 1 << 16
_OWNER = re.compile(r"\d+[:~][A-Za-z0-9_-]+")
"""The server's folder of one bot; it is named by the token."""
_TOO_BIG = (
    "Telegram gives bots no file over 20 MB. A Bot API server of your own does (--local and"
    " platforms.telegram.local_files)."
)


async def fetched(api: BotApi, ref: str, local: Path | None) -> AsyncGenerator[bytes, None]:
    """The bytes of a file. local: the folder of a server that runs with --local.

    Raises what `FetchingAdapter.fetch` does.
    """
    path = await _path(api, ref)
    async with aclosing(_read(local, path) if path.startswith("/") else api.download(path)) as chunks:
        async for chunk in chunks:
            yield chunk


async def _path(api: BotApi, ref: str) -> str:
    try:
        found = await api.call("getFile", {"file_id": ref})
    except Refused as e:
        raise Gone(_TOO_BIG if "too big" in e.description.lower() else str(e)) from e
    except OutcomeUnknown as e:  # to ask twice changes nothing
        raise Unreachable(str(e)) from e
    path = found.get("file_path") if isinstance(found, dict) else None
    if not isinstance(path, str) or not path:
        raise Gone("Telegram tells no address of this file.")
    return path


async def _read(local: Path | None, path: str) -> AsyncGenerator[bytes, None]:
    if local is None:
        raise Gone("The Bot API server keeps this file on its disk; name the folder in local_files.")
    file = await asyncio.to_thread(_opened, local, path)
    if isinstance(file, str):
        raise Gone(f"The Bot API server's file cannot be read in local_files ({file}).")
    with file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK):
            yield chunk


def _opened(local: Path, path: str) -> IO[bytes] | str:
    """The file, or why not. Nothing outside of the folder is opened, whatever the server says."""
    root = local.resolve()
    try:
        real = (root / _inside(root, PurePosixPath(path))).resolve(strict=True)
        return real.open("rb") if real.is_relative_to(root) else "it is outside"
    except (OSError, ValueError) as e:
        return type(e).__name__


def _inside(root: Path, path: PurePosixPath) -> PurePosixPath:
    """The path below the folder; the server may see the folder elsewhere (in a container)."""
    if path.is_relative_to(root):
        return path.relative_to(root)
    owner = next((i for i, part in enumerate(path.parts) if _OWNER.fullmatch(part)), len(path.parts) - 1)
    return PurePosixPath(*path.parts[owner:])
