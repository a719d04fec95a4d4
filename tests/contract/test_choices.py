"""The promise of `hermes.adapter.ChoosingAdapter`, kept by every adapter that gives it.

PLATFORMS names them; an adapter that gives the promise and is not named there fails here.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.router import SharingRules, session_key
from hermes.adapter import ChoosingAdapter, EditingAdapter, Piece
from hermes.events import Event, event_from_json, event_to_json
from tests.contract.discord_platform import Discord
from tests.contract.platforms import Book, Choosing, Depot, Telegram, running
from tests.contract.slack_platform import Slack
from tests.contract.test_files import ADAPTERS

PLATFORMS = ("telegram", "discord", "slack")
"""Platforms whose adapter puts buttons under messages; each is made by `opened`."""

MISSING: set[str] = set()
"""Adapters with buttons whose peers are not tried here yet."""

QUESTION = "Shall I **really** do it?"
HOSTILE = ["/reset", "<b>&amp;</b>", "[x](y) *z* `c`", "@everyone <@1> <!here>", "\\", '"', "0", "a:b|c"]
WIDE = [f"{n}" + "\u6f22" * 58 + f"{n}" for n in range(8)]


async def opened(name: str, depot: Depot) -> Choosing:
    """The platform `name`."""
    match name:
        case "telegram":
            return await Telegram.open(depot)
        case "discord":
            return await Discord.open(depot)
        case "slack":
            return await Slack.open(depot)
        case _:
            raise AssertionError(f"{name} is not made here yet")


@pytest.fixture(params=PLATFORMS)
async def platform(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Choosing]:
    made = await opened(request.param, Depot(tmp_path))
    yield made
    await made.adapter.aclose()
    if isinstance(made, Telegram | Discord | Slack):
        await made.aclose()


def rendered(platform: Choosing, markdown: str, *choices: str) -> Piece:
    """One piece, with the choices below it if there are any."""
    adapter = platform.adapter
    assert isinstance(adapter, ChoosingAdapter)
    (piece,) = adapter.render(markdown, platform.target)
    return adapter.render_choices(piece, choices, platform.target) if choices else piece


async def offer(platform: Choosing, *choices: str, key: str = "k") -> str:
    """The name that the platform gives the message."""
    piece = rendered(platform, QUESTION, *choices)
    return (await platform.adapter.send(platform.target, piece, key=key)).message_id


async def until_pressed(platform: Choosing, count: int) -> None:
    async with asyncio.timeout(10):
        while platform.pressed() < count:
            await asyncio.sleep(0)


def test_every_adapter_with_buttons_is_tried_here() -> None:
    found = {name for name, made in ADAPTERS.items() if hasattr(made, "render_choices")}
    assert found - set(PLATFORMS) <= MISSING


def test_rendering_them_is_pure_and_the_piece_survives_the_store(platform: Choosing) -> None:
    piece = rendered(platform, QUESTION, "Yes", "No")
    assert piece == rendered(platform, QUESTION, "Yes", "No")
    assert Piece(piece.text, json.loads(json.dumps(piece.format))) == piece


@pytest.mark.parametrize(
    "choices", [["Yes"], ["Yes", "No"], HOSTILE, WIDE], ids=["one", "two", "hostile", "wide"]
)
async def test_each_choice_is_a_button_under_the_words(platform: Choosing, choices: list[str]) -> None:
    await offer(platform, *choices)
    await platform.adapter.send(platform.target, rendered(platform, "no question"), key="k2")
    assert platform.buttons() == [choices, []]
    asked, told = platform.shown()
    assert "really" in asked
    assert told == "no question"


async def test_a_press_is_a_message_of_who_presses_in_the_same_conversation(platform: Choosing) -> None:
    book = Book()
    await offer(platform, "/reset", "No")
    async with running(platform.adapter, book):
        await platform.write("hello")
        await book.until(lambda: len(book.events) == 1)
        await platform.press("/reset")
        await book.until(lambda: len(book.events) == 2)
        await until_pressed(platform, 1)
    written, pressed = book.events
    assert (pressed.text, pressed.command_text, pressed.addressed) == ("/reset", False, True)
    assert "really do it?" in (pressed.quoted or "").replace("*", "")
    assert (pressed.sender.id, pressed.private_notice) == (written.sender.id, written.private_notice)
    rules = SharingRules()
    assert session_key(pressed, "main", rules) == session_key(written, "main", rules)
    assert [(t.chat, t.thread) for t in pressed.reply_to] == [(t.chat, t.thread) for t in written.reply_to]
    assert event_from_json(event_to_json(pressed)) == pressed


async def test_pressed_twice_is_pressed_once_and_another_choice_is_another(platform: Choosing) -> None:
    book = Book()
    await offer(platform, "Yes", "No")
    await offer(platform, "Yes", key="k2")
    async with running(platform.adapter, book):
        for label in ("No", "No", "Yes"):
            await platform.press(label)
        await until_pressed(platform, 3)
    assert [event.text for event in book.events] == ["No", "Yes"]
    assert book.duplicates == 1
    assert [type(item) for item in book.items] == [Event] * 3


async def test_a_change_of_the_message_sets_the_buttons_and_the_next_one_removes_them(
    platform: Choosing,
) -> None:
    adapter = platform.adapter
    assert isinstance(adapter, EditingAdapter)
    plain = rendered(platform, "Shall I")
    message = (await adapter.send(platform.target, plain, key="k")).message_id
    for choices, shown in ((("Yes", "No"), ["Yes", "No"]), (("Maybe",), ["Maybe"]), ((), [])):
        await adapter.edit(platform.target, message, rendered(platform, QUESTION, *choices))
        assert platform.buttons() == [shown]


async def test_nobody_is_told_of_a_press_that_is_not_stored_yet(platform: Choosing) -> None:
    book = Book(gate=asyncio.Event())
    await offer(platform, "Yes")
    async with running(platform.adapter, book):
        await platform.press("Yes")
        await book.taking.wait()
        for _ in range(20):
            await platform.adapter.typing(platform.target)
        assert platform.pressed() == 0
        assert book.gate is not None
        book.gate.set()
        await until_pressed(platform, 1)
    assert [event.text for event in book.events] == ["Yes"]
