"""The readable text of a message and the names of its files. Pure; heavy for big mails, so off the loop.

Source: https://www.rfc-editor.org/rfc/rfc2046 (parts) and https://www.rfc-editor.org/rfc/rfc3676 (format=flowed).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from email.message import Message
from typing import Literal

from adapters.email.headers import decoded_bytes, file_name, text_of
from adapters.email.hypertext import text_of_html
from hermes.events import Attachment
from hermes.messages import scrub_surrogates

__all__ = ["Body", "read_body", "unflowed"]

_PARTS = 200
_DEPTH = 20
_KINDS: dict[str, Literal["image", "audio", "video"]] = {"image": "image", "audio": "audio", "video": "video"}
_NO_FILES = frozenset(
    {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
)


@dataclass(slots=True)
class Body:
    """text: all of it, with what it quotes. html: some of it was written in HTML alone."""

    text: str = ""
    files: list[Attachment] = field(default_factory=list)
    html: bool = False


@dataclass(frozen=True, slots=True)
class _Reading:
    keep_quotes: bool
    body: Body = field(default_factory=Body)


def read_body(message: Message, *, keep_quotes: bool = False) -> Body:
    """Read a message. keep_quotes: quotations in HTML stay (a mail that was passed on)."""
    reading = _Reading(keep_quotes)
    reading.body.text = scrub_surrogates("\n\n".join(_texts(message, reading, 0)))
    return reading.body


def _texts(part: Message, reading: _Reading, depth: int) -> Iterator[str]:
    kind = part.get_content_type()
    if depth > _DEPTH or len(reading.body.files) > _PARTS:
        return
    if kind == "message/rfc822" or _is_file(part, kind):
        if kind not in _NO_FILES:
            reading.body.files.append(_file(part, kind, len(reading.body.files)))
        return
    if part.is_multipart():
        yield from _multipart(part, kind, reading, depth)
        return
    text = _leaf(part, kind, reading)
    if text.strip():
        yield text.strip("\r\n")


def _multipart(part: Message, kind: str, reading: _Reading, depth: int) -> Iterator[str]:
    payload = part.get_payload()
    parts = [p for p in payload[:_PARTS] if isinstance(p, Message)] if isinstance(payload, list) else []
    if kind == "multipart/alternative":
        yield from _best(parts, reading, depth)
        return
    for child in parts:
        yield from _texts(child, reading, depth + 1)


def _best(parts: Sequence[Message], reading: _Reading, depth: int) -> Iterator[str]:
    """Plain text where it says anything; the richest of the others."""
    order = sorted(parts, key=lambda p: p.get_content_type() != "text/plain")
    for child in [*order[:1], *reversed(order[1:])]:
        files, html = len(reading.body.files), reading.body.html
        found = list(_texts(child, reading, depth + 1))
        if found:
            yield from found
            return
        if child.get_content_type() == "text/plain":
            del reading.body.files[files:]
            reading.body.html = html


def _leaf(part: Message, kind: str, reading: _Reading) -> str:
    text = _payload(part)
    if kind == "text/html":
        reading.body.html = True
        return text_of_html(text, keep_quotes=reading.keep_quotes)
    text = re.sub(r"\r\n?", "\n", text)
    if str(_param(part, "format")).lower() == "flowed":
        return unflowed(text, delsp=str(_param(part, "delsp")).lower() == "yes")
    return text


def _payload(part: Message) -> str:
    try:
        data = part.get_payload(decode=True)
    except (ValueError, LookupError, AssertionError, IndexError):
        data = None
    if not isinstance(data, bytes):
        raw = part.get_payload()
        data = raw.encode("utf-8", "surrogateescape") if isinstance(raw, str) else b""
    return decoded_bytes(data, str(_param(part, "charset") or "us-ascii"))


def _param(part: Message, name: str) -> str:
    try:
        value = part.get_param(name)
    except (ValueError, LookupError):
        return ""
    return str(value[2]) if isinstance(value, tuple) else str(value or "")


def _is_file(part: Message, kind: str) -> bool:
    if part.is_multipart():
        return False
    try:
        disposition = part.get_content_disposition()
    except (ValueError, LookupError, AttributeError):
        disposition = None
    return disposition == "attachment" or kind not in ("text/plain", "text/html") or bool(file_name(part))


def _file(part: Message, kind: str, number: int) -> Attachment:
    name = file_name(part)
    if kind == "message/rfc822":
        inner = part.get_payload()
        first = inner[0] if isinstance(inner, list) and inner else None
        subject = text_of(first, "Subject") if isinstance(first, Message) else ""
        shown = re.sub(r"[^ \w.()-]", "_", subject)[:120].strip()
        name = name or f"{shown or 'message'}.eml"
    return Attachment(_KINDS.get(kind.partition("/")[0], "document"), str(number), name, kind)


def unflowed(text: str, *, delsp: bool) -> str:
    """Text whose lines were broken for transport, with those lines joined again: RFC 3676, section 4."""
    done: list[str] = []
    depth, paragraph = 0, None
    for line in text.split("\n"):
        bare = line.lstrip(">")
        marks = len(line) - len(bare)
        bare = bare.removeprefix(" ")
        if paragraph is not None and (marks != depth or bare == "-- "):
            done.append(_quoted(depth, paragraph))
            paragraph = None
        depth = marks
        joined = bare if paragraph is None else paragraph + bare
        if bare.endswith(" ") and bare != "-- ":
            paragraph = joined[:-1] if delsp else joined
            continue
        done.append(_quoted(depth, joined))
        paragraph = None
    if paragraph is not None:
        done.append(_quoted(depth, paragraph))
    return "\n".join(done)


def _quoted(depth: int, text: str) -> str:
    return f"{'>' * depth} {text}" if depth else text
