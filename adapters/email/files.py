"""The files of a mail, as its parts name them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import Message
from typing import Literal
from urllib.parse import unquote

from adapters.email.headers import decoded, file_name, text_of, value_of
from adapters.email.places import FilePlace, MailPlace
from adapters.email.tnef import Tnef
from adapters.email.transfer import UUBlock
from hermes.events import Attachment
from hermes.messages import scrub_surrogates

__all__ = ["MailFile", "file_of", "files_of_tnef", "files_of_uu", "is_file", "is_shown"]

_KINDS: dict[str, Literal["image", "audio", "video"]] = {"image": "image", "audio": "audio", "video": "video"}
_WINMAIL = ("application/ms-tnef", "application/vnd.ms-tnef")
_DECORATION = 3000
"""Bytes below which a picture in the text is a line, a dot or a tracker, and says nothing."""
_AS_IT_STANDS = frozenset(("", "7bit", "8bit", "binary"))
"""Codings that change nothing: RFC 2045, section 6.2."""


@dataclass(frozen=True, slots=True)
class MailFile:
    """part, coding, inner: see `FilePlace`. cid: by which the HTML of the mail shows it, where it is a part of that.

    size: bytes; `None` where only its beginning was seen.
    """

    name: str
    mime: str
    part: str
    coding: str
    size: int | None = None
    inner: str = ""
    cid: str = ""

    @property
    def kind(self) -> Literal["image", "audio", "video", "document"]:
        """As its type says."""
        return _KINDS.get(self.mime.partition("/")[0], "document")

    def is_winmail(self) -> bool:
        """Whether it is Outlook's parcel."""
        return self.mime in _WINMAIL or self.name.lower() == "winmail.dat"

    def attachment(self, mail: MailPlace) -> Attachment:
        """As the gateway knows it."""
        place = FilePlace(mail, self.part, self.coding, self.inner)
        return Attachment(self.kind, place.to_text(), self.name, self.mime, self.size)


def is_file(part: Message, kind: str, *, alone: bool) -> bool:
    """Whether a part that holds no others is a file, and not what the mail says. alone: it is the mail."""
    if kind.startswith("multipart/"):  # without a boundary: what is there is text
        return False
    try:
        disposition = part.get_content_disposition()
    except (ValueError, LookupError, AttributeError):
        disposition = None
    if disposition == "attachment" or kind not in ("text/plain", "text/html"):
        return True
    return not alone and bool(file_name(part))


def file_of(part: Message, kind: str, section: str, *, exact: bool) -> MailFile:
    """A part that is a file. exact: all of its bytes are there. A mail is a text: what is said in it."""
    coding = value_of(part, "Content-Transfer-Encoding").strip().lower()[:40]
    name = scrub_surrogates(file_name(part))
    if kind == "message/rfc822":
        inner = part.get_payload()
        first = inner[0] if isinstance(inner, list) and inner else None
        subject = text_of(first, "Subject") if isinstance(first, Message) else ""
        return MailFile(name or f"{_shown(subject)}.eml", "text/plain", section, coding, inner="mail")
    is_attached = value_of(part, "Content-Disposition").lower().startswith("attachment")
    cid = "" if is_attached else value_of(part, "Content-ID").strip(" <>")[:300]
    size = _size(part, coding) if exact else None
    return MailFile(name, scrub_surrogates(kind)[:100], section, coding, size, cid=cid)


def _shown(subject: str) -> str:
    return re.sub(r"[^ \w.()-]", "_", subject)[:120].strip() or "message"


def _size(part: Message, coding: str) -> int | None:
    payload = part.get_payload()
    if not isinstance(payload, str):
        return None
    if coding in _AS_IT_STANDS:
        data = part.get_payload(decode=True)
        return len(data) if isinstance(data, bytes) else None
    end = payload.find("=")
    if coding != "base64" or (end >= 0 and payload[end:].strip("=\r\n")):
        return None  # only who decodes it knows; a list may have put its own lines behind the end
    signs = len(payload) - payload.count("\n") - payload.count("\r")
    return signs * 3 // 4 - payload.count("=")


def files_of_tnef(packed: Tnef, parcel: MailFile) -> list[MailFile]:
    """What lies in Outlook's parcel; the parcel too, where its end is not known."""
    found = [
        MailFile(
            file_name_of(file.name) or f"file {number + 1}",
            _mime(file.mime),
            parcel.part,
            parcel.coding,
            file.size,
            f"tnef:{number}",
        )
        for number, file in enumerate(packed.files)
    ]
    return found if packed.whole else [*found, parcel]


def files_of_uu(blocks: Sequence[UUBlock], part: Message, section: str) -> list[MailFile]:
    """Files that stand in a text."""
    coding = value_of(part, "Content-Transfer-Encoding").strip().lower()[:40]
    return [
        MailFile(
            file_name_of(block.name),
            "application/octet-stream",
            section,
            coding,
            len(block.content()),
            f"uu:{number}",
        )
        for number, block in enumerate(blocks)
    ]


def file_name_of(name: str) -> str:
    """A name from inside a container: never a path, one line."""
    return scrub_surrogates(re.split(r"[\\/]", decoded(name))[-1].strip(". ")[:200])


def _mime(text: str) -> str:
    return text.lower() if re.fullmatch(r"[\w.+-]{1,60}/[\w.+-]{1,60}", text) else "application/octet-stream"


def is_shown(file: MailFile, shown: set[str] | None) -> bool:
    """Whether a file is more than what the HTML quotes and is decorated with. shown: pictures of what is new in it."""
    if not file.cid or file.kind != "image":
        return True
    if shown is not None and unquote(file.cid) not in shown:
        return False
    return file.size is None or file.size >= _DECORATION
