"""Two machines that answer each other, and neither says that it is one: the bound for mails that are answered."""

from __future__ import annotations

from collections import OrderedDict, deque

from adapters.email.addresses import base_address, domain_of
from hermes.config import Rate
from hermes.events import Event, Ignored

__all__ = ["LoopGuard"]

_MOST = 10_000
_REASONS = {
    "thread": "too many mails in one conversation",
    "sender": "too many mails in one hour",
    "domain": "too many mails from one domain",
}


class LoopGuard:
    """Counts what is answered, per sender and per sender in a conversation, by when the mails came (epoch seconds).

    Guests count per domain too: a machine may write from another address each time. A mail that is read once more counts
    once. Bounded: who was heard least recently goes first.
    """

    def __init__(self, thread: Rate | None, sender: Rate | None, domain: Rate | None = None) -> None:
        self._rates = {"thread": thread, "sender": sender, "domain": domain}
        self._mails: OrderedDict[tuple[str, ...], deque[tuple[float, str]]] = OrderedDict()

    def judge(self, event: Event, at: float, *, guest: bool = False) -> Ignored | None:
        """Why the mail is not answered: silently, since a notice would keep the loop alive. at: when it came."""
        # A forged mail does not count against the one it claims to be from, and a machine may write from a +tag for each.
        who = base_address(event.sender.id)
        mail = (at, event.dedupe_key)
        places = [("thread", who, event.thread or ""), ("sender", who)]
        if guest:
            places.append(("domain", who.rpartition(":")[0], domain_of(who)))
        for place in places:
            if self._is_full(place, mail):
                return Ignored(_REASONS[place[0]])
        for place in places:
            self._note(place, mail)
        return None

    def _is_full(self, place: tuple[str, ...], mail: tuple[float, str]) -> bool:
        """Whether the last mails that were answered, as many as may be, all came in the time before this one."""
        rate, mails = self._rates[place[0]], self._mails.get(place)
        if rate is None or mails is None or mail in mails:
            return False
        return len(mails) >= rate.count and all(mail[0] - rate.seconds < at <= mail[0] for at, _ in mails)

    def _note(self, place: tuple[str, ...], mail: tuple[float, str]) -> None:
        rate = self._rates[place[0]]
        if rate is None:
            return
        mails = self._mails.setdefault(place, deque(maxlen=rate.count))
        if mail not in mails:
            mails.append(mail)
        self._mails.move_to_end(place)
        if len(self._mails) > _MOST:
            self._mails.popitem(last=False)
