"""The folder of files: what is put there, how it is called, and what has to go."""

import asyncio
import hashlib
import os
import stat
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.media.folder import Lying, MediaFolder, NotKept
from gateway.media.keeping import Keeping, Named, digests_in, doomed
from gateway.media.names import clean_name, shown_name
from gateway.media.rules import MediaRules, keep_in
from hermes.errors import NotTaken, Rejected, StoreUnavailable
from hermes.files import FileKind, StoredFile
from hermes.home import Home
from hermes.testing import FakeClock

HOUR, DAY = 3600.0, 86_400.0


def kind_of(head: bytes, name: str) -> tuple[FileKind, str]:
    return ("audio", "audio/ogg") if head.startswith(b"OggS") else ("document", "text/plain")


@pytest.fixture
def folder(tmp_path: Path) -> MediaFolder:
    return MediaFolder(Home(tmp_path / "home"), kind_of)


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def lying_in(folder: MediaFolder) -> list[Lying]:
    return await asyncio.to_thread(folder.lying)


def left_over(folder: MediaFolder, root: Path) -> list[str]:
    return [p.name for p in (root / "home" / "media").glob(".in-*")]


async def test_a_file_lies_under_its_digest_and_equal_ones_are_one(
    folder: MediaFolder, tmp_path: Path
) -> None:
    stored = await folder.keep(chunks(b"he", b"", b"llo"), "note.txt")
    digest = hashlib.sha256(b"hello").hexdigest()
    assert stored == StoredFile(digest, "document", "text/plain", "note.txt", 5)
    path = folder.path(stored)
    assert path == tmp_path / "home" / "media" / digest[:2] / digest
    assert path.read_bytes() == b"hello"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (
        stat.S_IMODE(path.parent.stat().st_mode) == stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700
    )
    again = await folder.put(b"hello", "other.txt")
    assert (again.digest, again.name) == (digest, "other.txt")
    copy = tmp_path / "big"
    copy.write_bytes(b"x" * 700_000)
    assert (await folder.put(copy, "big")).size == 700_000
    assert len(await lying_in(folder)) == 2
    assert left_over(folder, tmp_path) == []


async def test_only_audio_can_have_been_spoken(folder: MediaFolder) -> None:
    assert (await folder.put(b"OggS...", "v", spoken=True)).kind == "voice"
    assert (await folder.put(b"OggS...", "v")).kind == "audio"
    assert (await folder.put(b"text", "v", spoken=True)).kind == "document"


async def test_what_is_not_kept_leaves_nothing(folder: MediaFolder, tmp_path: Path) -> None:
    with pytest.raises(NotKept, match="large"):
        await folder.keep(chunks(b"abc", b"def"), "f", limit=5)
    with pytest.raises(NotKept, match="empty"):
        await folder.keep(chunks(), "f")
    with pytest.raises(FileNotFoundError):
        await folder.put(tmp_path / "missing", "f")

    async def breaks() -> AsyncIterator[bytes]:
        yield b"x" * 300_000
        raise RuntimeError("the connection broke")

    with pytest.raises(RuntimeError):
        await folder.keep(breaks(), "f")
    assert await lying_in(folder) == []
    assert left_over(folder, tmp_path) == []
    assert (await folder.keep(chunks(b"abcde"), "f", limit=5)).size == 5


async def test_a_caller_who_is_cancelled_leaves_nothing(folder: MediaFolder, tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 300_000
            begun.set()
            await asyncio.sleep(0)

    task = asyncio.create_task(folder.keep(endless(), "f"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await lying_in(folder) == []
    assert left_over(folder, tmp_path) == []


async def test_an_adapter_hears_in_sentences_why_a_file_is_not_kept(
    folder: MediaFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = keep_in(folder, lambda: MediaRules(largest=5))
    assert (await keep(b"12345", "f")).size == 5
    with pytest.raises(Rejected, match=r"larger than media.largest \(5 bytes\)"):
        await keep(b"123456", "f")
    with pytest.raises(Rejected, match="empty"):
        await keep(b"", "f")
    monkeypatch.setattr("gateway.media.folder._SPARE", 1 << 62)  # no disk has that much
    with pytest.raises(NotTaken, match="room"):
        await keep(b"1", "f")


async def test_a_name_that_is_no_digest_leads_nowhere(folder: MediaFolder) -> None:
    with pytest.raises(FileNotFoundError):
        folder.path(StoredFile("../../etc/passwd", "document", "text/plain", "p", 1))


@pytest.mark.parametrize(
    ("given_", "mime", "name"),
    [
        ("a.pdf", "application/pdf", "a.pdf"),
        ("../../x/../evil.sh", "text/plain", "evil.sh"),
        ("C:\\docs\\Plan.docx", "", "Plan.docx"),
        ("a\nb\u202e\x00.txt", "text/plain", "a b .txt"),
        ("", "application/pdf", "file.pdf"),
        ("...", "image/jpeg", "file.jpg"),
        ("", "application/octet-stream", "file"),
        ("n" * 300 + ".tar", "", "n" * 96 + ".tar"),
    ],
)
def test_names_are_one_line_and_no_path(given_: str, mime: str, name: str) -> None:
    found = clean_name(given_, mime)
    assert found == name or (name == "file" and found.startswith("file"))


@given(st.text(max_size=300))
def test_any_name_is_one_short_line(text: str) -> None:
    name = clean_name(text, "application/pdf")
    assert 0 < len(name) <= 100
    assert "/" not in name
    assert name.isprintable() or any(c.isspace() for c in name)
    assert "\n" not in name
    assert not set('[]<>"') & set(shown_name(name))


# -- what has to go -------------------------------------------------------------------------------


def lying(digest: str, size: int, age: float, now: float = 100 * DAY) -> Lying:
    return Lying(digest, Path("/nowhere"), size, now - age)


def gone(files: list[Lying], named: Named, **rules: float) -> list[str]:
    found = replace(MediaRules(quota=1000, keep=30 * DAY), **rules)  # type: ignore[arg-type]
    return [f.digest for f in doomed(files, named, found, 100 * DAY)]


def test_what_nothing_names_goes_after_a_day_and_what_is_held_never() -> None:
    files = [
        lying("fresh", 1, HOUR),
        lying("orphan", 1, 2 * DAY),
        lying("held", 1, 90 * DAY),
        lying("said", 1, 20 * DAY),
    ]
    assert gone(files, Named({"held"}, {"said"})) == ["orphan"]
    assert gone(files, Named({"held"}, set())) == ["orphan", "said"]


def test_over_the_quota_the_oldest_go_and_those_of_recent_messages_last() -> None:
    files = [
        lying("said-old", 400, 9 * DAY),
        lying("orphan", 400, 20 * HOUR),
        lying("said-new", 400, DAY),
        lying("held", 400, 20 * DAY),
        lying("just-put", 400, 60.0),
    ]
    named = Named({"held"}, {"said-old", "said-new"})
    assert gone(files, named, quota=2000) == []
    assert gone(files, named, quota=1600) == ["orphan"]
    assert gone(files, named, quota=1200) == ["orphan", "said-old"]
    assert gone(files, named, quota=0) == ["orphan", "said-old", "said-new"]


@given(
    st.lists(st.tuples(st.integers(1, 500), st.floats(0, 60 * DAY)), max_size=12),
    st.sets(st.integers(0, 11)),
    st.sets(st.integers(0, 11)),
    st.integers(0, 3000),
)
def test_no_rule_takes_what_is_held_or_more_than_it_must(
    files: list[tuple[int, float]], held: set[int], recent: set[int], quota: int
) -> None:
    all_ = [lying(str(i), size, age) for i, (size, age) in enumerate(files)]
    named = Named({str(i) for i in held}, {str(i) for i in recent})
    going = gone(all_, named, quota=quota)
    assert not set(going) & set(named.held)
    assert len(going) == len(set(going))
    left = sum(f.size for f in all_ if f.digest not in going)
    free = [
        f for f in all_ if f.digest not in going and f.digest not in named.held and 100 * DAY - f.at > 600
    ]
    assert left <= quota or free == []


async def test_tidying_removes_and_forgets_but_not_what_was_put_there_again(
    folder: MediaFolder, tmp_path: Path
) -> None:
    clock = FakeClock(start=1_700_000_000.0)
    files = [await folder.put(text, "f") for text in (b"one", b"two", b"three")]
    for file in files:
        os.utime(folder.path(file), (0, clock.time() - 2 * DAY))
    cut = tmp_path / "home" / "media" / ".in-cut.tmp"
    cut.write_bytes(b"half")
    os.utime(cut, (0, clock.time() - 2 * HOUR))
    forgotten: list[str] = []

    async def named(since: float) -> Named:
        assert since == clock.time() - MediaRules().keep
        return Named({files[0].digest}, set())

    async def forget(digests: Sequence[str]) -> None:
        forgotten.extend(digests)

    keeping = Keeping(folder, clock, MediaRules, named, forget)
    seen = await lying_in(folder)
    os.utime(folder.path(files[1]), (0, clock.time()))  # put there again while the others are looked at
    assert await asyncio.to_thread(folder.remove, [f for f in seen if f.digest == files[1].digest]) == []
    assert await keeping.tidy() == 1
    assert forgotten == [files[2].digest]
    assert {f.digest for f in await lying_in(folder)} == {files[0].digest, files[1].digest}
    assert folder.used == len(b"one") + len(b"two")
    assert not cut.exists()


async def test_a_crowded_folder_makes_room_or_takes_nothing_more(folder: MediaFolder) -> None:
    clock = FakeClock(start=1_700_000_000.0)

    store_is_away = False

    async def named(since: float) -> Named:
        if store_is_away:
            raise StoreUnavailable
        return Named(held, set())

    async def forget(digests: Sequence[str]) -> None:
        pass

    held: set[str] = set()
    keeping = Keeping(folder, clock, lambda: MediaRules(quota=10), named, forget)
    assert await keeping.has_room()
    files = [await folder.put(bytes([i]) * 10, "f") for i in range(3)]
    for file in files:
        os.utime(folder.path(file), (0, clock.time() - HOUR))
    held |= {f.digest for f in files}
    assert not await keeping.has_room()
    held.clear()
    store_is_away = True
    assert not await keeping.has_room()
    store_is_away = False
    assert await keeping.has_room()
    assert folder.used == 10


def test_digests_are_found_in_stored_json() -> None:
    digest = "a" * 64
    assert digests_in(f'{{"file":{{"digest":"{digest}"}}}}') == [digest]
    assert digests_in(f'{{"digest": "{digest}"}}') == [digest]
    assert digests_in('{"text":"a digest of it"}') == []
