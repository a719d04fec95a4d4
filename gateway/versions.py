"""Which versions are installed here, read off the names of their folders: importing them would take too long.

Source: the name of a `.dist-info` folder, PyPA "Recording installed projects".
"""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

__all__ = ["here", "schemas"]

_SHOWN = {
    "hermes_gateway": "hermes",
    "python_telegram_bot": "python-telegram-bot",
    "aiohttp": "aiohttp",
    "httpx": "httpx",
    "prompt_toolkit": "prompt-toolkit",
    "xllamacpp": "xllamacpp",
}
_SUFFIX = ".dist-info"


def here() -> dict[str, str]:
    """Versions of Hermes, Python, SQLite and the platforms' libraries, as far as installed. Blocks."""
    found = _installed()
    python = ".".join(map(str, sys.version_info[:3]))
    base = {"hermes": found.pop("hermes", "0"), "python": python, "sqlite": sqlite3.sqlite_version}
    return base | found


def _installed() -> dict[str, str]:
    found: dict[str, str] = {}
    for folder in filter(os.path.isdir, sys.path):
        for entry in os.listdir(folder):  # noqa: PTH208  names are all that is wanted
            name, _, version = entry.removesuffix(_SUFFIX).partition("-")
            if entry.endswith(_SUFFIX) and name.lower() in _SHOWN:
                found.setdefault(_SHOWN[name.lower()], version)
    return found


def schemas(state: Path) -> dict[str, int]:
    """The schema versions that a database of nobody is at; empty when it cannot be told. Writes nothing. Blocks."""
    if not state.is_file():
        return {}
    try:
        connection = sqlite3.connect(f"{state.absolute().as_uri()}?immutable=1", uri=True)
        try:
            return dict(connection.execute("SELECT part, version FROM schema_version").fetchall())
        finally:
            connection.close()
    except sqlite3.Error:  # damaged, or not ours: `hermes doctor` says so
        return {}
