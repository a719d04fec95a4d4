"""Header fields as people wrote them, whatever their bytes are. Pure; nothing here raises.

Source: https://www.rfc-editor.org/rfc/rfc2047 and https://www.rfc-editor.org/rfc/rfc2231 . Messages are read with
the standard library's oldest policy: the newer ones raise on what arrives in the wild.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.errors import MessageError
from email.header import Header, decode_header
from email.message import Message

from hermes.charset import codec_of, marked_codec

__all__ = [
    "decoded",
    "decoded_bytes",
    "file_name",
    "ids",
    "param",
    "raw_values",
    "text_of",
    "value_of",
    "without_comments",
]

_LONGEST = 4_096
"""Characters: the standard library looks for each encoded word's end as far as the value goes."""
_ID = re.compile(r"<([!-;=?-~]{1,300})>")
_COMMENT = re.compile(r"\([^()]*\)")
_CONTROL = re.compile("[\x00-\x1f\x7f\u0085\u2028\u2029]+")


def raw_values(message: Message, name: str) -> list[str]:
    """Every field of that name, unfolded, its encoded words as they are."""
    found: list[str] = []
    values: Sequence[str | Header] = message.get_all(name) or ()
    for value in values:
        text = str(value)
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        found.append(_CONTROL.sub(" ", re.sub(r"\r?\n[ \t]*", " ", text)).strip())
    return found


def value_of(message: Message, name: str) -> str:
    """The first field of that name as it is written; empty where there is none."""
    return next(iter(raw_values(message, name)), "")


def text_of(message: Message, name: str) -> str:
    """The first field of that name as people read it."""
    return decoded(value_of(message, name))


def decoded(value: str) -> str:
    """A header value with its encoded words decoded, on one line. What is longer than any that people read is cut."""
    try:
        parts = decode_header(value[:_LONGEST])
    except (MessageError, ValueError, LookupError, AssertionError):
        return value
    text = "".join(
        part if isinstance(part, str) else decoded_bytes(part, charset or "ascii") for part, charset in parts
    )
    return " ".join(_CONTROL.sub(" ", text).split())


def decoded_bytes(data: bytes, charset: str, declared: str | None = None) -> str:
    """Text of bytes whose charset is what somebody says it is.

    declared: the codec that the text names itself, which counts where nobody says anything, or what is not so.
    """
    codec, other = codec_of(charset), declared or "cp1252"
    is_guess = codec in (None, "ascii")
    if codec is None or is_guess or (data.isascii() and codec.startswith(("utf-16", "utf-32"))):
        codec = other
    marked = marked_codec(data)
    # One byte charsets take any bytes, so UTF-8 goes before a guess; what is all ASCII is no sign of it.
    if marked is None and not data.isascii() and (is_guess or codec in ("cp1252", "utf-8")):
        text = data.decode("utf-8", "replace")
        if _is_read(text, sure=not is_guess and codec == "utf-8"):
            return text
    for name in filter(None, (marked, codec, None if data.isascii() else "utf-8")):
        try:
            return data.decode(name).removeprefix("\ufeff")
        except ValueError:
            continue
    text = data.decode(codec, "replace")
    return text if data.isascii() or _is_read(text, sure=True) else data.decode(other, "replace")


def _is_read(text: str, *, sure: bool) -> bool:
    """Whether bytes became letters: a wrong byte is no wrong label. sure: somebody says that they are such letters."""
    bad = text.count("\ufffd")
    good = sum(char > "\x7f" for char in text) - bad
    return bad == 0 or (good * 2 if sure else good) >= bad


def without_comments(value: str) -> str:
    """A structured field without its comments, which may nest and hold what looks like a value."""
    while (shorter := _COMMENT.sub(" ", value)) != value:
        value = shorter
    return value


def ids(message: Message, name: str) -> list[str]:
    """The message ids in a field, without their brackets, in order."""
    return _ID.findall(value_of(message, name))


def param(part: Message, name: str) -> str:
    """A parameter of the Content-Type; empty where it has none."""
    try:
        value = part.get_param(name)
    except (ValueError, LookupError):
        return ""
    return str(value[2]) if isinstance(value, tuple) else str(value or "")


def file_name(part: Message) -> str:
    """The name of an attachment, for showing; empty where it has none. Never a path."""
    try:
        found = part.get_param("filename", None, "content-disposition") or part.get_param("name", None)
        if isinstance(found, tuple):
            name = decoded_bytes(found[2].encode("raw_unicode_escape"), found[0] or "")
        else:
            name = str(found or "")
    except (ValueError, LookupError, TypeError):
        return ""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return re.split(r"[\\/]", decoded(name))[-1].strip(". ")[:200]
