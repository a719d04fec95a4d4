"""One mail becomes one `Parsed`. Pure; whatever a mail looks like, nothing is raised. Heavy for big ones: off the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adapters.email.addresses import canonical, domain_of
from adapters.email.body import Body, note_of, read_body
from adapters.email.head import Head, Reading, Seen, read_head, unread
from adapters.email.outline import completed
from adapters.email.places import MailPlace
from adapters.email.quoting import cut, is_forward, is_reply, others_words
from adapters.email.reader import read_mail
from adapters.email.slim import bounded, first_lines, slimming
from adapters.email.threads import is_ours
from hermes.events import Event, Parsed
from hermes.files import in_words

__all__ = ["parse_mail"]

_QUOTED = 2000  # characters of what a mail quotes that are kept with the event


def parse_mail(
    seen: Seen, received: float | None, reading: Reading, place: MailPlace | None = None
) -> Parsed:
    """The mail as an event, or why there is none. received: when the server got it. place: where its files lie."""
    head = read_head(seen, received, reading, place)
    if not isinstance(head, Head):
        return head
    try:
        return _with_words(head, replace(seen, raw=first_lines(seen.raw)), reading)
    except Exception as e:  # noqa: BLE001  the readers of mail and HTML raise anything, and one mail must not make us deaf
        return unread(seen, e)


def _with_words(head: Head, seen: Seen, reading: Reading) -> Event:
    slim, is_cut = slimming(bounded(seen.raw))
    exact = seen.size <= len(seen.raw) == len(slim)
    forward = is_forward(head.subject)
    message = read_mail(completed(slim, seen.headers))
    body = read_body(message, keep_quotes=forward, exact=exact, by_hand=reading.by_hand)
    body.cut |= is_cut
    words = cut(body.text or body.packed, forward=forward)
    missing = _missing(body, seen)
    is_new = not head.above and not is_reply(head.subject)
    text = _said(words.text, head.subject, body, is_new=is_new, missing=missing)
    return replace(
        head.event,
        text=text,
        quoted=_beginning(_quoted(words.quoted, head.above, reading)) or None,
        unsupported=None if text or body.files else body.sealed or missing or "a mail without text",
        attachments=tuple(file.attachment(head.place) for file in body.files),
    )


def _quoted(quoted: str, above: Sequence[str], reading: Reading) -> str:
    """What is quoted of others: what we said ourselves stands in the conversation already, unless we began it by a mail."""
    begins = len(above) == 1
    if begins or not any(is_ours(name, domain_of(reading.address)) for name in above):
        return quoted
    names = (reading.name.casefold(), reading.address.partition("@")[0].casefold())
    return others_words(quoted, lambda address: reading.is_own(canonical(address) or ""), names)


def _beginning(quoted: str) -> str:
    return quoted if len(quoted) <= _QUOTED else f"{quoted[:_QUOTED]} [...]"


def _missing(body: Body, seen: Seen) -> str:
    """A note about what of a mail was not seen."""
    notes = [note_of(body)]
    if seen.size > len(seen.raw) and (body.text or body.files):
        notes.append(f"(This mail has {in_words(seen.size)}; of its text I only see the beginning.)")
    return "\n".join(note for note in notes if note)


def _said(text: str, subject: str, body: Body, *, is_new: bool, missing: str) -> str:
    """The words for the agent. The subject belongs to them where a conversation begins."""
    text = text.strip()
    if text.startswith("/"):
        return text
    if body.sealed and not text and not body.files:
        return ""
    if is_new and subject:
        alone = not text and not body.files
        text = subject if alone else f"Subject: {subject}\n\n{text}".strip()
    return "\n\n".join(part for part in (text, missing) if part)
