"""The promises of `hermes.adapter.FileAdapter` and `FetchingAdapter`, kept by every adapter that gives them.

PLATFORMS names them; an adapter that gives one of the promises and is not named there fails here.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.api.adapter import Api
from adapters.discord.adapter import Discord as DiscordAdapter
from adapters.email.adapter import Email as EmailAdapter
from adapters.slack.adapter import Slack as SlackAdapter
from adapters.telegram.adapter import Telegram as TelegramAdapter
from adapters.terminal.adapter import TerminalAdapter
from adapters.webhook.adapter import Webhook
from gateway.outbox import files_to_json, piece_of
from hermes.adapter import Adapter, FetchingAdapter, FileAdapter
from hermes.clock import SystemClock
from hermes.errors import Gone, NotTaken, OutcomeUnknown, Rejected, Unreachable
from hermes.events import Attachment, Event, event_from_json, event_to_json
from hermes.files import FileKind, StoredFile
from tests.contract.discord_platform import Discord
from tests.contract.email_platform import Email
from tests.contract.platforms import Book, Depot, Fake, Filing, Telegram, running
from tests.contract.slack_platform import Slack
from tests.contract.test_adapter import squeezed

PLATFORMS = ("fake", "slack", "email", "discord", "telegram")
"""Platforms whose adapter sends and fetches files; each is made by `opened`."""

MISSING: set[str] = set()
"""Adapters with files whose peers are not tried here yet."""

ADAPTERS: dict[str, type] = {
    "telegram": TelegramAdapter,
    "discord": DiscordAdapter,
    "slack": SlackAdapter,
    "email": EmailAdapter,
    "webhook": Webhook,
    "api": Api,
    "terminal": TerminalAdapter,
}

PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\rIDATx\xdac\xfc\xcf\xc0P\x0f\x00\x04\x85\x01\x80\x84\xa9\x8c!\x00\x00\x00\x00IEND\xaeB`\x82"
)
"""A picture of one point."""
KINDS: dict[FileKind, tuple[str, str, bytes]] = {
    "image": ("point.png", "image/png", PNG),
    "audio": ("tone.mp3", "audio/mpeg", b"ID3\x04\x00\x00\x00\x00\x00\x00" + bytes(200)),
    "voice": ("words.ogg", "audio/ogg", b"OggS\x00\x02" + bytes(200)),
    "video": ("clip.mp4", "video/mp4", b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2" + bytes(200)),
    "document": ("report.pdf", "application/pdf", b"%PDF-1.7\n" + bytes(range(256)) * 4000),
}


async def opened(name: str, depot: Depot, request: pytest.FixtureRequest) -> Filing:
    """The platform `name`, whose adapter finds files in the depot."""
    match name:
        case "fake":
            return Fake(depot)
        case "slack":
            return await Slack.open(depot)
        case "discord":
            return await Discord.open(depot)
        case "telegram":
            return await Telegram.open(depot)
        case "email":
            return await Email.open(request.getfixturevalue("dovecot"), depot)
        case _:
            raise AssertionError(f"{name} is not made here yet")


@pytest.fixture(params=PLATFORMS)
async def platform(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Filing]:
    made = await opened(request.param, Depot(tmp_path), request)
    yield made
    await made.adapter.aclose()
    if isinstance(made, Email | Slack | Discord | Telegram):
        await made.aclose()


@pytest.fixture
def sender(platform: Filing) -> FileAdapter:
    assert isinstance(platform.adapter, FileAdapter)
    return platform.adapter


async def send(
    platform: Filing, file: StoredFile, caption: str = "", *, again: bool = False, key: str = "k"
) -> list[str]:
    """The file in its pieces; the platform's names of the messages."""
    adapter = platform.adapter
    assert isinstance(adapter, FileAdapter)
    pieces = adapter.render_file(file, caption, platform.target)
    sent = [
        await adapter.send(platform.target, piece, key=f"{key}:{i}", again=again and i == 0)
        for i, piece in enumerate(pieces)
    ]
    return [receipt.message_id for receipt in sent]


def test_every_adapter_with_files_is_tried_here() -> None:
    found = {n for n, made in ADAPTERS.items() if hasattr(made, "render_file") or hasattr(made, "fetch")}
    assert found - set(PLATFORMS) <= MISSING


# --- out -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_a_file_of_each_kind_arrives_whole_with_its_words(platform: Filing, kind: FileKind) -> None:
    name, mime, data = KINDS[kind]
    await send(platform, platform.depot.put(data, name, kind, mime), "what you asked for")
    (got,) = platform.got()
    assert got.data == data
    assert "what you asked for" in got.caption
    assert platform.shown() == []


async def test_a_file_keeps_its_name_and_needs_no_words(platform: Filing) -> None:
    await send(platform, platform.depot.put(b"a,b\n", "f\u00fcr Ana (2).csv", "document", "text/csv"))
    assert [(got.name, got.data) for got in platform.got()] == [("f\u00fcr Ana (2).csv", b"a,b\n")]
    assert platform.shown() == []


async def test_a_caption_that_is_too_long_goes_on_as_text(platform: Filing) -> None:
    caption = "some words and more " * 800
    await send(platform, platform.depot.put(b"data", "a.bin"), caption)
    (got,) = platform.got()
    shown = platform.shown()
    assert squeezed(got.caption + "".join(shown)) == squeezed(caption)
    assert all(0 < platform.size(text) <= platform.limit for text in shown)


def test_rendering_a_file_is_pure_and_its_pieces_survive_the_store(
    platform: Filing, sender: FileAdapter
) -> None:
    for kind, (name, mime, data) in KINDS.items():
        file = platform.depot.put(data, name, kind, mime)
        pieces = list(sender.render_file(file, "# Title\n\n**bold** words " * 300, platform.target))
        assert pieces == list(sender.render_file(file, "# Title\n\n**bold** words " * 300, platform.target))
        assert [piece.file for piece in pieces] == [file, *[None] * (len(pieces) - 1)]
        kept = [piece_of(p.text, json.dumps(p.format), files_to_json(p)) for p in pieces]
        assert kept == pieces
    assert sender.largest_file > 0


async def test_a_receipt_names_the_message(platform: Filing) -> None:
    one = await send(platform, platform.depot.put(b"data", "a.bin"))
    two = await send(platform, platform.depot.put(b"more", "b.bin"), key="k2")
    assert len({*one, *two}) == 2


async def test_a_repeat_after_a_lost_answer_shows_once_or_is_marked(platform: Filing) -> None:
    file = platform.depot.put(b"data", "a.bin")
    await platform.lose()
    with pytest.raises(OutcomeUnknown):
        await send(platform, file, "words")
    await send(platform, file, "words", again=True)
    first, *more = platform.got()
    assert first.data == b"data"
    if platform.adapter.capabilities.deduplicates:
        assert more == []
    else:
        assert [got.data for got in more] == [b"data"]
        assert more[0].caption != first.caption
        assert more[0].caption.endswith("words")


async def test_what_was_refused_was_not_shown(platform: Filing) -> None:
    await platform.refuse()
    with pytest.raises(Rejected):
        await send(platform, platform.depot.put(b"data", "a.bin"))
    assert platform.got() == []


async def test_what_cannot_be_reached_was_not_sent(platform: Filing) -> None:
    file = platform.depot.put(b"data", "a.bin")
    await platform.go_away()
    with pytest.raises(Unreachable):
        await send(platform, file)
    assert platform.got() == []


# --- in ------------------------------------------------------------------------------------------------------


async def written(platform: Filing, adapter: Adapter, book: Book, text: str, data: bytes) -> Event:
    """The event of a file that somebody sends."""
    async with running(adapter, book):
        before = len(book.events)
        await platform.write_file(text, "notes.txt", data)
        await book.until(lambda: len(book.events) > before)
    return book.events[-1]


async def fetched(adapter: Adapter, event: Event, attachment: Attachment) -> bytes:
    assert isinstance(adapter, FetchingAdapter)
    return b"".join([chunk async for chunk in adapter.fetch(event, attachment)])


async def test_a_file_that_came_can_be_had_again_and_after_a_restart(platform: Filing) -> None:
    data = bytes(range(256)) * 1000
    event = await written(platform, platform.adapter, Book(), "look at this", data)
    assert (event.text, event.unsupported) == ("look at this", None)
    (attachment,) = event.attachments
    assert attachment.name == "notes.txt"
    assert attachment.size in (None, len(data))
    stored = event_from_json(event_to_json(event))
    assert await fetched(platform.adapter, stored, stored.attachments[0]) == data
    later = platform.build(SystemClock())
    try:
        assert await fetched(later, stored, stored.attachments[0]) == data
    finally:
        await later.aclose()


async def test_a_file_without_words_is_a_message(platform: Filing) -> None:
    event = await written(platform, platform.adapter, Book(), "", b"data")
    assert event.unsupported is None
    assert len(event.attachments) == 1


async def test_a_file_that_is_no_longer_there_is_gone(platform: Filing) -> None:
    event = await written(platform, platform.adapter, Book(), "look", b"data")
    await platform.take_away()
    with pytest.raises(Gone) as gone:
        await fetched(platform.adapter, event, event.attachments[0])
    assert str(gone.value).strip()


async def test_fetching_from_what_cannot_be_reached_may_be_tried_again(platform: Filing) -> None:
    event = await written(platform, platform.adapter, Book(), "look", b"data")
    await platform.go_away()
    if isinstance(platform, Fake):
        platform.adapter.contents = {a.ref: Unreachable() for a in event.attachments}
    with pytest.raises((Unreachable, NotTaken)):
        await fetched(platform.adapter, event, event.attachments[0])
