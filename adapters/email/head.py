"""What a mail's head says: whose it is, where it belongs and how it is answered, or why it is not.

Pure, and cheap whatever the mail is: nobody has asked yet whether its sender may speak.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.message import Message
from email.utils import parsedate_to_datetime
from hashlib import sha256

from adapters.email.addresses import base_address, canonical, domain_of, single_address
from adapters.email.automatic import machine_mail
from adapters.email.headers import decoded, ids, raw_values, text_of, value_of
from adapters.email.places import MailPlace
from adapters.email.reader import read_mail
from adapters.email.slim import first_lines, parted
from adapters.email.threads import is_ours, references, thread_mark
from adapters.email.trust import is_forged, is_genuine
from hermes.events import Event, Ignored, Sender, Target, Unparsable
from hermes.messages import scrub_surrogates

__all__ = ["Answers", "Head", "Reading", "Seen", "brief", "own_addresses", "read_head", "unread"]

_RAW = 4096
"""Bytes that are kept of a mail that cannot be read: anybody can send many, and each lies in the mailbox."""
_BRIEF = 131_072
"""Bytes behind the head of a stranger's mail: all that he can say is a code, which stands at the beginning."""
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


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a mail that somebody wrote. event: the mail without its words and files.

    above: the mails before it, the oldest first.
    """

    event: Event
    subject: str
    above: tuple[str, ...]
    place: MailPlace


def read_head(
    seen: Seen, received: float | None, reading: Reading, place: MailPlace | None = None
) -> Head | Ignored | Unparsable:
    """Whose mail that is, or why it is not answered. received: when the server got it. place: where its files lie."""
    try:
        return _read(seen, received, reading, place or MailPlace())
    except Exception as e:  # noqa: BLE001  the readers of mail raise anything, and one mail must not make us deaf
        return unread(seen, e)


def brief(seen: Seen) -> Seen:
    """As much of a mail as is read of a stranger's: whole lines, since half a line of base64 is none."""
    top, rest = parted(seen.raw)
    words = bytes(rest[:_BRIEF])
    whole = len(words) if len(words) == len(rest) else words.rfind(b"\n") + 1
    return replace(seen, raw=top + words[:whole])


def unread(seen: Seen, why: Exception) -> Unparsable:
    """A mail on which a reader has failed."""
    return Unparsable(seen.raw[:_RAW].decode("latin-1"), f"{type(why).__name__}: {why}"[:300])


def _read(seen: Seen, received: float | None, reading: Reading, place: MailPlace) -> Head | Ignored:
    top, body = parted(first_lines(seen.raw))
    message = read_mail(top)
    froms = raw_values(message, "From")
    found = single_address(froms[0]) if len(froms) == 1 else None
    if found is None:
        if machine_mail(message, "") is not None:
            return Ignored("automatic mail")
        raise ValueError("the mail has no single usable From address")
    sender, name = found
    message_id = next(iter(ids(message, "Message-ID")), "")
    if (reason := _left_alone(message, sender, message_id, reading)) is not None:
        return Ignored(reason)
    name = scrub_surrogates(decoded(name))[:_NAME]
    return _head(_Mail(message, body, sender, name, message_id, received), reading, place)


def _left_alone(message: Message, sender: str, message_id: str, reading: Reading) -> str | None:
    if reading.is_own(sender) or is_ours(message_id, domain_of(reading.address)):
        return "own message"
    if (reason := machine_mail(message, sender)) is not None:
        return reason
    results = raw_values(message, "Authentication-Results")
    forged = reading.authserv_id is not None and is_forged(results, reading.authserv_id)
    return "forged sender" if forged else None


@dataclass(frozen=True, slots=True)
class _Mail:
    """A mail that somebody wrote. body: all behind its head, as it was sent."""

    message: Message
    body: memoryview
    sender: str
    name: str
    message_id: str
    received: float | None


def _head(mail: _Mail, reading: Reading, place: MailPlace) -> Head:
    message, sender, message_id = mail.message, mail.sender, mail.message_id
    genuine = _is_genuine(message, sender, reading)
    vouched = genuine or reading.authserv_id is None
    subject = scrub_surrogates(text_of(message, "Subject"))[:_SUBJECT]
    above = _above(message)
    key = message_id or sha256(_identity(message, mail.received)).hexdigest()[:32]
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
    event = Event(
        platform="email",
        instance=reading.instance,
        account=reading.address,
        kind="group" if to_others else "direct",
        chat=sender,
        sender=Sender(sender if vouched else f"unverified:{sender}", mail.name),
        text="",
        dedupe_key=f"{key}:{_digest(message, mail.body)}",
        thread=mark if vouched else f"{mark}.unverified",
        message_id=message_id or None,
        reply_to=(Target(reading.instance, sender, mark, answers.to_json()),),
        private_notice=genuine and not to_others,
        # A guest who bears somebody's name and is not vouched for; where nobody is checked, all are guests alike.
        untrusted=not vouched,
        sent_at=_sent_at(message, mail.received),
    )
    return Head(event, subject, tuple(above), replace(place, message_id=message_id))


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


def _digest(message: Message, body: memoryview) -> str:
    """The hash of the body and of what tells apart the mails of a program that gives all the same id.

    The other fields before the body differ from way to way.
    """
    found = sha256(body)
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
