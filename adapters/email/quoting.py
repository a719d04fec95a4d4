"""What somebody wrote now, apart from what they quote and sign with. Pure, linear in the text's length.

Only what is certain is cut: a wrong cut loses somebody's words, a missed one costs a few tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

__all__ = ["Cut", "cut", "is_forward", "is_reply", "others_words"]

_FORWARD = re.compile(
    r"^\W{0,12}(?:forwarded message|begin forwarded message|weitergeleitete nachricht|anfang der weitergeleiteten"
    r"|message transf[ée]r[ée]|mensaje reenviado|messaggio inoltrato|转发邮件|転送メッセージ)",
    re.IGNORECASE,
)
_REPLY_SUBJECT = re.compile(
    r"^\s*(?:re|aw|sv|vs|antw|ref|回复|答复|返信)\s*+(?:\[\d+\]\s*+)?[:：]", re.IGNORECASE
)
_FORWARD_SUBJECT = re.compile(
    r"^\s*(?:\[[^\]]{1,20}\]\s*+)*+(?:fwd?|wg|tr|rv|i|enc|vl|vb|pd|转发)\s*[:：]", re.IGNORECASE
)
# "On ..., Bot <bot@x> wrote:" in the languages of common mail programs; it may be broken over three lines.
_WROTE = re.compile(
    r"^(?:On\b.{4,300}\bwrote|(?:Am|Den)\b.{4,300}\b(?:schrieb|skrev)\b.{0,120}|Le\b.{4,300}\ba [ée]crit"
    r"|El\b.{4,300}\bescribió|Il\b.{4,300}\bha scritto|Em\b.{4,300}\bescreveu|Op\b.{4,300}\bschreef\b.{0,120}"
    r"|W dniu\b.{4,300}\bnapisał.{0,20}|.{4,300}(?:写道|寫道|のメール|написал.{0,3})"
    r"|\S.{0,200}<[^\s<>@]{1,200}@[^\s<>@]{3,200}>.{0,60})\s?[:：]$",
    re.IGNORECASE,
)
_BROKEN = re.compile(r"^(?:On|Am|Den|Le|El|Il|Em|Op|W dniu)\b", re.IGNORECASE)
_SEPARATOR = re.compile(
    r"^-{3,12}\s?(?:original message|original appointment|ursprüngliche nachricht|message d'origine|mensaje original"
    r"|messaggio originale|原始邮件|oorspronkelijk bericht)\s?-{3,12}$",
    re.IGNORECASE,
)
_SENT_FROM = re.compile(
    r"^(?:Sent from my |Von meinem .{1,40} gesendet|Envoyé de mon |Get Outlook for )", re.IGNORECASE
)
_FIELDS = 8
"""Lines in which the fields of a header stand."""
_LOOKED_AT = 200
_NO_WORD = re.compile(r"[\W_]+")
_ADDRESS = re.compile(r"[^\s<>()\[\],;:\"']{1,64}@[^\s<>()\[\],;:\"']{3,255}")


def _field(names: str) -> re.Pattern[str]:
    return re.compile(rf"^\*?(?:{names})\s?\*?[:：]\*?", re.IGNORECASE)


# As Outlook, GMX, Zimbra and others write the head of a mail that is answered.
_FIELD = _field("From|Von|De|Da|Van|Från|Fra|Lähettäjä|Od|От|Kimden|Feladó|发件人|寄件者|差出人|보낸 사람")
_DATE_FIELD = _field(
    "Sent|Date|Gesendet|Datum|Envoyé|Enviad[oa](?: el| em)?|Fecha|Data|Inviato|Verzonden|Skickat|Sendt|Dato|Lähetetty"
    "|Wysłano|Odesláno|Отправлено|Дата|Gönderildi|Tarih|Elküldve|Dátum|发送时间|寄件日期|日期|送信日時|日付|보낸 날짜|날짜"
)
_SUBJECT_FIELD = _field(
    "Subject|Betreff|Objet|Asunto|Oggetto|Onderwerp|Assunto|Ämne|Emne|Aihe|Temat|Předmět|Тема|Konu|Tárgy|主题|主旨|件名|제목"
)


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
    end = len(lines) if forward else _history(lines)
    if _passes_on(lines[:end]):
        forward, end = True, len(lines)
    fresh, old = _answers(lines[:end]) if not forward else (lines, [])
    above: list[str] = []
    below: list[str] = []
    # In a mail that is passed on, a signature may stand above what is to be read, or belong to it.
    if not forward:
        fresh, above = _signed(fresh)
        old, below = _signed_below(old)
    if any(line.startswith(">") for line in above):  # more than a signature: nobody's words are dropped
        above, old = [], [*above, *old]
    kept = _joined(fresh)
    return Cut(kept, _joined([*old, *lines[end:]]), _joined([*above, *below])) if kept else Cut(text.strip())


def others_words(quoted: str, is_own: Callable[[str], bool], names: Collection[str]) -> str:
    """What a quotation holds of others: what stands above the line that says that we wrote what is below it.

    is_own: whether an address is ours. names: ours, in small letters; an author without an address is known by them.
    """
    lines = quoted.split("\n")
    heads = [line.lstrip("> ").strip()[:500] for line in lines[:_LOOKED_AT]]
    found = _attribution(heads)
    if found is None or not _is_ours(found[1], is_own, names):
        return quoted
    above = [line for line, head in zip(lines, heads[: found[0]], strict=False) if not _SEPARATOR.match(head)]
    return _joined(above) if any(char.isalnum() for line in above for char in line) else ""


def _is_ours(author: str, is_own: Callable[[str], bool], names: Collection[str]) -> bool:
    found = _ADDRESS.findall(author)
    if found:
        return any(map(is_own, found))
    return any(_words(name) in _words(author) for name in names if name)


def _words(text: str) -> str:
    return f" {' '.join(re.sub(_NO_WORD, ' ', text.casefold()).split())} "


def _attribution(lines: Sequence[str]) -> tuple[int, str] | None:
    """Where the first quotation begins and who wrote it: "On ... wrote:", or a field; one with nothing below is none."""
    field = next((number for number, line in enumerate(lines) if _FIELD.match(line)), len(lines))
    for number, line in enumerate(lines[:field]):
        for size in (1, 2, 3) if _BROKEN.match(line) else (1,):
            text = " ".join(lines[number : number + size])
            if line and _WROTE.match(text) and any(lines[number + size :]):
                return number, text
    return (field, lines[field]) if field < len(lines) else None


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip()


def _passes_on(lines: Sequence[str]) -> bool:
    """Whether a mail is passed on below: its beginning says so, or that of what is quoted, by nobody who is named."""
    if any(_FORWARD.match(line) for line in lines if not line.startswith(">")):
        return True
    first = next((number for number, line in enumerate(lines) if line.startswith(">")), None)
    if first is None or not _FORWARD.match(lines[first].lstrip("> ")[:_LOOKED_AT]):
        return False
    return _said_by(lines, first) == first


def _history(lines: Sequence[str]) -> int:
    """Where the mail that is answered begins as a whole, below a separator or a block of its header."""
    for number, line in enumerate(lines):
        if _SEPARATOR.match(line.strip()):
            return number
        if _FIELD.match(line):
            begin = number - (number > 0 and _DATE_FIELD.match(lines[number - 1]) is not None)
            if _is_header(lines[begin : begin + _FIELDS], dated=begin < number):
                above = begin - 1
                return above if above >= 0 and re.fullmatch(r"[_-]{10,}", lines[above].strip()) else begin
    return len(lines)


def _is_header(lines: Sequence[str], *, dated: bool) -> bool:
    """Whether "From: ..." begins a mail's header: a date near it, and an address or a subject. A form has fields too."""
    if not dated and not any(map(_DATE_FIELD.match, lines[1:5])):
        return False
    return any(map(_SUBJECT_FIELD.match, lines)) or any(_ADDRESS.search(line[:500]) for line in lines[:4])


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
