"""The gateway's pure decisions: the door, the router, the pace, what becomes of a send, what a start takes up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.commands import parse_command
from gateway.door import DoorRules, RateBook, Standing, judge
from gateway.fate import DeliveryRules, Fate, decide
from gateway.outbox import OutboxRow
from gateway.pace import Pacer, Window
from gateway.pairing import CODE_LENGTH, MAX_PENDING, Pairings
from gateway.router import SharingRules, format_target, parse_target, session_key
from gateway.sentences import SENTENCES, say
from gateway.stopping import Stop, hangs_up
from gateway.supervisor import pause_before
from hermes.adapter import Pace, Piece
from hermes.config import Rate
from hermes.errors import (
    AdapterError,
    ConfigError,
    NotTaken,
    OutcomeUnknown,
    Rejected,
    Unauthorized,
    Unreachable,
)
from hermes.events import Sender, Target
from tests.gatewayrig import message

RULES = DoorRules(("*",), Rate(2, 60.0), 3, 100)


def test_only_listed_senders_come_in_and_a_star_admits_as_anyone() -> None:
    event = message("hi", sender=Sender("7"))
    assert judge(event, DoorRules(("7", "*"), None, 0, 100), Standing(), 0).admission == "listed"
    assert judge(event, DoorRules(("*",), None, 0, 100), Standing(), 0).admission == "anyone"
    assert judge(event, DoorRules(("8",), None, 0, 100), Standing(), 0).kind == "refused"
    assert judge(event, DoorRules((), None, 0, 100), Standing(paired=True), 0).kind == "refused"


def test_without_a_list_only_the_paired_come_in_and_strangers_may_pair_in_private() -> None:
    rules = DoorRules(None, None, 0, 100)
    assert judge(message("hi"), rules, Standing(paired=True), 0).admission == "paired"
    assert judge(message("hi"), rules, Standing(), 0).pair
    assert not judge(message("hi", private_notice=False), rules, Standing(), 0).pair


def test_an_event_whose_adapter_checked_the_right_is_not_checked_again() -> None:
    decision = judge(message("hi", admitted="signed"), DoorRules((), None, 0, 100), Standing(), 0)
    assert (decision.kind, decision.admission) == ("accepted", "signed")


@pytest.mark.parametrize(
    ("fields", "kind", "reason"),
    [
        ({"sender": Sender("1", is_bot=True)}, "ignored", "sender is a bot"),
        ({"addressed": False}, "ignored", "not addressed"),
        ({"text": "   "}, "ignored", "empty"),
        ({"text": "x" * 101}, "refused", "too long"),
        ({"text": "", "unsupported": "voice"}, "refused", "unsupported"),
    ],
)
def test_what_the_door_turns_away(fields: dict[str, Any], kind: str, reason: str) -> None:
    decision = judge(message(str(fields.pop("text", "hi")), **fields), RULES, Standing(), 0)
    assert (decision.kind, decision.reason) == (kind, reason)


def test_over_the_rate_a_message_waits_for_its_slot_and_over_the_backlog_it_is_refused() -> None:
    assert judge(message("hi"), RULES, Standing(slot=10), 5).not_before == 10
    assert judge(message("hi"), RULES, Standing(slot=10, deferred=3), 5).notice == "backlog"
    refused = judge(message("/stop"), RULES, Standing(slot=10), 5, control=True)
    assert (refused.kind, refused.notice) == ("refused", "backlog"), "a command never waits"


def test_slots_follow_one_another_at_the_rate() -> None:
    book, who, rate = RateBook(), ("t", "1"), Rate(2, 60.0)
    slots = []
    for _ in range(6):
        slot, _ = book.slot(who, rate, 100.0)
        book.book(who, slot)
        slots.append(slot)
    assert slots == [100, 100, 160, 160, 220, 220]
    assert book.slot(who, rate, 100.0)[1] == 4
    assert book.slot(("t", "2"), rate, 100.0) == (100.0, 0)


def test_the_parts_of_an_album_count_once() -> None:
    book, who = RateBook(senders=2), ("t", "1")
    assert book.joined(who, "a") is None
    book.book(who, 5.0, "a")
    assert (book.joined(who, "a"), book.joined(who, "b"), book.joined(who, None)) == (5.0, None, None)
    assert book.joined(("t", "2"), "a") is None
    book.unbook(who, 5.0)
    assert book.joined(who, "a") is None
    for n in range(3):
        book.book(("t", str(n)), 1.0, "c")
    assert [book.joined(("t", str(n)), "c") for n in range(3)] == [None, 1.0, 1.0]


def test_the_rate_book_forgets_whom_it_heard_least_recently() -> None:
    book = RateBook(senders=2)
    for who in ("a", "b", "c"):
        book.book(("t", who), 1.0)
    assert book.slot(("t", "a"), Rate(1, 60.0), 2.0) == (2.0, 0)
    assert book.slot(("t", "c"), Rate(1, 60.0), 2.0)[0] == 61.0


def test_pairing_codes_are_given_once_and_lock_out_who_asks_too_often() -> None:
    pairings = Pairings()
    code, jobs = pairings.ask("t", "1", "Ana", 0.0)
    assert code is not None
    assert len(code) == CODE_LENGTH
    assert len(jobs) == 1
    assert pairings.ask("t", "1", "Ana", 10.0) == (None, [])
    assert pairings.ask("t", "1", "Ana", 4000.0)[0] is not None
    assert pairings.ask("t", "1", "Ana", 8000.0)[0] is not None
    assert pairings.ask("t", "1", "Ana", 12_000.0)[0] is None
    assert pairings.ask("t", "1", "Ana", 8000.0 + 86_401)[0] is not None


def test_the_oldest_pending_code_yields_when_there_are_too_many() -> None:
    pairings = Pairings()
    codes = [pairings.ask("t", str(n), "", float(n))[0] for n in range(MAX_PENDING + 1)]
    assert len(pairings.listed()) == MAX_PENDING
    with pytest.raises(LookupError):
        pairings.approve(str(codes[0]), 60.0)
    assert pairings.approve(str(codes[-1]), 60.0)[0].sender == str(MAX_PENDING)


def test_an_expired_code_admits_nobody() -> None:
    pairings = Pairings()
    code, _ = pairings.ask("t", "1", "", 0.0)
    with pytest.raises(LookupError, match="one hour"):
        pairings.approve(str(code), 3601.0)
    assert not pairings.approved("t", "1")


def test_a_revoked_sender_is_a_stranger_again() -> None:
    pairings = Pairings()
    code, _ = pairings.ask("t", "1", "", 0.0)
    pairings.approve(str(code), 1.0)
    assert pairings.approved("t", "1")
    pairings.revoke("t", "1")
    assert not pairings.approved("t", "1")
    with pytest.raises(LookupError, match="not paired"):
        pairings.revoke("t", "1")


def test_groups_have_a_session_per_sender_and_threads_are_shared_unless_told_otherwise() -> None:
    def key(sender: str, thread: str | None, rules: SharingRules) -> str:
        event = message("x", chat="-1", kind="group", sender=Sender(sender), thread=thread)
        return session_key(event, "main", rules)

    usual, swapped = SharingRules(), SharingRules(group="shared", thread="per_sender")
    assert key("1", None, usual) != key("2", None, usual)
    assert key("1", "9", usual) == key("2", "9", usual)
    assert key("1", None, swapped) == key("2", None, swapped)
    assert key("1", "9", swapped) != key("2", "9", swapped)


@pytest.mark.parametrize("text", ["telegram:1", "telegram:-100:77", "t:a%3Ab:c%2Fd"])
def test_targets_are_read_as_they_are_written(text: str) -> None:
    assert format_target(parse_target(text)) == text


@pytest.mark.parametrize("text", ["telegram:", ":1", "a:b:c:d", "", " "])
def test_a_broken_target_is_explained(text: str) -> None:
    with pytest.raises(ConfigError, match="telegram:12345"):
        parse_target(text)


def test_a_window_lets_through_what_the_platform_allows_and_no_more() -> None:
    window, now = Window(Rate(3, 1.0)), 0.0
    sent: list[float] = []
    while len(sent) < 10:
        now += window.wait(now)
        window.book(now)
        sent.append(now)
    assert all(b - a >= 1.0 for a, b in zip(sent, sent[3:], strict=False))
    assert sent[-1] <= 3.0 * 1.2


def test_typing_gives_way_before_messages_do() -> None:
    pacer = Pacer(Pace(bot=Rate(4, 1.0), chat=Rate(1, 1.0)))
    assert pacer.may_sign("1", 0.0)
    for chat in ("a", "b", "c"):
        pacer.book(chat, 0.0)
    assert not pacer.may_sign("1", 0.0)
    assert pacer.wait("1", 0.0) == 0.0
    assert pacer.wait("a", 0.0) > 0.9


def test_groups_have_a_window_of_their_own() -> None:
    pacer = Pacer(Pace(group=Rate(1, 60.0)))
    pacer.book("-1", 0.0, group=True)
    assert pacer.wait("-1", 1.0, group=True) > 50
    assert pacer.wait("-2", 1.0, group=True) == 0
    assert pacer.wait("3", 1.0) == 0


def _row(attempts: int = 0, created: float = 0.0) -> OutboxRow:
    return OutboxRow(
        1, "k", Target("t", "1"), Piece("x"), "reply", "sending", False, attempts, created, 0.0, 0.0
    )


@pytest.mark.parametrize(
    ("error", "mode", "deduplicates", "state", "again"),
    [
        (OutcomeUnknown(), "resend", False, "queued", True),
        (OutcomeUnknown(), "drop", False, "dropped", False),
        (OutcomeUnknown(), "drop", True, "queued", True),
        (NotTaken(retry_after=37), "drop", False, "queued", False),
        (NotTaken(), "resend", False, "queued", False),
        (Unreachable(), "drop", False, "queued", False),
        (Unauthorized(), "resend", False, "queued", False),
        (Rejected(), "resend", False, "dead", False),
    ],
)
def test_D5_the_fate_of_a_row_whose_send_failed(
    error: AdapterError, mode: str, deduplicates: bool, state: str, again: bool
) -> None:
    rules = DeliveryRules("drop" if mode == "drop" else "resend")
    fate = decide(_row(), error, rules, deduplicates=deduplicates, now=1.0, jitter=0.5)
    assert (fate.state, fate.again) == (state, again)


def test_TG_12_D6_a_flood_wait_is_kept_to_and_is_no_failure() -> None:
    fate = decide(
        _row(attempts=3), NotTaken(retry_after=37), DeliveryRules(), deduplicates=False, now=1.0, jitter=0
    )
    assert fate == Fate("queued", 37.0, attempts=3)


def test_D6_after_enough_failures_a_reply_is_a_dead_letter_but_an_outage_is_waited_out() -> None:
    rules = DeliveryRules(attempts=8)
    assert decide(_row(7), NotTaken(), rules, deduplicates=False, now=1.0, jitter=0).state == "dead"
    assert decide(_row(7), Unreachable(), rules, deduplicates=False, now=1.0, jitter=0).state == "queued"
    assert decide(_row(7), Unreachable(), rules, deduplicates=False, now=90_000.0, jitter=0).state == "dead"


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("/help", "help", ""),
        (" /Title  My talk ", "title", "My talk"),
        ("/retry\nnow", "retry", "now"),
    ],
)
def test_commands_are_read(text: str, name: str, arguments: str) -> None:
    found = parse_command(message(text))
    assert found is not None
    assert (found.name, found.arguments, found.line) == (name, arguments, arguments)


def test_a_signature_is_no_part_of_a_commands_line() -> None:
    found = parse_command(message("/link abcd-efgh \r\n\r\nBest regards,\nAna"))
    assert found is not None
    assert (found.line, found.arguments.splitlines()[-1]) == ("abcd-efgh", "Ana")


@pytest.mark.parametrize("text", ["help", "/etc/passwd", "/", "// no", "/9", "a /help"])
def test_what_is_no_command(text: str) -> None:
    assert parse_command(message(text)) is None
    assert parse_command(message("/help", command_text=False)) is None


def test_every_sentence_of_every_language_exists_in_english_and_fills_in() -> None:
    for language, table in SENTENCES.items():
        assert set(table) <= set(SENTENCES["en"])
        for key in table:
            assert say(language, key).strip()
    assert say("de-AT", "stopped") == "Angehalten."
    assert say("xx", "stopped") == "Stopped."
    with pytest.raises(KeyError):
        say("en", "no such sentence")


def test_restarts_come_after_growing_bounded_pauses() -> None:
    pauses = [pause_before(n, 0.5) for n in range(1, 12)]
    assert pauses == sorted(pauses)
    assert pauses[0] == 1.0
    assert pauses[-1] == 60.0


def test_D9_exit_codes_follow_the_reason() -> None:
    for reason, code in (("signal", 0), ("asked", 0), ("yield", 0), ("restart", 75), ("unexpected", 1)):
        stop = Stop()
        stop.ask(reason)  # type: ignore[arg-type]
        assert stop.exit_code == code
    stop = Stop()
    stop.ask("signal")
    stop.force()
    assert stop.exit_code == 1


async def test_PR_01_a_second_signal_cuts_the_drain_and_the_first_does_not() -> None:
    stop, ended = Stop(), asyncio.Event()

    async def drain() -> None:
        try:
            await ended.wait()
        except asyncio.CancelledError:
            cut.set()
            raise

    cut = asyncio.Event()
    stop.ask("signal")
    draining = asyncio.create_task(stop.unless_hurried(drain()))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not draining.done()
    stop.force()
    await draining
    assert cut.is_set()
    ended.set()
    await Stop().unless_hurried(drain())  # its end is waited for


def test_D9_a_lost_terminal_stops_and_a_service_reloads() -> None:
    assert hangs_up(under_service=True, terminal=True) == "reload"
    assert hangs_up(under_service=False, terminal=True) == "stop"
    assert hangs_up(under_service=False, terminal=False) == "reload"
