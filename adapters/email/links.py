"""Where the links of a page lead, as it is written behind their words. Pure."""

from __future__ import annotations

import re
from urllib.parse import unquote

__all__ = ["address_of", "is_said"]

_WEB = re.compile(r"(https?)://([^/?#]+)", re.IGNORECASE)
_LONGEST = 200
"""Characters; what is longer says nothing but who counts the readers."""
_QUOTED = str.maketrans({"<": "%3C", ">": "%3E", '"': "%22"})


def address_of(href: str) -> str:
    """The address to show for a link; empty for one that is no address of a page or of a person."""
    href = "".join(href.split()).translate(_QUOTED)
    if href[:7].lower() == "mailto:":
        address = unquote(href[7:].partition("?")[0])
        return address if "@" in address and len(address) <= _LONGEST and address.isprintable() else ""
    found = _WEB.match(href) if href.isprintable() else None
    if found is None or len(href) <= _LONGEST:
        return href if found else ""
    return f"{found[1]}://{found[2].rpartition('@')[2][-_LONGEST:]}/..."


def is_said(address: str, words: str) -> bool:
    """Whether the words of a link hold its address already."""
    bare = _bare(address)
    return any(_bare(word) == bare for word in words.split())


def _bare(word: str) -> str:
    word = word.strip("<>()[],;:.\"'")
    found = _WEB.match(word)
    host, slash, path = (word[found.start(2) :] if found else word).partition("/")
    return f"{host.lower()}{slash}{path}".rstrip("/")
