"""Messages that their senders change or take back after they were taken."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from hermes.adapter import Capabilities
from hermes.errors import StoreUnavailable
from hermes.events import Attachment, Deleted, Event
from hermes.messages import ToolCall
from hermes.testing import Answer, FakeAdapter, FakeClock, ScriptedModel
from tests.gatewayrig import OPEN, Rig, message, rig


def _full_disk(connection: sqlite3.Connection) -> None:
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")


FILE = Attachment("document", "1", "wrong.txt", "text/plain", 7)
CALL = ToolCall("c1", "todo", {"todos": []}, "{}")
RERUN = OPEN.replace("gateway:", "gateway:\n  edits: rerun")


def changed(event: Event, text: str, revision: int = 1) -> Event:
    """The event as its sender changed it."""
    return replace(event, text=text, edited=True, dedupe_key=f"{event.dedupe_key}:{revision}")


def gated(*texts: str) -> tuple[ScriptedModel, asyncio.Event]:
    """A model whose first answer waits for the gate."""
    gate = asyncio.Event()
    first, *others = texts
    return ScriptedModel([Answer(first, gate=gate), *map(Answer, others)]), gate


async def asked(g: Rig, count: int) -> None:
    async with asyncio.timeout(10):
        while len(g.model.requests) < count:
            await asyncio.sleep(0.001)


async def test_an_edit_of_a_message_that_waits_takes_its_place_also_over_a_kill(tmp_path: Path) -> None:
    model, _ = gated("never")
    typo, next_one = message("teh"), message("next")
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("first")
        await asked(g, 1)
        await g.deliver(typo)
        await g.deliver(next_one)
        verdict = await g.deliver(changed(typo, "the"))
        assert (verdict.kind, verdict.reason) == ("ignored", "edited")
    async with rig(tmp_path / "home") as g:
        assert await g.answered(3) == ["echo: first", "echo: the", "echo: next"]
        await g.quiet()
        assert len(g.texts) == 3


async def test_an_edit_of_a_message_that_waits_for_the_rate_takes_its_place_and_comes_no_sooner(
    tmp_path: Path,
) -> None:
    clock, wrong = FakeClock(), replace(message("read it"), attachments=(FILE,))
    config = OPEN.replace('limits: {rate: "off"}', 'limits: {rate: "1/h", backlog: 5}')
    async with rig(tmp_path / "home", config=config, clock=clock) as g:
        await g.send("first")
        await g.answered(1)
        await g.deliver(wrong)
        await g.deliver(changed(replace(wrong, attachments=()), "read nothing"))
        await clock.advance(60)
        assert len(g.texts) == 1
        await clock.advance(3601)
        assert (await g.answered(2))[1] == "echo: read nothing"
        await g.quiet()
        assert len(g.texts) == 2


async def test_an_edit_of_a_message_that_waits_is_what_this_process_answers(tmp_path: Path) -> None:
    model, gate = gated("one")
    typo = message("teh")
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("first")
        await asked(g, 1)
        await g.deliver(typo)
        await g.deliver(changed(typo, "the"))
        await g.deliver(changed(typo, "the end", 2))
        gate.set()
        assert await g.answered(2) == ["one", "echo: the end"]
        await g.quiet()
        assert await g.rows("SELECT state FROM inbox ORDER BY id") == [("answered",), ("answered",)]


async def test_a_file_that_is_replaced_or_taken_back_while_its_message_waits_is_not_read(
    tmp_path: Path,
) -> None:
    model, gate = gated("one")
    wrong = replace(message("read it"), attachments=(FILE,))
    secret = replace(message("look"), attachments=(FILE,))
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("first")
        await asked(g, 1)
        await g.deliver(wrong)
        await g.deliver(secret)
        right = replace(changed(wrong, "read it"), attachments=(replace(FILE, name="right.txt"),))
        await g.deliver(right)
        await g.deliver(replace(changed(secret, "look"), attachments=()))
        gate.set()
        await g.answered(3)
        second, third = (model.requests[n].messages[-1].text for n in (1, 2))
        assert "right.txt" in second
        assert "wrong.txt" not in second
        assert third == "look"


async def test_an_edit_joins_the_turn_that_runs_once(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer(tool_calls=(CALL,), gate=gate), Answer("as corrected")])
    order = message("buy ten")
    async with rig(tmp_path / "home", model=model) as g:
        await g.deliver(order)
        await asked(g, 1)
        await g.deliver(changed(order, "buy two"))
        await g.deliver(changed(order, "buy two"))  # the platform tells it twice
        await g.deliver(changed(order, "buy two", 3))  # a preview was added
        await g.deliver(replace(changed(order, "buy two", 4), attachments=(FILE,)))  # too late
        gate.set()
        assert await g.answered(1) == ["as corrected"]
        await g.quiet()
        said = [m.text for m in model.requests[1].messages if m.role == "user"]
        assert said == ["buy ten", "(I have changed my message. It now says:)\nbuy two"]
        assert await g.rows("SELECT state FROM inbox") == [("answered",)]


@pytest.mark.parametrize("late", ["while the last answer comes", "after it"])
async def test_an_edit_that_comes_too_late_changes_nothing(tmp_path: Path, late: str) -> None:
    model, gate = gated("done")
    order = message("buy ten")
    async with rig(tmp_path / "home", model=model) as g:
        await g.deliver(order)
        await asked(g, 1)
        if late == "after it":
            gate.set()
            await g.answered(1)
            await g.quiet()
        await g.deliver(changed(order, "buy two"))
        gate.set()
        await g.answered(1)
        await g.quiet()
        assert g.texts == ["done"]
        assert len(model.requests) == 1


@pytest.mark.parametrize("when", ["while the turn runs", "after it"])
async def test_rerun_answers_anew_in_the_old_answers_messages(tmp_path: Path, when: str) -> None:
    adapter = FakeAdapter(limit=10, capabilities=Capabilities(edits=True))
    model, gate = gated("an answer in three", "short one")
    order = message("buy ten")
    async with rig(tmp_path / "home", model=model, adapter=adapter, config=RERUN) as g:
        await g.deliver(order)
        await asked(g, 1)
        if when == "while the turn runs":
            await g.deliver(changed(order, "buy two"))
            gate.set()
        else:
            gate.set()
            await g.answered(2)
            await g.quiet()
            await g.deliver(changed(order, "buy two"))
        await asked(g, 2)
        await g.quiet()
        assert [m.text for m in model.requests[1].messages if m.role == "user"] == ["buy two"]
        assert adapter.screen == {"1": "short one", "2": "(Answered above.)"[:10]}
        await g.deliver(changed(order, "buy two"))  # the same edit again
        await g.deliver(changed(order, "buy two", 2))  # and one that changes no word
        await g.quiet()
        assert len(model.requests) == 2
        await g.deliver(replace(changed(order, "buy two", 3), attachments=(FILE,)))
        await asked(g, 3)
        await g.deliver(replace(changed(order, "buy two", 4), attachments=(replace(FILE, ref="new"),)))
        await g.quiet()
        assert len(model.requests) == 3


async def test_rerun_leaves_what_was_answered_before_something_else(tmp_path: Path) -> None:
    order = message("buy ten")
    async with rig(tmp_path / "home", config=RERUN) as g:
        await g.deliver(order)
        await g.answered(1)
        await g.send("and now?")
        await g.answered(2)
        await g.deliver(changed(order, "buy two"))
        await g.deliver(changed(message("never seen"), "still not"))
        await g.quiet()
        assert g.texts == ["echo: buy ten", "echo: and now?"]
        assert not await g.rows("SELECT 1 FROM inbox WHERE closed_at IS NULL")


@pytest.mark.parametrize("config", [OPEN, RERUN], ids=["ignore", "rerun"])
async def test_TG_18_an_edit_runs_no_command(tmp_path: Path, config: str) -> None:
    stop, words = message("/new"), message("hello")
    async with rig(tmp_path / "home", config=config) as g:
        await g.deliver(stop)
        await g.deliver(words)
        await g.answered(2)
        for event in (changed(stop, "/new", 1), changed(words, "/new", 2), changed(stop, "hi", 3)):
            assert (await g.deliver(event)).kind in ("ignored", "accepted")
        await g.quiet()
        assert len(g.texts) == 2


@pytest.mark.parametrize("config", [OPEN, RERUN], ids=["ignore", "rerun"])
async def test_a_stranger_gets_no_code_for_an_edit(tmp_path: Path, config: str) -> None:
    async with rig(tmp_path / "home", config=config.replace('allow_from: ["*"], ', "")) as g:
        verdict = await g.deliver(changed(message("hi"), "let me in"))
        assert verdict.kind == "ignored"
        await g.quiet()
        assert g.texts == []
        assert await g.rows("SELECT * FROM pairings") == []


async def test_a_message_that_is_taken_back_while_it_waits_is_dropped(tmp_path: Path) -> None:
    model, gate = gated("one")
    regretted = message("regretted")
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("first")
        await asked(g, 1)
        await g.deliver(regretted)
        await g.send("last")
        gone = Deleted("5", regretted.message_id or "")
        for _ in range(2):
            (verdict,) = await g.core.intake("telegram").take([gone])
            assert (verdict.kind, verdict.reason) == ("ignored", "deleted")
        gate.set()
        assert await g.answered(2) == ["one", "echo: last"]
        await g.quiet()
        assert await g.rows("SELECT state FROM inbox ORDER BY id") == [
            ("answered",),
            ("stopped",),
            ("answered",),
        ]


async def test_a_deletion_that_cannot_be_stored_did_not_happen(tmp_path: Path) -> None:
    model, gate = gated("one")
    kept = message("kept")
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("first")
        await asked(g, 1)
        await g.deliver(kept)
        await g.send("last")
        await g.core.store.write(_full_disk)
        gone, long = Deleted("5", kept.message_id or ""), message("x" * 20_000)
        with pytest.raises(StoreUnavailable):
            await g.core.intake("telegram").take([gone, long])
        await g.core.store.wait_healthy()
        gate.set()
        assert await g.answered(3) == ["one", "echo: kept", "echo: last"]
