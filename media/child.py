"""The process that reads one document: `python -m media.child TYPE CHARACTERS SECONDS BYTES < DOCUMENT`.

It says JSON, line by line: `[TEXT, PLACE]` for each piece, at last `{"reason": REASON or null}`. It stops by itself when it has
said enough or soon has no time left; what the system stops it for (memory, processor time) its parent sees.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from hermes.messages import scrub_surrogates
from hermes.reading import Reason
from media.readable import Piece, Read, Unreadable, reader_of

__all__ = ["main", "tell"]

_OF_THE_TIME = 0.75  # then it stops between two pieces, so that what it has read is not lost with it
_LINE = 32_768
_EASY_TO_KILL = "900"  # when memory runs out this process goes, not the daemon (proc_pid_oom_score_adj(5))
_NOT_WANTED = ("numpy", "PIL", "pandas")  # the readers take them where they are, and would only spend memory
_NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\ufffe\uffff]")


def main() -> None:
    """Read what stdin holds."""
    mime, characters, seconds, memory = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    _confine(seconds, memory)
    told = _take_stdout()
    with open(0, "rb", closefd=False) as document:  # the descriptor
        tell(told, document, mime, characters, time.monotonic() + seconds * _OF_THE_TIME)


def _confine(seconds: float, memory: int) -> None:
    sys.dont_write_bytecode = True
    sys.modules.update(dict.fromkeys(_NOT_WANTED))  # type: ignore[arg-type]  # None: cannot be imported
    _at_most(resource.RLIMIT_CORE, 0)
    _at_most(resource.RLIMIT_FSIZE, 0)
    _at_most(resource.RLIMIT_NOFILE, 64)
    _at_most(resource.RLIMIT_CPU, int(seconds) + 1)
    _at_most(resource.RLIMIT_AS, memory)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_EASY_TO_KILL, encoding="ascii")
    os.nice(5)  # the daemon answers others meanwhile


def _at_most(what: int, wanted: int) -> None:
    _, most = resource.getrlimit(what)
    wanted = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    with contextlib.suppress(OSError, ValueError):  # Darwin refuses limits on address space
        resource.setrlimit(what, (wanted, wanted))


def _take_stdout() -> BinaryIO:
    """What nobody else writes to: libraries that print do so to stderr from here on."""
    told = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return told


def tell(told: BinaryIO, document: BinaryIO, mime: str, characters: int, until: float) -> None:
    """Say what the document holds, and then why that is not all. until: on the monotonic clock."""
    reason = _said(told, document, mime, characters, until)
    told.write(json.dumps({"reason": reason}).encode() + b"\n")
    told.flush()


def _said(told: BinaryIO, document: BinaryIO, mime: str, left: int, until: float) -> Reason | None:
    is_blank = True
    try:
        for piece in _pieces(document, mime):
            text = _tidy(piece.text)
            is_blank = is_blank and not text.strip()
            for at in range(0, min(len(text), left), _LINE):
                line = [text[at : min(at + _LINE, left)], piece.place]
                told.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            told.flush()
            left -= len(text)
            if left < 0:
                return "too_long"
            if time.monotonic() > until:
                return "timeout"
    except Unreadable as error:
        return error.reason
    except ModuleNotFoundError:
        return "not_installed"
    except MemoryError:
        return "memory"
    except Exception as error:  # noqa: BLE001  # hostile bytes make a parser raise anything, always by the bytes' fault
        return "memory" if "out of memory" in str(error) else "damaged"  # expat's words for a MemoryError
    return "empty" if is_blank else None


def _pieces(document: BinaryIO, mime: str) -> Iterator[Piece]:
    where = reader_of(mime)
    if where is None:
        raise Unreadable("unsupported")
    module, _, name = where.partition(":")
    read: Read = getattr(importlib.import_module(module), name)
    return read(document)


def _tidy(text: str) -> str:
    clean = scrub_surrogates(text).replace("\r\n", "\n").replace("\r", "\n").replace("\x0c", "\n")
    clean = _NO_TEXT.sub("", clean)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"(?<![ \t\u00a0])[ \t\u00a0]+\n", "\n", clean))


if __name__ == "__main__":
    main()
    os._exit(0)  # without taking a big tree apart
