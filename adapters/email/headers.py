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
from email.utils import collapse_rfc2231_value

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
_NO_CHARSETS = frozenset(("punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined"))
"""Codecs that no mail is written in; the first takes the square of a text's length."""
_CONTROL = re.compile("[\x00-\x1f\x7f\u0085\u2028\u2029]+")
# Labels that are commonly wrong: what they say -> what the bytes are (https://encoding.spec.whatwg.org/#names-and-labels).
_MEANT = {
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "gb2312": "gb18030",
}


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


def decoded_bytes(data: bytes, charset: str) -> str:
    """Text of bytes whose charset is what somebody says it is."""
    label = charset.strip().strip("\"'").lower()
    if re.sub(r"[- ]", "_", label) in _NO_CHARSETS:
        label = "us-ascii"
    for name, errors in (
        (_strict(label), "strict"),
        ("utf-8", "strict"),
        (_MEANT.get(label, label), "replace"),
    ):
        try:
            text = data.decode(name, errors)
        except (LookupError, ValueError):
            continue
        if not _is_guess(text):
            return text
    return data.decode("cp1252", "replace")


def _is_guess(text: str) -> bool:
    """Whether most of what is no ASCII could not be read: the label is wrong, not a byte."""
    bad = text.count("\ufffd")
    return bad > 0 and 2 * bad > sum(char > "\x7f" for char in text)


def _strict(label: str) -> str:
    """What is tried first. One byte charsets take any bytes, so UTF-8 goes before them."""
    return "utf-8" if _MEANT.get(label) == "cp1252" else _MEANT.get(label, label)


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
        name = collapse_rfc2231_value(found, "replace") if found else ""
    except (ValueError, LookupError, TypeError):
        return ""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return re.split(r"[\\/]", decoded(name))[-1].strip(". ")[:200]
