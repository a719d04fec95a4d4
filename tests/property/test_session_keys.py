"""Two different places never share a session, whatever their names hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.people import Account, NotJoined, People
from gateway.router import Shared, SharingRules, format_target, key_at, parse_target, place_of, session_key
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


@given(PLACES, PLACES, st.integers(0, 2), st.integers(0, 2))
def test_who_left_a_conversation_never_has_its_key_again(
    one: tuple[str, str, str, str, str | None, str],
    other: tuple[str, str, str, str, str | None, str],
    parted: int,
    otherwise: int,
) -> None:
    def key(place: tuple[str, str, str, str, str | None, str], times: int) -> str:
        account, platform, kind, chat, thread, sender = place
        event = message(
            "x", chat, account=account, platform=platform, kind=kind, thread=thread, sender=Sender(sender)
        )
        return session_key(event, "main", SharingRules(), Shared(None, times))

    rules = SharingRules()
    same = (_what_separates(one, rules), parted) == (_what_separates(other, rules), otherwise)
    assert (key(one, parted) == key(other, otherwise)) == same


@given(PLACES, NAMES, NAMES)
def test_a_shared_conversation_is_one_for_each_agent(
    place: tuple[str, str, str, str, str | None, str], agent: str, other: str
) -> None:
    shared = Shared(place_of(_key(place, SharingRules())))
    event = message("x", "elsewhere")
    assert session_key(event, "main", SharingRules(), shared) == _key(place, SharingRules())
    assert (key_at(agent, str(shared.place)) == key_at(other, str(shared.place))) == (agent == other)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["join", "link", "leave", "write", "owner", "guest"]),
        st.integers(0, 4),
        st.integers(0, 4),
    ),
    max_size=30,
)


@given(STEPS)
def test_nobody_ever_comes_to_the_conversation_of_a_person_that_he_is_not(
    steps: list[tuple[str, int, int]],
) -> None:
    """Whatever is joined and parted: one place, one person; and who is alone is nowhere where another is."""
    people = People()

    def who(n: int) -> tuple[str, str]:
        return "telegram", str(n)

    def place(n: int) -> str:
        account, person = people.account(who(n)), people.of(who(n))
        own = f"{n}:e={account.parted}" if account is not None and account.parted else f"{n}"
        return person.place if person is not None and person.place is not None else own

    for now, (step, first, other) in enumerate(steps):
        try:
            if step in ("join", "link") and first != other:
                giver = who(first) if step == "link" else None
                people.join(
                    people.account(who(first)) or Account(*who(first), "", None, place(first)),
                    Account(*who(other), "", None, place(other), giver=giver),
                    float(now),
                )
            elif step == "owner":
                people.give_role(who(first), "", "owner", float(now))
            elif step == "guest":
                people.give_role(who(first), "", "guest", float(now))
            elif step == "leave":
                people.leave(who(first), shared=True)
            else:
                people.settle(who(first), place(first))
        except (NotJoined, LookupError):
            continue
        for one in range(5):
            for another in range(one):
                together = people.of(who(one)) is not None and people.of(who(one)) == people.of(who(another))
                assert (place(one) == place(another)) == together


@given(st.from_regex(r"[a-z]{1,8}", fullmatch=True), NAMES, st.none() | NAMES)
def test_targets_survive_being_written(instance: str, chat: str, thread: str | None) -> None:
    target = Target(instance, chat, thread)
    assert parse_target(format_target(target)) == target
