"""Mail that a machine sent, which must not be answered: https://www.rfc-editor.org/rfc/rfc3834#section-2 . Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from email.message import Message

from adapters.email.addresses import is_machine
from adapters.email.headers import raw_values, value_of, without_comments

__all__ = ["machine_mail"]

_FIRST_WORD = re.compile(r"\s*([\w-]*)")
_REPORT = frozenset({"multipart/report", "message/delivery-status", "message/disposition-notification"})
_BULK = frozenset({"bulk", "junk", "list", "auto_reply"})


def machine_mail(message: Message, sender: str) -> str | None:
    """Why a mail is not answered, as a short constant; `None` for a person's."""
    return next((reason for reason, holds in _SIGNS if holds(message, sender)), None)


def _is_bounce(message: Message, _: str) -> bool:
    """A report on a delivery, or a mail whose sender wants nothing back (RFC 5321, section 4.5.5)."""
    paths = raw_values(message, "Return-Path")
    return message.get_content_type() in _REPORT or any(path.replace(" ", "") == "<>" for path in paths)


def _is_automatic(message: Message, _: str) -> bool:
    fields = raw_values(message, "Auto-Submitted")
    return any(_word(field) != "no" for field in fields if field)


def _is_suppressed(message: Message, _: str) -> bool:
    """https://learn.microsoft.com/openspecs/exchange_server_protocols/ms-oxcmail (X-Auto-Response-Suppress)."""
    wishes = {word.strip().lower() for word in value_of(message, "X-Auto-Response-Suppress").split(",")}
    return bool(wishes & {"all", "autoreply"})


def _is_responder(message: Message, _: str) -> bool:
    return any(name in message for name in ("X-Autoreply", "X-Autorespond", "X-Auto-Reply"))


def _is_list(message: Message, _: str) -> bool:
    """https://www.rfc-editor.org/rfc/rfc2369 and rfc2919; newsletters carry List-Unsubscribe alone."""
    lists = any(name.lower().startswith("list-") for name in message.keys())  # noqa: SIM118  a Message is no dict
    return lists or _word(value_of(message, "Precedence")) in _BULK


def _is_machine(_: Message, sender: str) -> bool:
    return is_machine(sender)


def _word(field: str) -> str:
    found = _FIRST_WORD.match(without_comments(field[:1000]))
    return found[1].lower() if found else ""


_SIGNS: tuple[tuple[str, Callable[[Message, str], bool]], ...] = (
    ("bounce", _is_bounce),
    ("automatic mail", _is_automatic),
    ("automatic mail", _is_suppressed),
    ("automatic mail", _is_responder),
    ("mailing list", _is_list),
    ("sender takes no replies", _is_machine),
)
