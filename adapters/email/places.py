"""Where a file of a mail lies in the mailbox: what travels as `Attachment.ref`, and leads to it days later. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

__all__ = ["FilePlace", "MailPlace"]

_PART = re.compile(r"[1-9]\d{0,3}(\.[1-9]\d{0,3}){0,40}")


@dataclass(frozen=True, slots=True)
class MailPlace:
    """A mail in the folder that is read. size: its bytes, by which it is known again in a rebuilt folder."""

    validity: int = 0
    uid: int = 0
    size: int = 0
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class FilePlace:
    """part: the section's number, as IMAP counts (https://www.rfc-editor.org/rfc/rfc3501#section-6.4.5).

    coding: its Content-Transfer-Encoding. inner: which of the files in that part, where it is a container
    ("uu:0"), or "mail": the part is a mail, and its text is wanted.
    """

    mail: MailPlace
    part: str
    coding: str = ""
    inner: str = ""

    def to_text(self) -> str:
        """As it travels."""
        raw = {**asdict(self.mail), "part": self.part, "coding": self.coding, "inner": self.inner}
        return json.dumps({k: v for k, v in raw.items() if v}, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> FilePlace | None:
        """The inverse; `None` for anything else."""
        try:
            raw = json.loads(text)
            own = {name: str(raw.pop(name, "")) for name in ("part", "coding", "inner")}
            mail = MailPlace(**raw)
        except (ValueError, TypeError, AttributeError):
            return None
        return cls(mail, **own) if _PART.fullmatch(own["part"]) else None
