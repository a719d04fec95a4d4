"""Markdown as mails: one for an answer, however long; pure. And a piece as the bytes that are sent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from adapters.email.addresses import canonical, domain_of
from adapters.email.parse import Answers
from adapters.email.quoting import is_reply
from adapters.email.threads import message_id, references
from adapters.markdown.flat import write_flat
from adapters.markdown.html import write_html
from adapters.markdown.split import split_text
from adapters.markdown.tree import parse
from hermes.adapter import Piece
from hermes.errors import Rejected
from hermes.events import Target
from hermes.messages import scrub_surrogates

__all__ = ["AGAIN", "LIMIT", "Envelope", "compose", "render"]

LIMIT = 1_000_000
"""Characters of one mail. Servers take ten times as many bytes and more; nobody reads them."""

AGAIN = "↻ "
"""Stands before a mail whose earlier try may have arrived."""

_POLICY = SMTP.clone(cte_type="7bit")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Envelope:
    """A mail ready to be handed over: from whom, to whom, its id and its bytes."""

    sender: str
    recipients: tuple[str, ...]
    message_id: str
    content: bytes


def render(markdown: str, target: Target) -> Sequence[Piece]:
    """The mail that says it, as plain text and HTML; none for blank text. A target that answers nothing begins a thread."""
    tree = parse(scrub_surrogates(markdown))  # once for both: it is what takes the time
    text = write_flat(tree, link_schemes=()).text.strip()
    if not text:
        return []
    headers = _headers(Answers.from_json(target.answers), text)
    if len(text) <= LIMIT:
        return [Piece(text, {**headers, "html": write_html(tree)})]
    return [Piece(part, dict(headers)) for part in split_text(text, LIMIT, len)]


def _headers(answers: Answers | None, text: str) -> dict[str, object]:
    if answers is None:
        return {"subject": _line(text.splitlines()[0], 70)}
    found: dict[str, object] = {"to": answers.to, "name": answers.name, "subject": _re(answers.subject)}
    if answers.message_id:
        found["answers"] = answers.message_id
        found["references"] = references(answers.above, answers.message_id)
    if answers.cc:
        found["cc"] = list(answers.cc)
    return found


def _re(subject: str) -> str:
    subject = _line(subject, 300)
    return subject if is_reply(subject) else f"Re: {subject}".strip()


def _line(text: str, most: int) -> str:
    """Text as one line of a header: nothing in it can begin another field."""
    text = " ".join(_CONTROL.sub(" ", text).split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def compose(
    target: Target, piece: Piece, key: str, sender: tuple[str, str], now: float, *, again: bool
) -> Envelope:
    """The mail for a piece. sender: our name and address. Raises `Rejected` for an address that cannot be.

    Only Date and the mark of a repetition differ between two calls with one key.
    """
    form: Mapping[str, object] = piece.format
    to = canonical(str(form.get("to") or target.chat))
    if to is None:
        raise Rejected(f"{target.chat!r} is no mail address; write it as somebody@example.org.")
    extra = form.get("cc")
    cc = [str(a) for a in extra] if isinstance(extra, list) else []
    name = message_id(key, target.thread, domain_of(sender[1]))
    head = {
        "From": _mailbox(*sender),
        "To": _mailbox(str(form.get("name") or ""), to),
        "Subject": _text(_line(str(form.get("subject") or ""), 300)),
        "Date": format_datetime(datetime.fromtimestamp(now, UTC)),
        "Message-ID": f"<{name}>",
        **_thread(form),
        "X-Auto-Response-Suppress": "DR, RN, NRN, OOF, AutoReply",  # what Exchange understands of that
    }
    if cc:
        head["Cc"] = ",\r\n ".join(cc)
    lines = "".join(f"{field}: {value}\r\n" for field, value in head.items())
    return Envelope(sender[1], (to, *cc), name, lines.encode("ascii") + _body(piece, again=again))


def _thread(form: Mapping[str, object]) -> dict[str, str]:
    """Where it stands, and that a machine wrote it: https://www.rfc-editor.org/rfc/rfc3834#section-3.1.7 ."""
    answered = form.get("answers")
    if not answered:
        return {"Auto-Submitted": "auto-generated"}
    known = form.get("references")
    above = [_id(i) for i in known] if isinstance(known, list) else []
    return {
        "Auto-Submitted": "auto-replied",
        "In-Reply-To": _id(answered),
        "References": "\r\n ".join(above or [_id(answered)]),
    }


def _id(text: object) -> str:
    return "<" + re.sub(r"[^!-;=?-~]+", "", str(text))[:300] + ">"


def _text(value: str) -> str:
    """A header's text, encoded where it must be (RFC 2047).

    By the older of the standard library's two ways: the newer one loses spaces between long encoded words.
    """
    charset = "us-ascii" if value.isascii() and "=?" not in value else "utf-8"
    return Header(value, charset, header_name="Subject").encode(linesep="\r\n")


def _mailbox(name: str, address: str) -> str:
    name = _line(name, 100)
    if not name:
        return address
    shown = (
        '"' + re.sub(r'(["\\])', r"\\\1", name) + '"' if name.isascii() and "=?" not in name else _text(name)
    )
    return f"{shown} <{address}>"


def _body(piece: Piece, *, again: bool) -> bytes:
    """Plain text, and the same as HTML where there is some: ASCII, in short lines."""
    mail = EmailMessage(policy=_POLICY)
    mark = AGAIN if again else ""
    mail.set_content(f"{mark}{piece.text}\n")
    rich = piece.format.get("html")
    if isinstance(rich, str) and rich:
        page = (
            '<!DOCTYPE html>\n<html><head><meta charset="utf-8"></head>\n'
            '<body style="font-family:system-ui,sans-serif;font-size:15px;line-height:1.45;color:#1a1a1a">\n'
            f"{mark}{rich}\n</body></html>\n"
        )
        mail.add_alternative(page, subtype="html")
    return mail.as_bytes()
