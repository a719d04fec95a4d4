"""Who gets the answer to a mail, and which mails are one and the same."""

from __future__ import annotations

from adapters.email.head import Answers, Reading, Seen, own_addresses
from adapters.email.parse import parse_mail
from hermes.events import Event
from tests.integration.mail_desk import mail

BOT = "bot@x.test"
ALL = Reading("email", BOT, own_addresses(BOT, ()), trust_from=True, reply_all=True)


def event(raw: bytes, received: float = 1.0) -> Event:
    found = parse_mail(Seen(raw, len(raw)), received, ALL)
    assert isinstance(found, Event), found
    return found


def answers(raw: bytes) -> Answers:
    known = Answers.from_json(event(raw).reply_to[0].answers)
    assert known is not None
    return known


def test_who_is_answered_stands_among_the_others_no_second_time() -> None:
    found = answers(mail(Reply_To="team@far.test", To=f"{BOT}, team@far.test, jo@far.test"))
    assert (found.to, found.cc) == ("team@far.test", ("jo@far.test",))


def test_the_members_of_a_group_are_answered_too() -> None:
    others = '"Team: one" <o@far.test>, Team: a@far.test, b@far.test;, "Doe, John" <john@far.test>'
    assert answers(mail(To=f"{BOT}, {others}")).cc == (
        "o@far.test", "a@far.test", "b@far.test", "john@far.test",
    )  # fmt: skip


def test_mails_of_a_program_that_gives_all_the_same_id_are_told_apart() -> None:
    first = mail("go", Message_ID="<1@localhost>", Subject="deploy web")
    keys = {
        event(raw).dedupe_key
        for raw in (
            first,
            mail("go", Message_ID="<1@localhost>", Subject="deploy mail"),
            mail(
                "go", Message_ID="<1@localhost>", Subject="deploy web", Date="Mon, 30 Nov 2026 18:00:00 +0000"
            ),
        )
    }
    assert len(keys) == 3
    assert event(b"Received: by another way\r\n" + first, 9.0).dedupe_key in keys


def test_mails_without_id_and_date_are_told_apart_by_when_they_came() -> None:
    bare = mail("status?", Message_ID="", Date="")
    assert event(bare, 1.0).dedupe_key == event(bare, 1.0).dedupe_key
    assert event(bare, 1.0).dedupe_key != event(bare, 2.0).dedupe_key
    dated = mail("status?", Message_ID="")
    assert event(dated, 1.0).dedupe_key == event(dated, 2.0).dedupe_key
