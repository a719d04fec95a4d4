"""Who is who: joining, leaving, roles; and the codes that join."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.books import open_store
from gateway.codes import CODE_LIFE, MOST_CODES, Codes
from gateway.door import DoorRules, Standing, judge
from gateway.pairing import Pairings
from gateway.people import MOST_ACCOUNTS, Account, NotJoined, People, places_seen_from
from gateway.rights import Rights
from gateway.schema import PART
from hermes.events import Sender
from hermes.home import Home
from tests.gatewayrig import message

ANA, BOB = ("telegram", "1"), ("telegram", "2")
MAIL, STRANGER = ("email", "ana@x.org"), ("discord", "9")


def account(who: tuple[str, str], place: str | None = None, giver: tuple[str, str] | None = None) -> Account:
    return Account(*who, "", None, place, code=giver and "code", giver=giver)


def rights(people: People, *, per_person: bool = True, pairings: Pairings | None = None) -> Rights:
    rules = {
        "telegram": DoorRules(("1", "2"), None, 0, 100),
        "email": DoorRules(("*",), None, 0, 100),
        "discord": DoorRules(None, None, 0, 100),
    }
    return Rights(pairings or Pairings(), people, lambda name: rules[name], lambda: per_person)


def said(who: tuple[str, str], **fields: Any) -> Any:
    return message("hi", **{"chat": who[1], "instance": who[0], "sender": Sender(who[1]), **fields})


def test_a_person_has_the_highest_role_of_its_accounts_until_the_owner_gives_it_one() -> None:
    people = People()
    who = rights(people)
    assert who.role(said(MAIL)) == "guest"
    assert who.role(said(ANA)) == "member"
    people.join(account(ANA), account(MAIL), 1.0)
    assert who.role(said(MAIL)) == "member"
    people.give_role(MAIL, "", "guest", 2.0)
    assert who.role(said(ANA)) == "guest"
    people.give_role(ANA, "", "owner", 3.0)
    assert who.role(said(MAIL)) == "owner"
    assert who.role(said(MAIL, private_notice=False)) == "guest", "a sender who is not proven is nobody"
    assert who.role(said(STRANGER, admitted="key")) == "owner"
    assert who.role(said(ANA, admitted="signed")) == "member"
    people.give_role(ANA, "", None, 4.0)
    assert who.role(said(ANA)) == "member"


def test_an_account_is_let_in_by_another_that_is_admitted_by_name() -> None:
    people = People()
    who = rights(people)
    people.join(account(MAIL), account(STRANGER), 1.0)
    assert not who.is_linked(said(STRANGER)), "who comes by * lets nobody in"
    people.leave(STRANGER, shared=True)
    people.join(account(ANA), account(STRANGER), 1.0)
    assert who.is_linked(said(STRANGER))
    assert who.admits(said(STRANGER))
    assert not who.is_linked(said(STRANGER, private_notice=False))
    rules = DoorRules(None, None, 0, 100)
    assert judge(said(STRANGER), rules, Standing(linked=True), 0).admission == "linked"
    assert judge(said(STRANGER), rules, Standing(code="right"), 0).admission == "linked"
    wrong = judge(said(STRANGER), rules, Standing(code="wrong"), 0)
    assert (wrong.kind, wrong.notice, wrong.pair) == ("refused", "link_wrong", False)
    people.leave(ANA, shared=True)
    assert not who.admits(said(STRANGER))


def test_an_account_belongs_to_one_person_and_a_person_has_so_many() -> None:
    people = People()
    people.join(account(ANA), account(MAIL), 1.0)
    people.join(account(BOB), account(STRANGER), 1.0)
    for other in (MAIL, BOB, STRANGER):
        with pytest.raises(NotJoined):
            people.join(account(ANA), account(other), 2.0)
    for n in range(MOST_ACCOUNTS - 2):
        people.join(account(ANA), account(("open", str(n))), 3.0)
    with pytest.raises(NotJoined, match="at most"):
        people.join(account(ANA), account(("open", "one more")), 3.0)
    with pytest.raises(LookupError):
        people.leave(("open", "one more"), shared=True)


def test_a_conversation_stays_with_the_others_when_who_began_it_leaves() -> None:
    people = People()
    who = rights(people)
    people.join(account(ANA, "a"), account(MAIL, "m"), 1.0)
    assert (who.shared(said(ANA)).place, who.shared(said(MAIL)).place) == ("a", "a")
    assert who.shared(said(MAIL, kind="group")).place is None
    people.leave(ANA, shared=True)
    assert (who.shared(said(ANA)).place, who.shared(said(ANA)).parted) == (None, 1)
    assert who.shared(said(MAIL)).place == "a"
    people.leave(MAIL, shared=True)
    assert (who.shared(said(MAIL)).place, who.shared(said(MAIL)).parted) == (None, 0)
    assert people.listed() == []
    assert rights(people, per_person=False).shared(said(ANA)).parted == 1, "whatever the settings say later"


def test_a_place_that_only_a_code_told_goes_with_its_account() -> None:
    people = People()
    people.join(account(BOB), account(ANA), 1.0)
    known = people.account(ANA)
    assert known is not None
    people.join(replace(known, place="a"), account(MAIL, "m", giver=ANA), 2.0)
    found = people.of(BOB)
    assert found is not None
    assert (found.place, [a.place for a in people.accounts(found)]) == ("a", ["a", None, "m"])
    people.leave(ANA, shared=True)
    assert people.listed() == [], "nobody is left in the conversation of who has gone"


def test_without_shared_conversations_who_leaves_keeps_his_own() -> None:
    people = People()
    people.join(account(ANA, "a"), account(MAIL, "m"), 1.0)
    people.leave(ANA, shared=False)
    assert people.account(ANA) is None
    assert rights(people, per_person=False).shared(said(ANA)).parted == 0


def test_who_gave_codes_and_leaves_keeps_what_was_his_and_what_he_let_in_falls() -> None:
    people = People()
    who = rights(people)
    people.give_role(ANA, "", "owner", 0.0)
    people.settle(ANA, "a")
    people.join(people.account(ANA) or account(ANA), account(BOB, "b", ANA), 1.0)
    people.join(people.account(BOB) or account(BOB), account(STRANGER, "s", BOB), 2.0)
    people.join(people.account(ANA) or account(ANA), account(MAIL, "m", ANA), 3.0)
    assert [a.who for a in people.let_in_by(ANA)] == [BOB, MAIL, STRANGER]
    people.leave(BOB, shared=True)
    assert people.of(STRANGER) is None, "what he was let in by has fallen"
    assert (who.role(said(BOB)), who.role(said(MAIL))) == ("member", "owner")
    people.leave(ANA, shared=True)
    assert (who.role(said(ANA)), who.role(said(MAIL))) == ("owner", "guest")
    assert (who.shared(said(ANA)).place, who.shared(said(ANA)).parted) == ("a", 0)
    with pytest.raises(LookupError):
        people.leave(ANA, shared=True)
    assert who.role(said(ANA)) == "owner"


def test_a_role_ends_with_the_account_that_it_was_given_to_and_a_guest_stays_one() -> None:
    people = People()
    who = rights(people)
    people.give_role(ANA, "", "owner", 0.0)
    people.join(people.account(ANA) or account(ANA), account(BOB), 1.0)
    people.leave(ANA, shared=True)
    assert (who.role(said(ANA)), who.role(said(BOB))) == ("owner", "member")

    people = People()
    who = rights(people)
    people.join(account(ANA), account(BOB), 1.0)
    people.give_role(ANA, "", "guest", 2.0)
    people.leave(BOB, shared=True)
    assert (who.role(said(ANA)), who.role(said(BOB))) == ("guest", "guest"), "nobody leaves to be more"
    for alone in (ANA, BOB):
        with pytest.raises(LookupError):
            people.leave(alone, shared=True)


def test_who_leaves_while_each_has_his_own_conversation_leaves_it_to_nobody_later() -> None:
    people = People()
    people.join(account(ANA, "a"), account(MAIL, "m"), 1.0)
    people.leave(ANA, shared=False)
    assert rights(people).shared(said(MAIL)).place is None, "when direct chats are shared from now on"

    people.join(account(ANA), account(MAIL), 1.0)
    people.settle(ANA, "a")
    people.leave(ANA, shared=True)
    assert rights(people).shared(said(ANA)).parted == 0, "nobody else has a part in it"
    assert rights(people).shared(said(MAIL)).place is None


async def test_what_was_joined_before_givers_were_known_falls_with_the_first_account(tmp_path: Path) -> None:
    part = PART.steps.index(next(s for s in PART.steps if "COLUMN giver" in s))
    database = sqlite3.connect(":memory:")
    for step in PART.steps[:part]:
        database.executescript(step)
    database.executescript(
        "INSERT INTO people VALUES ('p', 'owner', NULL, 1.0);"
        "INSERT INTO accounts VALUES ('telegram', '2', '', 'p', NULL, 0, 'x', 1.0);"
        "INSERT INTO accounts VALUES ('telegram', '1', '', 'p', NULL, 0, NULL, 1.0);"
    )
    database.executescript(PART.steps[part])
    assert database.execute("SELECT given_to FROM people").fetchall() == [("telegram:1",)]
    found = database.execute("SELECT sender, giver FROM accounts ORDER BY sender").fetchall()
    assert found == [("1", None), ("2", "telegram:1")]
    database.close()


async def test_what_was_joined_is_there_after_a_restart_and_what_parted_is_not(tmp_path: Path) -> None:
    store = await open_store(Home(tmp_path))
    people, codes = People(), Codes()
    text, given = codes.give(ANA, "Ana", "a", None, 0.0, 0.0) or ("", lambda _: None)
    await store.write(given, people.join(account(ANA), account(MAIL, giver=ANA), 1.0))
    await store.write(people.give_role(ANA, "", "owner", 2.0))
    settled = people.settle(MAIL, "m")
    assert settled is not None
    assert people.settle(MAIL, "elsewhere") is None
    await store.write(settled)
    again = await People.load(store)
    assert again.listed() == people.listed()
    assert again.listed()[0].place == "m", "the first that wrote"
    assert again.accounts(again.listed()[0]) == people.accounts(people.listed()[0])
    assert await places_seen_from(store, "m") == ["m"]
    found = (await Codes.load(store)).find(text, 1.0)
    assert found is not None
    assert found.who == ANA

    await store.write(people.give_role(ANA, "", None, 3.0))
    await store.write(people.leave(ANA, shared=True), codes.spend(found))
    await people.reload(store)
    assert people.listed() == []
    assert people.account(MAIL) is None
    assert (await Codes.load(store)).find(text, 1.0) is None
    await store.aclose()
    with sqlite3.connect(tmp_path / "state.db") as database:
        assert database.execute("SELECT count(*) FROM link_codes").fetchone() == (0,)


def test_a_code_is_found_however_it_is_typed_and_for_ten_minutes() -> None:
    codes = Codes()
    text, _ = codes.give(ANA, "", None, None, 0.0, 0.0) or ("", None)
    for typed in (text, text.lower(), text.replace("-", " "), f" {text.replace('-', '')} "):
        assert codes.find(typed, CODE_LIFE - 1) is not None
    assert codes.find(text, CODE_LIFE) is None
    assert codes.find("", 1.0) is None
    assert codes.find("Ünïcode \ud800", 1.0) is None
    newer, _ = codes.give(ANA, "", None, None, 1.0, 1.0) or ("", None)
    assert codes.find(text, 1.0) is None, "a new one takes the place of the old one"
    code = codes.find(newer, 1.0)
    assert code is not None
    codes.spend(code)
    assert codes.find(newer, 1.0) is None


def test_codes_and_tries_are_limited() -> None:
    codes = Codes()
    assert [codes.give(ANA, "", None, None, 0.0, 0.0) is None for _ in range(7)] == [False] * 5 + [True] * 2
    assert codes.give(ANA, "", None, None, 0.0, 3600.0) is not None
    assert codes.may_try(ANA, 0.0)
    for _ in range(5):
        codes.tried(ANA, 0.0)
    assert not codes.may_try(ANA, 3599.0)
    assert codes.may_try(ANA, 3600.0)
    assert codes.may_try(BOB, 0.0)
    first, _ = codes.give(BOB, "", None, None, 0.0, 0.0) or ("", None)
    for n in range(MOST_CODES):
        assert codes.find(first, 1.0) is not None or n == MOST_CODES - 1
        codes.give(("open", str(n)), "", None, None, 1.0, 0.0)
    assert codes.find(first, 1.0) is None, "the oldest yields"
