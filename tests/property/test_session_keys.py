"""Two different places never share a session, whatever their names hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.router import SharingRules, format_target, parse_target, session_key
from hermes.events import Sender, Target
from tests.gatewayrig import message

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12) | st.sampled_from(
    ["a:t=b", "a", "t=b", "a%3At", "u=1", ":"]
)
PLACES = st.tuples(
    NAMES,
    NAMES,
    st.sampled_from(["direct", "group", "channel", "hook", "api"]),
    NAMES,
    st.none() | NAMES,
    NAMES,
)


def _key(place: tuple[str, str, str, str, str | None, str], rules: SharingRules) -> str:
    account, platform, kind, chat, thread, sender = place
    event = message(
        "x", chat, account=account, platform=platform, kind=kind, thread=thread, sender=Sender(sender)
    )
    return session_key(event, "main", rules)


def _what_separates(
    place: tuple[str, str, str, str, str | None, str], rules: SharingRules
) -> tuple[object, ...]:
    account, platform, kind, chat, thread, sender = place
    rule = rules.group if thread is None else rules.thread
    apart = kind in ("group", "channel") and rule == "per_sender"
    return (account, platform, kind, chat, thread, sender if apart else None)


@given(PLACES, PLACES, st.booleans())
def test_keys_are_equal_exactly_where_the_places_are(
    one: tuple[str, str, str, str, str | None, str],
    other: tuple[str, str, str, str, str | None, str],
    swapped: bool,
) -> None:
    rules = SharingRules("shared", "per_sender") if swapped else SharingRules()
    same = _what_separates(one, rules) == _what_separates(other, rules)
    assert (_key(one, rules) == _key(other, rules)) == same


@given(st.from_regex(r"[a-z]{1,8}", fullmatch=True), NAMES, st.none() | NAMES)
def test_targets_survive_being_written(instance: str, chat: str, thread: str | None) -> None:
    target = Target(instance, chat, thread)
    assert parse_target(format_target(target)) == target
