"""What a file is called. Pure."""

from __future__ import annotations

import mimetypes
import re
import unicodedata

from hermes.messages import scrub_surrogates

__all__ = ["clean_name", "shown_name"]

_LONGEST = 100
_SILENT = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_SUFFIXES = {"image/jpeg": ".jpg", "audio/ogg": ".ogg", "text/plain": ".txt"}


def clean_name(given: str, mime: str) -> str:
    """A name as one line that is no path: its last part, nothing invisible, at most 100 characters.

    Of one that has nothing left the type makes one, such as `file.pdf`.
    """
    last = re.split(r"[/\\]", scrub_surrogates(given))[-1]
    line = "".join(c if unicodedata.category(c) not in _SILENT else " " for c in last)
    line = " ".join(line.split()).strip(". ")
    if not line:
        return "file" + _suffix(mime)
    if len(line) <= _LONGEST:
        return line
    stem, dot, suffix = line.rpartition(".")
    kept = f".{suffix}" if dot and len(suffix) <= 8 else ""
    return (stem if kept else line)[: _LONGEST - len(kept)].rstrip() + kept


def shown_name(name: str) -> str:
    """A clean name inside of a sentence in brackets: without the marks that would end it."""
    return re.sub(r"[\[\]<>\"]+", " ", name).strip() or "file"


def _suffix(mime: str) -> str:
    return _SUFFIXES.get(mime) or _known().guess_extension(mime) or ""


def _known() -> mimetypes.MimeTypes:
    return mimetypes.MimeTypes()  # the tables of the library alone: no file of this machine is read
