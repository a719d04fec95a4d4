"""The readable text of a message, and its files with their places. Pure; heavy for big mails, so off the loop.

Source: https://www.rfc-editor.org/rfc/rfc2046 (parts) and https://www.rfc-editor.org/rfc/rfc3676 (format=flowed).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from email.message import Message
from itertools import islice

from adapters.email.files import MailFile, file_of, files_of_tnef, files_of_uu, is_file, is_shown
from adapters.email.headers import decoded_bytes, param, text_of, value_of
from adapters.email.hypertext import shown_pictures, text_of_html, without_data
from adapters.email.reader import read_mail
from adapters.email.slim import bounded, slimmed
from adapters.email.tnef import read_tnef
from adapters.email.transfer import decoder, uu_blocks
from hermes.charset import declared_codec
from hermes.messages import scrub_surrogates

__all__ = ["Body", "mail_text", "note_of", "read_body", "unflowed"]

_PARTS = 200
_DEPTH = 20
_MOST = 1_000_000
"""Characters of all texts that are taken apart, and of all HTML: ten times what is answered."""
_BLANK = " \t\r\n\f\v\xa0\xad\u200b\u200c\u200d\u2060\ufeff"
_CODING = re.compile(r"[\s\"]*+([\w-]+)")
_NO_FILES = frozenset(
    {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
)
_SEALED = {
    "multipart/encrypted": "an encrypted mail",
    "application/pkcs7-mime": "a mail in S/MIME form",
    "application/x-pkcs7-mime": "a mail in S/MIME form",
}


@dataclass(slots=True)
class Body:
    """text: all of it, with what it quotes. html: some of it was written in HTML alone.

    sealed: what cannot be opened here. left_out: there are more parts or levels than are read. cut: of a text only its
    beginning is read. shown: the pictures that the HTML shows; `None` without HTML. packed: the text in a winmail.dat.
    """

    text: str = ""
    files: list[MailFile] = field(default_factory=list)
    html: bool = False
    sealed: str = ""
    left_out: bool = False
    cut: bool = False
    shown: set[str] | None = None
    packed: str = ""


@dataclass(slots=True)
class _Room:
    """Characters that may still be taken apart, of a mail with all that lies in it."""

    text: int = _MOST
    html: int = _MOST


@dataclass(frozen=True, slots=True)
class _Reading:
    """exact: the mail is there to its last byte. by_hand: HTML is read without the parser that may end the process.

    silent: only files are looked for.
    """

    keep_quotes: bool
    exact: bool
    by_hand: bool
    silent: bool = False
    body: Body = field(default_factory=Body)
    room: _Room = field(default_factory=_Room)


def read_body(
    message: Message, *, keep_quotes: bool = False, exact: bool = True, by_hand: bool = False
) -> Body:
    """Read a message. keep_quotes: quotations in HTML stay (a mail that was passed on).

    exact: nothing of it was left out, so that sizes are known. by_hand: without the HTML parser.
    """
    reading = _Reading(keep_quotes, exact, by_hand)
    body = reading.body
    body.text = scrub_surrogates("\n\n".join(_texts(message, reading, 0, "")))
    body.files = [file for file in body.files if is_shown(file, body.shown)]
    return body


def _texts(part: Message, reading: _Reading, depth: int, section: str) -> Iterator[str]:
    """The texts of a part, in order; its files are noted. section: its number, empty for the mail itself."""
    kind = part.get_content_type()
    body = reading.body
    if depth > _DEPTH or len(body.files) > _PARTS:
        body.left_out = True
        return
    if kind in _SEALED:
        body.sealed = _SEALED[kind]
        return
    if kind == "message/rfc822" and section:
        _attached_mail(part, reading, depth, section)
        return
    if kind == "message/rfc822" and (inner := _inner(part)) is not None:
        yield from _texts(inner, reading, depth + 1, "1" if inner.is_multipart() else "1.1")
        return
    if part.is_multipart():
        yield from _multipart(part, kind, reading, depth, section)
        return
    alone, section = not section, section or "1"
    if is_file(part, kind, alone=alone):
        _file(part, kind, reading, section)
        return
    text = _leaf(part, kind, reading, section)
    if text.strip(_BLANK):
        yield text.strip("\r\n")


def _file(part: Message, kind: str, reading: _Reading, section: str) -> None:
    if kind in _NO_FILES:
        return
    file = file_of(part, kind, section, exact=reading.exact)
    packed = read_tnef(_data(part)) if file.is_winmail() else None
    if packed is None:
        reading.body.files.append(file)
        return
    reading.body.files += files_of_tnef(packed, file)
    if not reading.body.packed and not reading.silent:
        html = packed.html[: reading.room.html]
        reading.room.html -= len(html)
        html = text_of_html(html, keep_quotes=reading.keep_quotes, by_hand=reading.by_hand)
        reading.body.packed = scrub_surrogates(packed.text.strip() or html)


def _attached_mail(part: Message, reading: _Reading, depth: int, section: str) -> None:
    """A mail in a mail is a file, whose text is what it says (`mail_text`); its files are files of their own."""
    reading.body.files.append(file_of(part, "message/rfc822", section, exact=False))
    inner = _inner(part)
    if inner is not None:
        place = section if inner.is_multipart() else f"{section}.1"
        apart = replace(reading, silent=True, body=Body())
        list(_texts(inner, apart, depth + 1, place))
        room = max(0, _PARTS - len(reading.body.files))
        reading.body.files += [file for file in apart.body.files if is_shown(file, apart.body.shown)][:room]


def _inner(part: Message) -> Message | None:
    payload = part.get_payload()
    inner = payload[0] if isinstance(payload, list) and payload else None
    return inner if isinstance(inner, Message) else None


def note_of(body: Body) -> str:
    """What to say of parts that were not read, where others were; may be empty."""
    notes = []
    if body.left_out:
        notes.append("(This mail has too many parts or levels; I only see some of them.)")
    if body.cut:
        notes.append("(It is very long; of its text I only see the beginning.)")
    if body.sealed and (body.text or body.files):
        notes.append(f"(A part of this is {body.sealed}, which I cannot open.)")
    return "\n".join(notes)


def mail_text(raw: bytes) -> str:
    """A mail that lies in another one, as people read it: whose it is, and all that it says."""
    message = read_mail(slimmed(bounded(raw)))
    body = read_body(message, keep_quotes=True, exact=False)
    head = {name: scrub_surrogates(text_of(message, name)) for name in ("From", "To", "Date", "Subject")}
    lines = "\n".join(f"{name}: {value}" for name, value in head.items() if value)
    said = body.text or body.packed or body.sealed
    return "\n\n".join(part for part in (lines, said, note_of(body)) if part).strip()


def _multipart(part: Message, kind: str, reading: _Reading, depth: int, section: str) -> Iterator[str]:
    payload = part.get_payload()
    children = payload if isinstance(payload, list) else []
    reading.body.left_out |= len(children) > _PARTS
    parts = [p for p in children[:_PARTS] if isinstance(p, Message)]
    numbered = [(child, f"{section}.{n}".lstrip(".")) for n, child in enumerate(parts, 1)]
    if kind == "multipart/alternative":
        yield from _best(numbered, reading, depth)
        return
    for child, number in numbered:
        yield from _texts(child, reading, depth + 1, number)


def _best(parts: Sequence[tuple[Message, str]], reading: _Reading, depth: int) -> Iterator[str]:
    """Plain text where it says anything; the richest of the others. The files of all."""
    waiting = list(reversed(parts))
    waiting.sort(key=lambda p: p[0].get_content_type() != "text/plain")
    while waiting:
        child, number = waiting.pop(0)
        found = list(_texts(child, reading, depth + 1, number))
        if found:
            yield from found
            break
    silent = replace(reading, silent=True)
    for child, number in waiting:
        if child.is_multipart() or child.get_content_type() in ("text/html", "text/calendar"):
            list(_texts(child, silent, depth + 1, number))


def _leaf(part: Message, kind: str, reading: _Reading, section: str) -> str:
    if kind == "text/html":
        data = _data(part)
        return _rich(decoded_bytes(data, param(part, "charset"), declared_codec(data)), reading)
    data = b"" if reading.silent else _data(part)
    if b"begin " in data:
        data = _without_uu(data, part, reading, section)
    text = decoded_bytes(data, param(part, "charset"))
    left = reading.room.text
    reading.body.cut |= len(text) > left
    text = re.sub(r"\r\n?", "\n", text[:left])
    reading.room.text -= len(text)
    if param(part, "format").lower() == "flowed":
        return unflowed(text, delsp=param(part, "delsp").lower() == "yes")
    return text


def _rich(html: str, reading: _Reading) -> str:
    body = reading.body
    html, whole = without_data(html)
    left = reading.room.html
    body.cut |= not reading.silent and (not whole or len(html) > left)
    html = html[:left]
    reading.room.html -= len(html)
    body.shown = (body.shown or set()) | shown_pictures(html, keep_quotes=reading.keep_quotes)
    if reading.silent:
        return ""
    body.html = True
    return text_of_html(html, keep_quotes=reading.keep_quotes, by_hand=reading.by_hand)


def _without_uu(data: bytes, part: Message, reading: _Reading, section: str) -> bytes:
    """A text without the files in it, which are noted."""
    blocks = list(islice(uu_blocks(data), max(0, _PARTS - len(reading.body.files))))
    reading.body.files += files_of_uu(blocks, part, section)
    ends = [0, *(block.end for block in blocks)]
    starts = [*(block.start for block in blocks), len(data)]
    return b"".join(data[start:end] for start, end in zip(ends, starts, strict=True))


def _data(part: Message) -> bytes:
    """The bytes of a part. Behind the name of its coding may stand what is none (RFC 2045, section 6.1)."""
    coding = _CODING.match(value_of(part, "Content-Transfer-Encoding"))
    bare = copy(part)
    del bare["Content-Transfer-Encoding"]  # the standard library gives the bytes then, as they came
    try:
        data = bare.get_payload(decode=True)
    except (ValueError, LookupError, AssertionError, IndexError):
        data = None
    reader = decoder(coding[1] if coding else "")
    return reader.feed(data) + reader.finish() if isinstance(data, bytes) else b""


def unflowed(text: str, *, delsp: bool) -> str:
    """Text whose lines were broken for transport, with those lines joined again: RFC 3676, section 4."""
    done: list[str] = []
    depth = 0
    paragraph: list[str] = []  # joined once: each line would copy all before it
    for line in text.split("\n"):
        bare = line.lstrip(">")
        marks = len(line) - len(bare)
        bare = bare.removeprefix(" ")
        if paragraph and (marks != depth or bare == "-- "):
            done.append(_quoted(depth, "".join(paragraph)))
            paragraph.clear()
        depth = marks
        flows = bare.endswith(" ") and bare != "-- "
        paragraph.append(bare[:-1] if flows and delsp else bare)
        if not flows:
            done.append(_quoted(depth, "".join(paragraph)))
            paragraph.clear()
    if paragraph:
        done.append(_quoted(depth, "".join(paragraph)))
    return "\n".join(done)


def _quoted(depth: int, text: str) -> str:
    return f"{'>' * depth} {text}" if depth else text
