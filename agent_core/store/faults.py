"""What an SQLite error means to the store: whose fault it is, and whether it may pass.

Source: https://www.sqlite.org/rescode.html (the low byte of an extended code is its primary code).
"""

from __future__ import annotations

import sqlite3
from typing import Literal

from hermes.errors import StoreCorrupt, StoreUnavailable

__all__ = ["FaultKind", "classify", "sentence", "translate"]

FaultKind = Literal["busy", "unavailable", "corrupt", "own"]

_BUSY = frozenset({sqlite3.SQLITE_BUSY})
_UNAVAILABLE = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_NOLFS,
    }
)
_CORRUPT = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

_SENTENCES = {
    sqlite3.SQLITE_FULL: "The disk is full: nothing can be stored until there is room again.",
    sqlite3.SQLITE_READONLY: "The store cannot be written: the file or its disk is read-only.",
    sqlite3.SQLITE_IOERR: "The disk reports an error: nothing can be stored at the moment.",
    sqlite3.SQLITE_CANTOPEN: "The store's file cannot be opened: is its folder there and writable?",
    sqlite3.SQLITE_BUSY: "Another program holds the store's write lock: end it, or wait until it lets go.",
}


def _primary(error: BaseException) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None


def classify(error: BaseException) -> FaultKind:
    """`busy`: another process writes; `unavailable`: may pass; `corrupt`: the file; `own`: the job's own."""
    code = _primary(error)
    if code in _BUSY:
        return "busy"
    if code in _UNAVAILABLE:
        return "unavailable"
    return "corrupt" if code in _CORRUPT else "own"


def sentence(error: BaseException) -> str:
    """Why nothing can be stored, for people."""
    code = _primary(error)
    known = _SENTENCES.get(code) if code is not None else None
    return known or f"Nothing can be stored at the moment: {error}."


def translate(error: BaseException) -> BaseException:
    """The error a caller sees: ours for what file or disk did, the same one for what the caller did."""
    kind = classify(error)
    if kind in ("busy", "unavailable"):
        return StoreUnavailable(sentence(error))
    if kind == "corrupt":
        return StoreCorrupt(f"The store's file is damaged ({error}); run `hermes doctor`.")
    return error
