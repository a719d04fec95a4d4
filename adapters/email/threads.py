"""Which conversation a mail belongs to, and the names that our own mails carry. Pure.

Our Message-IDs hold the conversation's mark, so that an answer finds back to it even where the other's program names
only the mail that it answers: `<h.KEY.MARK@domain>`. KEY comes from the outbox key: a mail that is sent once more has
the same name, and mail programs can tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256

__all__ = ["is_ours", "message_id", "references", "thread_mark"]

_OURS = re.compile(r"h\.[0-9a-f]{24}\.([0-9a-f]{16})@(.+)")
_MOST = 20
"""Ids in References: the first and the newest ones are kept, so that a long thread's header stays short."""


def message_id(key: str, mark: str | None, domain: str) -> str:
    """The id, without brackets, of the mail with that outbox key. mark: `None` begins a conversation."""
    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    known = mark is not None and re.fullmatch("[0-9a-f]{16}", mark) is not None
    return f"h.{digest[:24]}.{mark if known else digest[24:40]}@{domain}"


def is_ours(message_id: str, domain: str) -> bool:
    """Whether we gave a mail that id."""
    found = _OURS.fullmatch(message_id)
    return found is not None and found[2].lower() == domain


def thread_mark(message_id: str, above: Sequence[str], domain: str) -> str:
    """The conversation's mark: ours where we have written in it, else made from its first mail.

    above: the ids of the mails before, the oldest first.
    """
    for name in above:
        found = _OURS.fullmatch(name)
        if found is not None and found[2].lower() == domain:
            return found[1]
    root = above[0] if above else message_id
    return sha256(root.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def references(above: Sequence[str], message_id: str) -> list[str]:
    """The References of an answer: https://www.rfc-editor.org/rfc/rfc5322#section-3.6.4 ."""
    known = list(dict.fromkeys([*above, message_id]))
    return known if len(known) <= _MOST else [known[0], *known[-(_MOST - 1) :]]
