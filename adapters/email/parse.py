"""One mail becomes one `Parsed`. Pure; whatever a mail looks like, nothing is raised. Heavy for big ones: off the loop."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.message import Message
from email.utils import parsedate_to_datetime
from hashlib import sha256

from adapters.email.addresses import base_address, canonical, domain_of, single_address
from adapters.email.automatic import machine_mail
from adapters.email.body import Body, note_of, read_body
from adapters.email.headers import decoded, ids, raw_values, text_of, value_of
from adapters.email.outline import completed
from adapters.email.places import MailPlace
from adapters.email.quoting import cut, is_forward, is_reply, others_words
from adapters.email.reader import read_mail
from adapters.email.slim import first_lines, slimmed
from adapters.email.threads import is_ours, references, thread_mark
from adapters.email.trust import is_forged, is_genuine
from hermes.events import Event, Ignored, Parsed, Sender, Target, Unparsable
from hermes.files import in_words
from hermes.messages import scrub_surrogates

__all__ = ["Answers", "Reading", "Seen", "own_addresses", "parse_mail"]

_RAW = 4096
"""Bytes that are kept of a mail that cannot be read: anybody can send many, and each lies in the mailbox."""
_QUOTED = 2000  # characters of what a mail quotes that are kept with the event
_NAME = 100
_SUBJECT = 300
_MANY = 50
"""Recipients that an answer to all may have; more is a list."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a mail is read with.

    address: our own, canonical; aliases: others that are ours. authserv_id: our mail server's name in its
    Authentication-Results; `None`: nobody is known to be genuine. trust_from: the From is believed as it is.
    by_hand: HTML is read without the parser, which may have ended the process.
    """

    instance: str
    address: str
    aliases: frozenset[str] = frozenset()
    authserv_id: str | None = None
    trust_from: bool = False
    reply_all: bool = False
    name: str = ""
    by_hand: bool = False

    def is_own(self, address: str) -> bool:
        """Whether a canonical address is one of ours, with or without a plus."""
        return base_address(address) in self.aliases or base_address(address) == base_address(self.address)


@dataclass(frozen=True, slots=True)
class Answers:
    """What an answer must know of its mail; it travels as `Target.answers`. `message_id`, `above`: without brackets."""

    to: str
    name: str = ""
    subject: str = ""
    message_id: str = ""
    above: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()

    def to_json(self) -> str:
        """As it travels."""
        found = {n: v for n in self.__slots__ if (v := getattr(self, n))}
        return json.dumps(found, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | None) -> Answers | None:
        """The inverse; `None` for anything else."""
        try:
            raw = json.loads(text or "")
            return cls(**{**raw, "above": tuple(raw.get("above", ())), "cc": tuple(raw.get("cc", ()))})
        except (ValueError, TypeError, AttributeError):
            return None


@dataclass(frozen=True, slots=True)
class Seen:
    """What was fetched of a mail: all of it, or its beginning when it is bigger (`size`, in bytes).

    headers: those of its parts, by number, where only its beginning is there.
    """

    raw: bytes
    size: int
    headers: Mapping[int, bytes] = field(default_factory=dict)


def parse_mail(
    seen: Seen, received: float | None, reading: Reading, place: MailPlace | None = None
) -> Parsed:
    """The mail as an event, or why there is none. received: when the server got it. place: where its files lie."""
    try:
        return _parse(seen, received, reading, place or MailPlace())
    except Exception as e:  # noqa: BLE001  the readers of mail and HTML raise anything, and one mail must not make us deaf
        return Unparsable(seen.raw[:_RAW].decode("latin-1"), f"{type(e).__name__}: {e}"[:300])


def _parse(seen: Seen, received: float | None, reading: Reading, place: MailPlace) -> Parsed:
    seen = replace(seen, raw=first_lines(seen.raw))
    slim = slimmed(seen.raw)
    message = read_mail(completed(slim, seen.headers))
    froms = raw_values(message, "From")
    found = single_address(froms[0]) if len(froms) == 1 else None
    if found is None:
        if machine_mail(message, "") is not None:
            return Ignored("automatic mail")
        raise ValueError("the mail has no single usable From address")
    sender, name = found
    name = scrub_surrogates(decoded(name))[:_NAME]
    message_id = next(iter(ids(message, "Message-ID")), "")
    if reading.is_own(sender) or is_ours(message_id, domain_of(reading.address)):
        return Ignored("own message")
    if (reason := machine_mail(message, sender)) is not None:
        return Ignored(reason)
    results = raw_values(message, "Authentication-Results")
    if reading.authserv_id is not None and is_forged(results, reading.authserv_id):
        return Ignored("forged sender")
    mail = _Mail(message, seen, sender, name, replace(place, message_id=message_id), received)
    return _event(mail, reading, exact=seen.size <= len(seen.raw) == len(slim))


@dataclass(frozen=True, slots=True)
class _Mail:
    """A mail that somebody wrote."""

    message: Message
    seen: Seen
    sender: str
    name: str
    place: MailPlace
    received: float | None


def _event(mail: _Mail, reading: Reading, *, exact: bool) -> Event:
    message, sender, message_id = mail.message, mail.sender, mail.place.message_id
    genuine = _is_genuine(message, sender, reading)
    subject = scrub_surrogates(text_of(message, "Subject"))[:_SUBJECT]
    above = _above(message)
    key = message_id or sha256(_identity(message, mail.received)).hexdigest()[:32]
    forward = is_forward(subject)
    body = read_body(message, keep_quotes=forward, exact=exact, by_hand=reading.by_hand)
    words = cut(body.text or body.packed, forward=forward)
    missing = _missing(body, mail.seen)
    text = _said(words.text, subject, body, is_new=not above and not is_reply(subject), missing=missing)
    mark = thread_mark(message_id or key, above, domain_of(reading.address))
    to = _reply_address(message, sender, genuine=genuine, reading=reading)
    answers = Answers(
        to=to,
        name=mail.name,
        subject=subject,
        message_id=message_id,
        above=tuple(references(above[:-1], above[-1])) if above else (),
        cc=_others(message, {sender, to}, reading) if reading.reply_all and genuine else (),
    )
    # An answer that others read too is said in no private place: no code stands in it, and it is not drawn from what
    # the sender has said in private.
    to_others = bool(answers.cc) or answers.to != sender
    return Event(
        platform="email",
        instance=reading.instance,
        account=reading.address,
        kind="group" if to_others else "direct",
        chat=sender,
        sender=Sender(
            sender if genuine or reading.authserv_id is None else f"unverified:{sender}", mail.name
        ),
        text=text,
        dedupe_key=f"{key}:{_digest(message, mail.seen.raw)}",
        thread=mark if genuine or reading.authserv_id is None else f"{mark}.unverified",
        message_id=message_id or None,
        quoted=_quoted(words.quoted, above, reading)[:_QUOTED] or None,
        reply_to=(Target(reading.instance, sender, mark, answers.to_json()),),
        private_notice=genuine and not to_others,
        unsupported=None if text or body.files else body.sealed or missing or "a mail without text",
        # A guest who bears somebody's name and is not vouched for; where nobody is checked, all are guests alike.
        untrusted=not genuine and reading.authserv_id is not None,
        sent_at=_sent_at(message, mail.received),
        attachments=tuple(file.attachment(mail.place) for file in body.files),
    )


def _quoted(quoted: str, above: Sequence[str], reading: Reading) -> str:
    """What is quoted of others: what we said ourselves stands in the conversation already."""
    if not any(is_ours(name, domain_of(reading.address)) for name in above):
        return quoted
    names = (reading.name.casefold(), reading.address.partition("@")[0].casefold())
    return others_words(quoted, lambda address: reading.is_own(canonical(address) or ""), names)


def _is_genuine(message: Message, sender: str, reading: Reading) -> bool:
    if reading.authserv_id is None:
        return reading.trust_from
    results = raw_values(message, "Authentication-Results")
    return is_genuine(results, reading.authserv_id, domain_of(sender))


def _above(message: Message) -> list[str]:
    """The mails before this one, the oldest first: RFC 5322, section 3.6.4."""
    answered = ids(message, "In-Reply-To")
    known = ids(message, "References") or answered[:1]
    return list(dict.fromkeys([*known, *answered[:1]]))


def _digest(message: Message, raw: bytes) -> str:
    """The hash of the body and of what tells apart the mails of a program that gives all the same id.

    The other fields before the body differ from way to way.
    """
    ends = [end for mark in (b"\r\n\r\n", b"\n\n") if (end := raw.find(mark)) >= 0]
    found = sha256(memoryview(raw)[min(ends, default=len(raw)) :])
    found.update(f"\n{value_of(message, 'Date')}\n{value_of(message, 'Subject')}".encode("utf-8", "replace"))
    return found.hexdigest()[:16]


def _identity(message: Message, received: float | None) -> bytes:
    """What stands for a Message-ID where there is none; without a date of its own, when the server got the mail."""
    fields = [value_of(message, name) for name in ("From", "To", "Date", "Subject", "In-Reply-To")]
    if not fields[2]:
        fields.append(str(received))
    return "\n".join(fields).encode("utf-8", "replace")


def _reply_address(message: Message, sender: str, *, genuine: bool, reading: Reading) -> str:
    """Reply-To is believed of those who are who they say: others could have us write to anybody, about anybody."""
    wanted = raw_values(message, "Reply-To")
    found = single_address(wanted[0]) if len(wanted) == 1 and genuine else None
    return sender if found is None or reading.is_own(found[0]) else found[0]


def _others(message: Message, answered: Container[str], reading: Reading) -> tuple[str, ...]:
    fields = [*raw_values(message, "To"), *raw_values(message, "Cc")]
    found = [single_address(part) for value in fields for part in _listed(value)]
    known = dict.fromkeys(address for item in found if item is not None for address in [item[0]])
    others = tuple(a for a in known if a not in answered and not reading.is_own(a))
    return others if len(others) <= _MANY else ()


def _listed(value: str) -> Sequence[str]:
    """The single addresses of a list, cut at commas outside of quoted strings; those of a group too (RFC 5322, 3.4)."""
    parts: list[str] = [""]
    quoted = False
    for char in value:
        quoted ^= char == '"'
        if char in ",;" and not quoted:
            parts.append("")
        elif char == ":" and not quoted:
            parts[-1] = ""  # what came before is the group's name
        else:
            parts[-1] += char
    return parts


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


def _sent_at(message: Message, received: float | None) -> float | None:
    if received is not None:
        return received
    try:
        return parsedate_to_datetime(value_of(message, "Date")).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def own_addresses(address: str, aliases: Sequence[str]) -> frozenset[str]:
    """All that is ours, in the form that `Reading` compares. Raises `ValueError`."""
    found = [canonical(text) for text in (address, *aliases)]
    if None in found:
        raise ValueError("no address")
    return frozenset(base_address(a) for a in found if a is not None)
