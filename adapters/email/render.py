"""Markdown as mails: one for an answer, however long; pure. And a piece as the bytes that are sent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from adapters.email.addresses import canonical, domain_of
from adapters.email.parse import Answers
from adapters.email.threads import message_id, references
from adapters.markdown.html import html
from adapters.markdown.plain import plain
from adapters.markdown.split import split_text
from hermes.adapter import Piece
from hermes.errors import Rejected
from hermes.events import Target
from hermes.messages import scrub_surrogates

__all__ = ["AGAIN", "LIMIT", "Envelope", "compose", "render"]

LIMIT = 1_000_000
"""Characters of one mail. Servers take ten times as many bytes and more; nobody reads them."""

AGAIN = "↻ "
"""Stands before a mail whose earlier try may have arrived."""

# A longer line is allowed (998), and ids that are broken over two lines are not understood everywhere.
_POLICY = SMTP.clone(cte_type="7bit", max_line_length=400)
_RE = re.compile(r"^\s*(?:re|aw|sv|vs|antw|ref|回复|答复|返信)\s*(?:\[\d+\])?\s*[:：]", re.IGNORECASE)
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
    text = plain(scrub_surrogates(markdown)).strip()
    if not text:
        return []
    headers = _headers(Answers.from_json(target.answers), text)
    if len(text) <= LIMIT:
        return [Piece(text, {**headers, "html": html(markdown)})]
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
    return subject if _RE.match(subject) else f"Re: {subject}".strip()


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
    mail = EmailMessage(policy=_POLICY)
    mail["From"] = _address(*sender)
    mail["To"] = _address(str(form.get("name") or ""), to)
    if cc:
        mail["Cc"] = [_address("", a) for a in cc]
    mail["Subject"] = _line(str(form.get("subject") or ""), 300)
    mail["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
    mail["Message-ID"] = f"<{name}>"
    answered = form.get("answers")
    if answered:
        mail["In-Reply-To"] = f"<{_line(str(answered), 500)}>"
        known = form.get("references")
        mail["References"] = (
            " ".join(f"<{_line(str(i), 500)}>" for i in known) if isinstance(known, list) else ""
        )
    # https://www.rfc-editor.org/rfc/rfc3834#section-3.1.7, and the same for Exchange
    mail["Auto-Submitted"] = "auto-replied" if answered else "auto-generated"
    mail["X-Auto-Response-Suppress"] = "DR, RN, NRN, OOF, AutoReply"
    _fill(mail, piece, again=again)
    return Envelope(sender[1], (to, *cc), name, mail.as_bytes())


def _fill(mail: EmailMessage, piece: Piece, *, again: bool) -> None:
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


def _address(name: str, address: str) -> Address:
    return Address(_line(name, 100), addr_spec=address)
