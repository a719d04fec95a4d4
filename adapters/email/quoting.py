"""What somebody wrote now, apart from what they quote and sign with. Pure, linear in the text's length.

Only what is certain is cut: a wrong cut loses somebody's words, a missed one costs a few tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

__all__ = ["Cut", "cut", "is_forward", "is_reply", "quotes"]

_FORWARD = re.compile(
    r"^\W{0,12}(?:forwarded message|begin forwarded message|weitergeleitete nachricht|anfang der weitergeleiteten"
    r"|message transf[ée]r[ée]|mensaje reenviado|messaggio inoltrato|转发邮件|転送メッセージ)",
    re.IGNORECASE,
)
_REPLY_SUBJECT = re.compile(
    r"^\s*(?:re|aw|sv|vs|antw|ref|回复|答复|返信)\s*+(?:\[\d+\]\s*+)?[:：]", re.IGNORECASE
)
_FORWARD_SUBJECT = re.compile(r"^\s*(?:fwd?|wg|tr|rv|i|enc|转发)\s*[:：]", re.IGNORECASE)
# "On ..., Bot <bot@x> wrote:" in the languages of common mail programs; it may be broken over three lines.
_WROTE = re.compile(
    r"^(?:On\b.{4,300}\bwrote|(?:Am|Den)\b.{4,300}\b(?:schrieb|skrev)\b.{0,120}|Le\b.{4,300}\ba [ée]crit"
    r"|El\b.{4,300}\bescribió|Il\b.{4,300}\bha scritto|Em\b.{4,300}\bescreveu|Op\b.{4,300}\bschreef\b.{0,120}"
    r"|W dniu\b.{4,300}\bnapisał.{0,20}|.{4,300}(?:写道|寫道|のメール|написал.{0,3})"
    r"|\S.{0,200}<[^\s<>@]{1,200}@[^\s<>@]{3,200}>.{0,60})\s?[:：]$",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(
    r"^-{3,12}\s?(?:original message|original appointment|ursprüngliche nachricht|message d'origine|mensaje original"
    r"|messaggio originale|原始邮件|oorspronkelijk bericht)\s?-{3,12}$",
    re.IGNORECASE,
)
_FIELD = re.compile(r"^\*?(?:From|Von|De|Da|Van|发件人)\s?\*?[:：]\*?\s?\S", re.IGNORECASE)
_DATE_FIELD = re.compile(
    r"^\*?(?:Sent|Date|Gesendet|Datum|Envoyé|Enviado|Inviato|Verzonden|发送时间)\s?\*?[:：]", re.IGNORECASE
)
_SENT_FROM = re.compile(
    r"^(?:Sent from my |Von meinem .{1,40} gesendet|Envoyé de mon |Get Outlook for )", re.IGNORECASE
)
_ADDRESS = re.compile(r"[^\s<>()\[\],;:\"']{1,64}@[^\s<>()\[\],;:\"']{3,255}")


def is_forward(subject: str) -> bool:
    """Whether a subject says that a mail was passed on."""
    return _FORWARD_SUBJECT.match(subject) is not None


def is_reply(subject: str) -> bool:
    """Whether a subject says that a mail is an answer."""
    return _REPLY_SUBJECT.match(subject) is not None


class Cut(NamedTuple):
    """A mail's text in parts: what is new, what it quotes, and what it is signed with. No line is in none of them."""

    text: str
    quoted: str = ""
    signature: str = ""


def cut(text: str, *, forward: bool = False) -> Cut:
    """Take a text apart. forward: nothing is quoted, all of it is meant to be read."""
    lines = text.split("\n")
    end = len(lines) if forward or any(map(_FORWARD.match, lines)) else _history(lines)
    fresh, old = _answers(lines[:end]) if not forward else (lines, [])
    above: list[str] = []
    below: list[str] = []
    # In a mail that is passed on, a signature may stand above what is to be read, or belong to it.
    if not forward and not any(_FORWARD.match(line) for line in lines if not line.startswith(">")):
        fresh, above = _signed(fresh)
        old, below = _signed_below(old)
    if any(line.startswith(">") for line in above):  # more than a signature: nobody's words are dropped
        above, old = [], [*above, *old]
    kept = _joined(fresh)
    return Cut(kept, _joined([*old, *lines[end:]]), _joined([*above, *below])) if kept else Cut(text.strip())


def quotes(quoted: str, is_own: Callable[[str], bool]) -> bool:
    """Whether a quotation is one of what we wrote, as the line above it says. Without one it may be anybody's words."""
    lines = [line.lstrip("> ").strip()[:500] for line in quoted.split("\n", 12)[:12]]
    author = next((line for line in lines if _FIELD.match(line)), None) or _attribution(lines)
    if author is None:
        return False
    found = _ADDRESS.findall(author)
    return any(map(is_own, found)) if found else True


def _attribution(lines: Sequence[str]) -> str | None:
    """The line "On ... wrote:" that begins a quotation; one with nothing below it is none."""
    said = [line for line in lines if line]
    sizes = (size for size in (1, 2, 3) if size < len(said))
    return next((text for size in sizes if _WROTE.match(text := " ".join(said[:size]))), None)


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip()


def _history(lines: Sequence[str]) -> int:
    """Where the mail that is answered begins as a whole, below a separator or a block of its header."""
    for number, line in enumerate(lines):
        if _SEPARATOR.match(line.strip()):
            return number
        if _FIELD.match(line) and any(map(_DATE_FIELD.match, lines[number + 1 : number + 3])):
            above = number - 1
            return above if above >= 0 and re.fullmatch(r"[_-]{10,}", lines[above].strip()) else number
    return len(lines)


def _answers(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Quotation before or behind the answer goes; between answers it stays, since they mean nothing without it."""
    marks = [line.startswith(">") for line in lines]
    first = next((i for i, mark in enumerate(marks) if mark), None)
    if first is None:
        head = _said_by(lines, len(lines))
        return list(lines[:head]), list(lines[head:])
    last = len(marks) - 1 - marks[::-1].index(True)
    head = _said_by(lines, first)
    before, after = _is_text(lines[:head]), _is_text(lines[last + 1 :])
    if before and after:
        return list(lines), []
    between = [line for line, mark in zip(lines[first:last], marks[first:last], strict=True) if not mark]
    if _is_text(between):
        return list(lines), []
    if after:
        return list(lines[last + 1 :]), list(lines[: last + 1])
    return list(lines[:head]), list(lines[head:])


def _said_by(lines: Sequence[str], quote: int) -> int:
    """Where the line "On ... wrote:" before the quotation at `quote` begins; `quote` where there is none."""
    end = quote
    while end > 0 and not lines[end - 1].strip():
        end -= 1
    for size in (1, 2, 3):
        begin = end - size
        if begin >= 0 and _WROTE.match(" ".join(line.strip() for line in lines[begin:end])):
            return begin
    return quote


def _is_text(lines: Sequence[str]) -> bool:
    """Whether there is more than blank lines and a signature."""
    return any(line.strip() for line in _signed(list(lines))[0])


def _signed_below(old: list[str]) -> tuple[list[str], list[str]]:
    """A quotation, and the signature of who quotes, where it stands below."""
    marks = [number for number, line in enumerate(old) if line.startswith(">")]
    below = marks[-1] + 1 if marks else len(old)
    rest, signature = _signed(old[below:])
    return [*old[:below], *rest], signature


def _signed(lines: list[str]) -> tuple[list[str], list[str]]:
    """The text, and the signature below "-- " (RFC 3676, section 4.3) or what a telephone adds."""
    for number, line in enumerate(lines):
        if line == "-- ":
            return lines[:number], lines[number:]
    last = next((i for i in range(len(lines) - 1, -1, -1) if lines[i].strip()), None)
    if last is not None and len(lines[last]) < 80 and _SENT_FROM.match(lines[last]):
        return lines[:last], lines[last:]
    return lines, []
