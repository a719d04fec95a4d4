"""Files in and out: the adapter against the Bot API peer, and a folder of files."""

import asyncio
import hashlib
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from adapters.telegram.adapter import Telegram
from adapters.telegram.addressing import Account
from adapters.telegram.parse import parse_update
from adapters.telegram.reading import Reading
from hermes.adapter import FetchingAdapter, FileAdapter, Receipt
from hermes.errors import Gone, NotTaken, OutcomeUnknown, Rejected, Unauthorized, Unreachable
from hermes.events import Attachment, Event, Target
from hermes.files import FileKind, StoredFile
from tests.integration.telegram_desk import Desk, opened, running
from tests.peers.telegram import Fault, TelegramPeer, refusal, too_many

CHAT = Target("telegram", "5")
BIG = b"0123456789abcdef" * 40_000  # more than a chunk, more than a socket takes at once
READING = Reading("telegram", Account(424242, "peer_bot"))


@pytest.fixture
def peer(telegram_peer: TelegramPeer) -> TelegramPeer:
    telegram_peer.add_chat(5)
    return telegram_peer


class Folder:
    """Stored files, as the home keeps them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def put(self, data: bytes, kind: FileKind, mime: str, name: str) -> StoredFile:
        digest = hashlib.sha256(data).hexdigest()
        (self.path / digest).write_bytes(data)
        return StoredFile(digest, kind, mime, name, len(data))

    def stored(self, file: StoredFile) -> Path:
        return self.path / file.digest


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def read(update: dict[str, Any]) -> Event:
    parsed = parse_update(update, READING)
    assert isinstance(parsed, Event)
    return parsed


async def fetched(adapter: Telegram, event: Event, attachment: Attachment | None = None) -> bytes:
    return b"".join([chunk async for chunk in adapter.fetch(event, attachment or event.attachments[0])])


# -- in ----------------------------------------------------------------------------------------------


async def test_every_kind_of_file_can_be_fetched(peer: TelegramPeer) -> None:
    desk = Desk()
    peer.push_photo(b"jpeg" * 9, 5, caption="look")
    for kind in ("voice", "audio", "video", "video_note", "animation", "document", "sticker"):
        peer.push_media(kind, kind.encode() * 20_000, 5, name="näme.bin")
    async with running(peer, desk):
        await desk.until(lambda: len(desk.events) == 8)
    async with opened(peer) as adapter:
        assert isinstance(adapter, FetchingAdapter)
        bytes_ = [await fetched(adapter, event) for event in desk.events]
    assert bytes_[0] == b"jpeg" * 9
    assert [len(event.attachments) for event in desk.events] == [1] * 8
    assert [b[:3] for b in bytes_[1:]] == [b"voi", b"aud", b"vid", b"vid", b"ani", b"doc", b"sti"]
    assert [len(b) for b in bytes_[1:]] == [event.attachments[0].size for event in desk.events[1:]]


async def test_a_file_can_be_fetched_again_and_given_up_in_the_middle(peer: TelegramPeer) -> None:
    event = read(peer.push_document(BIG, 5))
    async with opened(peer) as adapter:
        async with aclosing(adapter.fetch(event, event.attachments[0])) as chunks:
            async for _ in chunks:
                break
        assert await fetched(adapter, event) == BIG
        assert await fetched(adapter, event) == BIG


async def test_what_telegram_does_not_give_out_is_gone(peer: TelegramPeer) -> None:
    big = read(peer.push_document(bytes((20 << 20) + 1), 5))
    async with opened(peer) as adapter:
        with pytest.raises(Gone, match="20 MB"):
            await fetched(adapter, big)
        with pytest.raises(Gone, match="file_id"):
            await fetched(adapter, big, Attachment("document", "nowhere"))
        event = read(peer.push_document(b"x", 5))
        peer.faults.add("download", refusal(404, "Not Found"))
        with pytest.raises(Gone):
            await fetched(adapter, event)


async def test_what_may_pass_is_told_apart(peer: TelegramPeer) -> None:
    event = read(peer.push_document(BIG, 5))
    async with opened(peer) as adapter:
        peer.faults.add("getFile", too_many(7), refusal(500, "Internal"), Fault("cut"), Fault("malformed"))
        with pytest.raises(NotTaken) as slow:
            await fetched(adapter, event)
        assert slow.value.retry_after == 7
        with pytest.raises(NotTaken):
            await fetched(adapter, event)
        for _ in range(2):
            with pytest.raises(Unreachable):
                await fetched(adapter, event)
        peer.faults.add("download", refusal(502, "Bad Gateway"), Fault("cut"), Fault("lost"))
        with pytest.raises(NotTaken, match="502"):
            await fetched(adapter, event)
        for _ in range(2):
            with pytest.raises(Unreachable):
                await fetched(adapter, event)
        assert await fetched(adapter, event) == BIG
        await peer.stop()
        with pytest.raises(Unreachable):
            await fetched(adapter, event)
        await peer.start()
    async with opened(peer, token="1:wrong") as adapter:
        with pytest.raises(Unauthorized):
            await fetched(adapter, event)


async def test_a_server_of_ones_own_keeps_files_on_its_disk(peer: TelegramPeer, tmp_path: Path) -> None:
    event = read(peer.push_document(b"local", 5, name="a.txt"))
    (path, _) = peer.world.files[event.attachments[0].ref]
    kept = tmp_path / peer.token / path
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"local")
    outside = tmp_path.parent / "outside.txt"
    outside.write_text("secret")
    (tmp_path / "link.txt").symlink_to(outside)
    peer.world.local_root = f"{tmp_path}/{peer.token}"
    async with opened(peer) as adapter:
        assert adapter.largest_file == 50_000_000
        with pytest.raises(Gone, match="local_files"):
            await fetched(adapter, event)
    async with opened(peer, local_files=str(tmp_path)) as adapter:
        assert adapter.largest_file == 2_000_000_000
        assert await fetched(adapter, event) == b"local"
        peer.world.local_root = f"/var/lib/telegram-bot-api/{peer.token}"  # as a container sees it
        assert await fetched(adapter, event) == b"local"
        for elsewhere in ("../outside.txt", "link.txt", "none.txt", "a\0b", ""):
            peer.world.files[event.attachments[0].ref] = (elsewhere, b"")
            peer.world.local_root = str(tmp_path)
            with pytest.raises(Gone, match="local_files") as caught:
                await fetched(adapter, event)
            assert peer.token not in f"{caught.value!r} {caught.value.__context__!r}"
    assert peer.calls("download") == []


# -- out ---------------------------------------------------------------------------------------------


async def deliver(
    adapter: Telegram, file: StoredFile, caption: str = "", target: Target = CHAT, *, again: bool = False
) -> list[Receipt]:
    pieces = adapter.render_file(file, caption, target)
    return [await adapter.send(target, piece, key=f"k{i}", again=again) for i, piece in enumerate(pieces)]


@pytest.mark.parametrize(
    ("kind", "mime", "shown"),
    [
        ("image", "image/png", "photo"),
        ("image", "image/gif", "animation"),
        ("voice", "audio/ogg", "voice"),
        ("audio", "audio/mpeg", "audio"),
        ("video", "video/mp4", "video"),
        ("document", "text/plain", "document"),
    ],
)
async def test_a_file_is_shown_by_its_kind(
    peer: TelegramPeer, folder: Folder, kind: FileKind, mime: str, shown: str
) -> None:
    file = folder.put(BIG + mime.encode(), kind, mime, 'grüße "1".bin')
    async with opened(peer, stored=folder.stored) as adapter:
        assert isinstance(adapter, FileAdapter)
        (receipt,) = await deliver(adapter, file, "**see**")
    (message,) = peer.chats[5]
    assert (message.media, message.text, message.file_data) == (shown, "see", BIG + mime.encode())
    assert message.entities == [{"type": "bold", "offset": 0, "length": 3}]
    assert message.file_name == "grüße '1'.bin"
    assert receipt == Receipt(str(message.message_id))


async def test_TG_21_a_long_caption_follows_its_image_in_the_topic(
    peer: TelegramPeer, folder: Folder
) -> None:
    peer.add_chat(-100500, topics=[77])
    file, caption = folder.put(b"png", "image", "image/png", "a.png"), "x" * 1500
    async with opened(peer, stored=folder.stored) as adapter:
        await deliver(adapter, file, caption, Target("telegram", "-100500", "77"))
    photo, text = peer.chats[-100500]
    assert (photo.media, photo.text, text.media, text.text) == ("photo", "", None, caption)
    assert {photo.thread_id, text.thread_id} == {77}
    assert "caption" not in peer.calls("sendPhoto")[0].params


async def test_TG_22_a_caption_of_emoji_costs_no_image(peer: TelegramPeer, folder: Folder) -> None:
    one, two = (folder.put(name.encode(), "image", "image/png", name) for name in ("a.png", "b.png"))
    async with opened(peer, stored=folder.stored) as adapter:
        await deliver(adapter, one, "\U0001f3b2" * 600)
        await deliver(adapter, two, "short")
    shown = list(peer.chats[5])
    assert [m.file_data for m in shown if m.media] == [b"a.png", b"b.png"]
    assert [m.text for m in shown] == ["", "\U0001f3b2" * 600, "short"]


@pytest.mark.parametrize("words", ["PHOTO_INVALID_DIMENSIONS", "IMAGE_PROCESS_FAILED"])
async def test_a_photo_that_telegram_refuses_goes_as_a_document(
    peer: TelegramPeer, folder: Folder, words: str
) -> None:
    file = folder.put(b"png", "image", "image/png", "a.png")
    peer.faults.add("sendPhoto", refusal(400, f"Bad Request: {words}"))
    async with opened(peer, stored=folder.stored) as adapter:
        (receipt,) = await deliver(adapter, file, "c")
    (message,) = peer.chats[5]
    assert (message.media, message.text) == ("document", "c")
    assert "sendDocument" in (receipt.note or "")


async def test_what_befalls_a_message_befalls_a_file(peer: TelegramPeer, folder: Folder) -> None:
    file = folder.put(b"png", "image", "image/png", "a.png")
    peer.add_chat(-500)
    peer.migrate(-500, -100777)
    async with opened(peer, stored=folder.stored) as adapter:
        await deliver(adapter, file, "c", Target("telegram", "-500"))
        peer.faults.add("sendPhoto", refusal(400, "Bad Request: can't parse entities: byte 3"), too_many(9))
        with pytest.raises(NotTaken) as slow:
            await deliver(adapter, file, "**c**")
        with pytest.raises(Rejected, match="chat not found"):
            await deliver(adapter, file, "c", Target("telegram", "6"))
    assert slow.value.retry_after == 9
    assert [m.media for m in peer.chats[-100777] if m.from_bot] == ["photo"]
    assert [call.params.get("caption_entities") is None for call in peer.calls("sendPhoto", chat_id=5)] == [
        False,
        True,
    ]


@pytest.mark.parametrize("kind", ["lost", "malformed"])
async def test_a_lost_answer_is_an_unknown_outcome_and_the_repeat_is_marked(
    peer: TelegramPeer, folder: Folder, kind: Any
) -> None:
    file = folder.put(BIG, "image", "image/png", "a.png")
    peer.faults.add("sendPhoto", Fault(kind))
    async with opened(peer, stored=folder.stored) as adapter:
        with pytest.raises(OutcomeUnknown):
            await deliver(adapter, file, "c")
        await deliver(adapter, file, "c", again=True)
        await deliver(adapter, file, again=True)
    assert [m.text for m in peer.chats[5]] == ["c", "↻ c", "↻"]


async def test_an_upload_that_breaks_off_was_not_taken(peer: TelegramPeer, folder: Folder) -> None:
    file = folder.put(bytes(30 << 20), "document", "text/plain", "a.bin")
    peer.faults.add("sendDocument", Fault("cut"))
    async with opened(peer, stored=folder.stored) as adapter:
        with pytest.raises(NotTaken, match="broke"):
            await deliver(adapter, file)
        assert list(peer.chats[5]) == []
        await peer.stop()
        with pytest.raises(Unreachable):
            await deliver(adapter, file)
        await peer.start()


async def test_a_file_that_is_not_there_is_refused_in_a_sentence(peer: TelegramPeer, folder: Folder) -> None:
    file = StoredFile("0" * 64, "document", "text/plain", "a.txt", 3)
    async with opened(peer, stored=folder.stored) as adapter:
        with pytest.raises(Rejected, match="cannot be read"):
            await deliver(adapter, file)
    async with opened(peer) as adapter:
        with pytest.raises(Rejected, match="not there any more"):
            await deliver(adapter, file)
    assert list(peer.chats[5]) == []


async def test_messages_do_not_wait_for_files(peer: TelegramPeer, folder: Folder) -> None:
    peer.add_chat(6)
    file = folder.put(b"x", "document", "text/plain", "a.txt")
    peer.faults.add("sendDocument", Fault("hang", times=20))
    async with opened(peer, stored=folder.stored) as adapter:
        uploads = [asyncio.create_task(deliver(adapter, file)) for _ in range(12)]
        await peer.wait_for(lambda: len(peer.calls("sendDocument")) == 8, 25)
        (piece,) = adapter.render("hi", CHAT)
        await adapter.send(Target("telegram", "6"), piece, key="k")
        for upload in uploads:
            upload.cancel()
        await asyncio.gather(*uploads, return_exceptions=True)
    assert peer.chats[6].texts() == ["hi"]


async def test_PR_11_the_token_is_in_no_log_and_no_error_of_files(
    peer: TelegramPeer, folder: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    event = read(peer.push_document(BIG, 5))
    file = folder.put(b"x", "document", "text/plain", "a.txt")
    errors: list[BaseException] = []
    async with opened(peer, stored=folder.stored) as adapter:
        await fetched(adapter, event)
        await deliver(adapter, file)
        peer.faults.add("download", Fault("cut"), refusal(404, "Not Found"))
        peer.faults.add("sendDocument", Fault("cut"), refusal(502, "Bad Gateway"))
        for _ in range(2):
            with pytest.raises((Gone, Unreachable)) as reading:
                await fetched(adapter, event)
            with pytest.raises((NotTaken, OutcomeUnknown)) as sending:
                await deliver(adapter, file)
            errors += [reading.value, sending.value]
    texts = [record.getMessage() + str(record.exc_text) for record in caplog.records]
    for error in errors:
        chain: BaseException | None = error
        while chain is not None:
            texts.append(f"{chain!s} {chain!r}")
            chain = chain.__cause__ or chain.__context__
    assert any("HTTP Request: GET" in text and "***" in text for text in texts)
    assert [text for text in texts if "peer-token" in text] == []
