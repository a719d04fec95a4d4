"""Files that go out with an answer: in order, with the closing transaction, once; and long answers as files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gateway import letters
from hermes.adapter import Capabilities, Piece
from hermes.errors import ModelError, Rejected
from hermes.events import Target
from hermes.files import StoredFile
from hermes.messages import ToolCall
from hermes.testing import Answer, FakeAdapter, ScriptedModel
from tests.gatewayrig import OPEN, Rig, message, rig

TRUSTED = OPEN.replace('["*"]', '["5"]')
LONG = TRUSTED + "display: {long_reply: file, long_reply_after: 2}\n"


def sending(*paths: str, **more: str) -> Answer:
    """An answer that calls `send_file` for each path."""
    calls = [ToolCall(f"c{i}", "send_file", {"path": path, **more}, "{}") for i, path in enumerate(paths)]
    return Answer(tool_calls=tuple(calls))


def workspace(root: Path, **files: str | bytes) -> None:
    folder = root / "home" / "workspace"
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}.txt").write_bytes(data.encode() if isinstance(data, str) else data)


def results(model: ScriptedModel) -> list[str]:
    return [m.text for m in model.requests[-1].messages if m.role == "tool"]


async def rows(g: Rig) -> list[tuple[str, str, str]]:
    """Kind, state and text of what is in the outbox."""
    found = await g.rows("SELECT kind, state, text FROM outbox ORDER BY id")
    return [(kind, state, text) for kind, state, text in found]


async def test_files_go_out_after_the_words_in_order_each_with_its_caption(tmp_path: Path) -> None:
    workspace(tmp_path, one="1", two="22")
    model = ScriptedModel([sending("one.txt", "two.txt", caption="for **you**"), Answer("Here they are.")])
    async with rig(tmp_path / "home", model=model, config=TRUSTED) as g:
        await g.send("send both")
        assert await g.answered(3) == ["Here they are.", "[one.txt] for **you**", "[two.txt] for **you**"]
        assert [(file.name, data) for file, data in g.adapter.files] == [
            ("one.txt", b"1"),
            ("two.txt", b"22"),
        ]
        assert ["goes out with your answer" in text for text in results(model)] == [True, True]
        await g.quiet()
        assert [kind for kind, _, _ in await rows(g)] == ["reply", "file", "file"]


async def test_what_is_sent_is_the_file_as_it_was_when_it_was_asked_for(tmp_path: Path) -> None:
    workspace(tmp_path, one="before")
    gate = asyncio.Event()
    model = ScriptedModel([sending("one.txt"), Answer("done", gate=gate)])
    async with rig(tmp_path / "home", model=model, config=TRUSTED) as g:
        await g.send("send it")
        async with asyncio.timeout(10):
            while len(model.requests) < 2:
                await asyncio.sleep(0.001)
        assert await rows(g) == []  # nothing before the turn's end
        workspace(tmp_path, one="after")
        gate.set()
        await g.answered(2)
        assert [data for _, data in g.adapter.files] == [b"before"]


async def test_a_turn_that_goes_on_after_a_kill_sends_its_files_once(tmp_path: Path) -> None:
    workspace(tmp_path, one="1")
    stuck = ScriptedModel([sending("one.txt"), Answer("never", gate=asyncio.Event())])
    async with rig(tmp_path / "home", model=stuck, config=TRUSTED) as g:
        await g.send("send it")
        async with asyncio.timeout(10):
            while len(stuck.requests) < 2:
                await asyncio.sleep(0.001)
        (tmp_path / "home" / "workspace" / "one.txt").unlink()
    async with rig(tmp_path / "home", model=ScriptedModel([Answer("done")]), config=TRUSTED) as g:
        assert await g.answered(2) == ["done", "[one.txt]"]
        await g.quiet()
        assert [data for _, data in g.adapter.files] == [b"1"]
    async with rig(tmp_path / "home", config=TRUSTED) as g:
        await g.quiet()
        assert g.texts == []


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("../config.yaml", "outside of the workspace"),
        ("absent.txt", "there is no such file"),
        (".", "is a folder"),
        ("empty.txt", "empty"),
        ("big.txt", "at most"),
    ],
)
async def test_what_cannot_be_sent_is_told_to_the_model(tmp_path: Path, path: str, told: str) -> None:
    workspace(tmp_path, empty="", big=b"x" * 101)
    model = ScriptedModel([sending(path), Answer("sorry")])
    async with rig(
        tmp_path / "home", model=model, config=TRUSTED, adapter=FakeAdapter(largest_file=100)
    ) as g:
        await g.send("send it")
        assert await g.answered(1) == ["sorry"]
        assert told in results(model)[0], results(model)
        await g.quiet()
        assert g.texts == ["sorry"]


async def test_where_the_answer_goes_nowhere_the_tool_says_so(tmp_path: Path) -> None:
    workspace(tmp_path, one="1")
    model = ScriptedModel([sending("one.txt"), sending("none.txt"), Answer("look there")])
    async with rig(tmp_path / "home", model=model, config=TRUSTED) as g:
        await g.deliver(replace(message("send it"), reply_to=()))
        await g.quiet()
        told = results(model)
        assert "No file can be sent in this conversation" in told[0]
        assert "no such file" in told[1]  # so nobody is told that it lies there
        assert await rows(g) == []


async def test_a_turn_without_an_answer_sends_no_files(tmp_path: Path) -> None:
    workspace(tmp_path, one="1")
    model = ScriptedModel([sending("one.txt"), Answer(error=ModelError("no", kind="auth"))])
    async with rig(tmp_path / "home", model=model, config=TRUSTED) as g:
        await g.send("send it")
        (told,) = await g.answered(1)
        assert "key" in told
        await g.quiet()
        assert g.adapter.files == []


async def test_a_file_that_is_gone_is_a_dead_letter_and_goes_out_when_it_is_back(tmp_path: Path) -> None:
    workspace(tmp_path, one="1")
    adapter = FakeAdapter(failures=[Rejected("not now"), Rejected("not now")])
    model = ScriptedModel([sending("one.txt"), Answer("here")])
    async with rig(tmp_path / "home", model=model, config=TRUSTED, adapter=adapter) as g:
        await g.send("send it")
        await g.quiet()
        words, file = sorted(await letters.listed(g.core.store, 9), key=lambda letter: letter.id)
        assert (words.files, file.files, file.text) == ((), ("one.txt",), "")
        (kept,) = (tmp_path / "home" / "media").glob("??/*")
        data = kept.read_bytes()
        kept.unlink()
        await _retry(g, file.id)
        await g.quiet()
        gone = next(x for x in await letters.listed(g.core.store, 9) if x.files)
        assert gone.reason == "the file one.txt is no longer kept here"
        kept.write_bytes(data)
        await _retry(g, gone.id)
        assert await g.answered(1) == ["[one.txt]"]


async def _retry(g: Rig, letter_id: str) -> None:
    (revived,) = await g.core.store.write(letters.revive(letter_id, 1.0))
    g.core.delivery.wake(revived.replies)


class Mail(FakeAdapter):
    """A platform where an answer and its files are one message."""

    def render_reply(
        self, markdown: str, files: Sequence[tuple[StoredFile, str]], target: Target
    ) -> Sequence[Piece]:
        first, *more = (file for file, _ in files)
        words = [markdown, *(f"{file.name}: {caption}" for file, caption in files if caption)]
        return [Piece("\n".join(words), file=first, more=tuple(more))]


async def test_where_an_answer_and_its_files_are_one_message_they_go_out_as_one(tmp_path: Path) -> None:
    workspace(tmp_path, one="1", two="22")
    model = ScriptedModel([sending("one.txt", "two.txt"), Answer("Both:")])
    async with rig(tmp_path / "home", model=model, config=TRUSTED, adapter=Mail()) as g:
        await g.send("send both")
        assert await g.answered(1) == ["[one.txt] [two.txt] Both:"]
        await g.quiet()
        assert [data for _, data in g.adapter.files] == [b"1", b"22"]
        assert len(g.texts) == 1


async def test_a_target_without_files_is_told_what_it_does_not_get(tmp_path: Path) -> None:
    workspace(tmp_path, one="1" * 50)
    gate = asyncio.Event()
    model = ScriptedModel([sending("one.txt"), Answer("here", gate=gate)])
    async with rig(tmp_path / "home", model=model, config=TRUSTED) as g:
        await g.send("send it")
        async with asyncio.timeout(10):
            while len(model.requests) < 2:
                await asyncio.sleep(0.001)
        g.adapter.largest_file = 40  # the platform takes less by now
        gate.set()
        told = "(Not sent here, since this platform takes no such file: one.txt)"
        assert await g.answered(1) == [f"here\n\n{told}"]
        await g.quiet()
        assert g.adapter.files == []


# --- long answers ---------------------------------------------------------------------------------


async def test_a_long_answer_is_its_beginning_and_a_file(tmp_path: Path) -> None:
    text = "The short of it.\n\n" + "\n\n".join(f"paragraph {n} " * 20 for n in range(20))
    adapter = FakeAdapter(limit=1500)
    async with rig(tmp_path / "home", model=ScriptedModel([Answer(text)]), config=LONG, adapter=adapter) as g:
        await g.send("tell me all")
        words, file = await g.answered(2)
        assert words.startswith("The short of it.\n\nparagraph 0")
        assert words.endswith("\n\n(The whole answer is in the file.)")
        assert file == "[answer.md]"
        assert [data.decode() for _, data in adapter.files] == [text.strip()]
        await g.quiet()
        assert len(g.texts) == 2


async def test_an_answer_that_is_not_long_and_one_where_it_is_off_are_messages(tmp_path: Path) -> None:
    for config, count in ((LONG, 2), (TRUSTED, 4)):
        adapter = FakeAdapter(limit=10)
        model = ScriptedModel([Answer("x" * 10 * count)])
        async with rig(tmp_path / f"home{count}", model=model, config=config, adapter=adapter) as g:
            await g.send("go")
            await g.answered(count)
            await g.quiet()
            assert g.texts == ["x" * 10] * count


async def test_an_answer_that_grew_ends_as_its_beginning_and_a_file(tmp_path: Path) -> None:
    adapter = FakeAdapter(limit=40, capabilities=Capabilities(edits=True, edit_every=0.01))
    gate = asyncio.Event()
    model = ScriptedModel([sending("one.txt"), Answer("word " * 100, gate=gate, chunks=5)])
    workspace(tmp_path, one="1")
    async with rig(tmp_path / "home", model=model, config=LONG, adapter=adapter) as g:
        await g.send("go")
        await g.answered(1)  # the tool's line began the message
        gate.set()
        await g.quiet()
        assert [file.name for file, _ in adapter.files] == ["answer.md", "one.txt"]
        assert adapter.screen["1"].startswith("word word")
