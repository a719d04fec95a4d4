"""The promise of `hermes.adapter.Adapter`, kept by every adapter that there is."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.adapter import Adapter, Piece
from hermes.clock import SystemClock
from hermes.errors import AdapterError, OutcomeUnknown, Rejected, Unreachable
from hermes.events import Event, Target, Unparsable
from hermes.testing import FakeClock
from tests.contract.discord_platform import Discord
from tests.contract.email_platform import Email
from tests.contract.platforms import (
    Book,
    Depot,
    Fake,
    Memory,
    Platform,
    Receiving,
    Telegram,
    running,
    unsendable,
)
from tests.contract.slack_platform import Slack
from tests.integration.telegram_desk import pass_time
from tests.peers.telegram import TelegramPeer

TEXTS = {
    "short": "hello",
    "words": "some words and more " * 1500,
    "lines": "one line\n\nanother line\n" * 700,
    "unbroken": "x" * 20_000,
    "emoji": "\U0001f3b2" * 9_000,
    "clusters": "\U0001f469\u200d\U0001f680 e\u0301 " * 2_000,
    "han": "\u6f22\u5b57\u304b\u306a" * 3_000,
    "brackets": "if a<b & c>d then [x] (y) " * 700,
}


@pytest.fixture(params=["fake", "telegram", "email", "slack", "discord", "memory"])
async def platform(
    request: pytest.FixtureRequest, telegram_peer: TelegramPeer, tmp_path: Path
) -> AsyncIterator[Platform]:
    made: Platform
    match request.param:
        case "fake":
            made = Fake(Depot(tmp_path))
        case "telegram":
            made = Telegram(telegram_peer)
        case "email":
            made = await Email.open(request.getfixturevalue("dovecot"))
        case "slack":
            made = await Slack.open()
        case "discord":
            made = await Discord.open()
        case _:
            made = Memory()
    yield made
    await _close(made)


@pytest.fixture(params=["telegram", "email", "slack", "discord", "memory"])
async def receiving(request: pytest.FixtureRequest, telegram_peer: TelegramPeer) -> AsyncIterator[Receiving]:
    made: Receiving
    match request.param:
        case "telegram":
            made = Telegram(telegram_peer)
        case "email":
            made = await Email.open(request.getfixturevalue("dovecot"))
        case "slack":
            made = await Slack.open()
        case "discord":
            made = await Discord.open()
        case _:
            made = Memory()
    yield made
    await _close(made)


async def _close(platform: Platform) -> None:
    await platform.adapter.aclose()
    if isinstance(platform, Email | Slack | Discord):
        await platform.aclose()


@pytest.fixture(params=range(3), ids=["webhook", "api", "terminal"])
def unsent(request: pytest.FixtureRequest) -> Adapter:
    number: int = request.param
    return unsendable()[number]


async def send(platform: Platform, markdown: str, key: str = "k") -> None:
    for i, piece in enumerate(platform.adapter.render(markdown, platform.target)):
        await platform.adapter.send(platform.target, piece, key=f"{key}:{i}")


def squeezed(text: str) -> str:
    """White space at a cut may go."""
    return re.sub(r"\s", "", text)


def last_state(book: Book) -> str:
    return book.states[-1][0]


# --- render --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEXTS)
async def test_a_reply_is_shown_whole_in_order_and_within_the_limit(platform: Platform, name: str) -> None:
    await send(platform, TEXTS[name])
    shown = platform.shown()
    assert squeezed("".join(shown)) == squeezed(TEXTS[name])
    assert all(0 < platform.size(text) <= platform.limit for text in shown)


@pytest.mark.parametrize("blank", ["", " ", "\n\t \n"])
async def test_blank_text_gives_no_piece(platform: Platform, unsent: Adapter, blank: str) -> None:
    assert list(platform.adapter.render(blank, platform.target)) == []
    assert list(unsent.render(blank, Target("x", "1"))) == []


async def test_render_is_pure_and_pieces_survive_the_store(platform: Platform) -> None:
    markdown = "# Title\n\n**bold** `code` [link](https://example.org)\n\n```py\nx = 1\n```\n" * 200
    first = list(platform.adapter.render(markdown, platform.target))
    assert first == list(platform.adapter.render(markdown, platform.target))
    stored = [Piece(p.text, json.loads(json.dumps(p.format))) for p in first]
    assert stored == first
    assert all(p.text.strip() for p in first)


# --- send ----------------------------------------------------------------------------------------------------


async def test_send_works_before_run_while_it_runs_and_after_it_was_cancelled(platform: Platform) -> None:
    await send(platform, "before", "a")
    book = Book()
    async with running(platform.adapter, book):
        await book.connected.wait()
        await send(platform, "while", "b")
    await send(platform, "after", "c")
    assert platform.shown() == ["before", "while", "after"]


async def test_a_receipt_names_the_message(platform: Platform) -> None:
    (piece,) = platform.adapter.render("hi", platform.target)
    receipts = [await platform.adapter.send(platform.target, piece, key=key) for key in "ab"]
    assert len({r.message_id for r in receipts}) == 2
    assert platform.shown() == ["hi", "hi"]


async def test_a_repeat_after_a_lost_answer_shows_once_or_is_marked(platform: Platform) -> None:
    (piece, *_) = platform.adapter.render("w" * 30_000, platform.target)  # as full as a piece can be
    await platform.lose()
    with pytest.raises(OutcomeUnknown):
        await platform.adapter.send(platform.target, piece, key="k")
    await platform.adapter.send(platform.target, piece, key="k", again=True)
    first, *more = platform.shown()
    assert first == piece.text
    if platform.adapter.capabilities.deduplicates:
        assert more == []
        assert platform.adapter.capabilities.dedupe_window > 0
    else:
        (repeat,) = more
        assert repeat != first
        assert repeat.endswith(first)
        assert platform.size(repeat) <= platform.limit


async def test_what_was_refused_was_not_shown(platform: Platform) -> None:
    await platform.refuse()
    with pytest.raises(Rejected):
        await send(platform, "no")
    assert platform.shown() == []


async def test_what_cannot_be_reached_was_not_sent_and_can_be_sent_later(platform: Platform) -> None:
    await platform.go_away()
    with pytest.raises(Unreachable):
        await send(platform, "no")
    assert platform.shown() == []


@pytest.mark.parametrize("chat", ["nowhere", "", "0"])
async def test_a_target_that_is_not_there_is_refused(receiving: Receiving, chat: str) -> None:
    (piece,) = receiving.adapter.render("hi", receiving.target)
    with pytest.raises(Rejected):
        await receiving.adapter.send(Target(receiving.target.instance, chat), piece, key="k")


async def test_an_adapter_that_cannot_send_says_so(unsent: Adapter) -> None:
    (piece,) = unsent.render("hi", Target("x", "1"))
    with pytest.raises(AdapterError):
        await unsent.send(Target("x", "1"), piece, key="k")


async def test_typing_raises_nothing_but_what_a_platform_may_raise(platform: Platform) -> None:
    await platform.adapter.typing(platform.target)
    await platform.go_away()
    try:
        await platform.adapter.typing(platform.target)
    except AdapterError:
        assert platform.adapter.capabilities.typing
    assert platform.shown() == []


# --- its life ------------------------------------------------------------------------------------------------


async def test_run_reports_the_connection_and_ends_when_cancelled(platform: Platform) -> None:
    book = Book()
    async with running(platform.adapter, book):
        await book.connected.wait()
        assert last_state(book) == "connected"


async def test_the_answered_ones_are_connected_at_once(unsent: Adapter) -> None:
    book = Book()
    async with running(unsent, book):
        await book.connected.wait()
    await unsent.aclose()
    await unsent.aclose()


async def test_run_may_be_started_anew(platform: Platform) -> None:
    for _ in range(2):
        book = Book()
        async with running(platform.adapter, book):
            await book.connected.wait()


async def test_aclose_may_be_called_twice(platform: Platform) -> None:
    await send(platform, "hi")
    await platform.adapter.aclose()
    await platform.adapter.aclose()


# --- what comes in -------------------------------------------------------------------------------------------


def texts(book: Book) -> list[str]:
    return [event.text for event in book.events]


async def test_every_update_gets_one_item_in_order_and_the_watermark_comes_along(
    receiving: Receiving,
) -> None:
    book = Book()
    await receiving.write("one")
    await receiving.write_nonsense()
    await receiving.write("two")
    async with running(receiving.adapter, book):
        await book.until(lambda: len(book.items) == 3)
        await receiving.write("three")
        await book.until(lambda: len(book.items) == 4)
    assert [type(item) for item in book.items] == [Event, Unparsable, Event, Event]
    assert texts(book) == ["one", "two", "three"]
    assert len({event.dedupe_key for event in book.events}) == 3
    places = {(target.instance, target.chat) for event in book.events for target in event.reply_to}
    assert places == {(receiving.target.instance, receiving.target.chat)}
    marks = [mark for _, mark in book.batches if mark is not None]
    if isinstance(receiving, Slack):  # it repeats what was not acknowledged: there is no place to go on from
        return
    assert len(marks) == len(book.batches)
    assert {mark.instance for mark in marks} == {receiving.target.instance}
    assert len({mark.name for mark in marks}) == 1
    assert len({mark.value for mark in marks}) == len(marks)


async def test_the_next_process_goes_on_from_the_watermark(receiving: Receiving) -> None:
    book = Book()
    await receiving.write("one")
    async with running(receiving.adapter, book):
        await book.until(lambda: texts(book) == ["one"])
    await receiving.write("two")
    adapter = receiving.build(SystemClock())
    try:
        async with running(adapter, book):
            await book.until(lambda: texts(book) == ["one", "two"])
    finally:
        await adapter.aclose()
    assert (texts(book), book.duplicates) == (["one", "two"], 0)


async def test_FT_14_while_nothing_can_be_stored_nothing_is_lost(receiving: Receiving) -> None:
    clock, book = FakeClock(), Book(is_full=True)
    adapter = receiving.build(clock)
    await receiving.write("kept")
    try:
        async with running(adapter, book):
            await pass_time(clock, 600, lambda: book.refusals >= 3)
            assert (book.refusals, book.watermarks) == (3, {})
            book.is_full = False
            await pass_time(clock, 600, lambda: bool(book.events))
    finally:
        await adapter.aclose()
    assert texts(book) == ["kept"]
    assert book.duplicates == 0


async def test_a_wake_up_call_comes_with_each_completed_look(receiving: Receiving) -> None:
    book = Book()
    async with running(receiving.adapter, book):
        await book.connected.wait()
        await receiving.write("one")
        await book.until(lambda: len(book.events) == 1)
        before = book.beats
        await receiving.write("two")
        await book.until(lambda: len(book.events) == 2)
        async with asyncio.timeout(10):
            while book.beats <= before:
                await asyncio.sleep(0)
