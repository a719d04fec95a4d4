"""Markdown and files as mails: one for an answer, however long; pure. And a piece as what is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from hashlib import sha256
from urllib.parse import quote

from adapters.email.addresses import canonical, domain_of
from adapters.email.content import Content, encoded_size
from adapters.email.head import Answers
from adapters.email.quoting import is_reply
from adapters.email.threads import message_id, references
from adapters.markdown.flat import write_flat
from adapters.markdown.html import write_html
from adapters.markdown.split import split_text
from adapters.markdown.tree import parse
from hermes.adapter import Piece
from hermes.errors import Rejected
from hermes.events import Target
from hermes.files import StoredFile
from hermes.messages import scrub_surrogates

__all__ = ["AGAIN", "LIMIT", "Envelope", "compose", "largest_file", "render", "render_reply"]

LIMIT = 1_000_000
"""Characters of one mail. Servers take ten times as many bytes and more; nobody reads them."""

AGAIN = "↻ "
"""Stands before a mail whose earlier try may have arrived."""

_REST = 65_536
"""Bytes of a mail that are kept for what is not a file."""

_HEAD = 2000
"""Bytes for the header of a file."""

_MIME = re.compile(r"(?!message/|multipart/)[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,80}")
"""Types that a file may be said to have: what is `message/*` must not be encoded (RFC 2046, section 5.2.1)."""

_POLICY = SMTP.clone(cte_type="7bit")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Envelope:
    """A mail ready to be handed over: from whom, to whom, its id and its content."""

    sender: str
    recipients: tuple[str, ...]
    message_id: str
    content: Content


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


def largest_file(mail: int) -> int:
    """Bytes of the largest file that goes into a mail of so many bytes."""
    return max(0, mail - _REST - _HEAD - 8) * 57 // 78


def render_reply(
    markdown: str, files: Sequence[tuple[StoredFile, str]], target: Target, mail: int
) -> Sequence[Piece]:
    """The one mail that says it and holds all its files. mail: bytes of the biggest; what is too much goes on in the next."""
    words = "\n\n".join(part for part in (markdown, *_captions(files)) if part.strip())
    names = ", ".join(_line(file.name, 100) for file, _ in files)
    blank = Piece("", _headers(Answers.from_json(target.answers), names or " "))
    said = list(render(words, target)) or [blank]
    taken = 3 * sum(len(str(part).encode("utf-8", "replace")) for part in (said[0].text, said[0].format))
    groups = _packed([file for file, _ in files], mail - max(_REST, taken), mail - _REST)
    first = replace(said[0], file=next(iter(groups[0]), None), more=tuple(groups[0][1:]))
    further = [
        Piece(", ".join(_line(f.name, 100) for f in group), blank.format, group[0], tuple(group[1:]))
        for group in groups[1:]
    ]
    sent = [first, *said[1:], *further]
    return [piece for piece in sent if piece.text or piece.file is not None]


def _captions(files: Sequence[tuple[StoredFile, str]]) -> list[str]:
    """What is said of each file; where there are several, behind its name."""
    said = [(file, caption) for file, caption in files if caption.strip()]
    if len(files) == 1:
        return [caption for _, caption in said]
    return [f"`{_line(file.name, 100).replace('`', chr(39))}`: {caption}" for file, caption in said]


def _packed(files: Sequence[StoredFile], first: int, room: int) -> list[list[StoredFile]]:
    """The files of each mail, in order. first: what the first one has room for; it may stay empty."""
    groups: list[list[StoredFile]] = [[]]
    left = first
    for file in files:
        size = encoded_size(file.size) + _HEAD
        if size > left and (groups[-1] or len(groups) == 1):
            groups.append([])
            left = room
        groups[-1].append(file)
        left -= size
    return groups


def _headers(answers: Answers | None, text: str) -> dict[str, object]:
    if answers is None:
        return {"subject": _line(next(iter(text.splitlines()), ""), 70)}
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
    """The mail for a piece. sender: our name and address. Where its files lie is said later (`Content.where`).

    Only Date and the mark of a repetition differ between two calls with one key. Raises `Rejected` for an address that
    cannot be.
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
    body = _body(piece, name, again=again)
    files = [file for file in (piece.file, *piece.more) if file is not None]
    blocks = _enclosing(lines, body, files, name) if files else (lines.encode("ascii") + body,)
    return Envelope(sender[1], (to, *cc), name, Content(blocks))


def _enclosing(
    lines: str, body: bytes, files: Sequence[StoredFile], name: str
) -> tuple[bytes | StoredFile, ...]:
    """The body and the files side by side: RFC 2046, section 5.1.3."""
    mark = f"=_m.{sha256(name.encode()).hexdigest()[:24]}"  # what stands in no base64 and no quoted-printable
    kind = f'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="{mark}"\r\n\r\n--{mark}\r\n'
    first = (lines + kind).encode("ascii") + body.replace(b"MIME-Version: 1.0\r\n", b"", 1)
    blocks: list[bytes | StoredFile] = [first]
    for file in files:
        blocks += [f"\r\n--{mark}\r\n{_file_head(file)}\r\n".encode("ascii"), file]
    return (*blocks, f"--{mark}--\r\n".encode("ascii"))


def _file_head(file: StoredFile) -> str:
    mime = file.mime if _MIME.fullmatch(file.mime) else "application/octet-stream"
    return (
        f"Content-Type: {mime}\r\nContent-Transfer-Encoding: base64\r\n"
        f"Content-Disposition: attachment;\r\n {_file_name(_line(file.name, 200) or 'file')}\r\n"
    )


def _file_name(name: str) -> str:
    """As https://www.rfc-editor.org/rfc/rfc2231#section-4 has it, in short lines."""
    if re.fullmatch(r"[\w .,()+=@#-]{1,60}", name, re.ASCII):
        return f'filename="{name}"'
    coded = quote(name.encode("utf-8", "replace"), safe="")
    parts = re.findall(r"(?:%[0-9A-F]{2}|[^%]){1,20}", coded)
    if len(parts) == 1:
        return f"filename*=utf-8''{coded}"
    head = [f"filename*0*=utf-8''{parts[0]}"]
    return ";\r\n ".join([*head, *(f"filename*{n}*={part}" for n, part in enumerate(parts[1:], 1))])


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


def _body(piece: Piece, name: str, *, again: bool) -> bytes:
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
        mail.set_boundary(f"=_a.{sha256(name.encode()).hexdigest()[:24]}")
    return mail.as_bytes()
