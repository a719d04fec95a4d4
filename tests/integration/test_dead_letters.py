"""What was given up: listed, tried again once, put away. And what this process cannot answer is left to one that can."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from gateway import letters
from gateway.outbox import Draft, enqueue
from gateway.recovery import ResumeRules
from gateway.retention import Rules, prune
from hermes.adapter import Piece
from hermes.errors import HermesError, OutcomeUnknown, Rejected
from hermes.events import Attachment, Target
from hermes.testing import Answer, FakeAdapter, ScriptedModel
from tests.gatewayrig import OPEN, Rig, rig, until

NO_ROOM = "media: {quota: 0}\n"
DROP = OPEN + "  delivery: {on_unknown: drop}\n"


async def _given_up(g: Rig, count: int = 1) -> list[letters.Letter]:
    async with asyncio.timeout(10):
        while len(found := await letters.listed(g.core.store, 100)) < count:
            await asyncio.sleep(0.005)
    return found


async def _revive(g: Rig, letter_id: str) -> letters.Revived:
    revived: letters.Revived
    (revived,) = await g.core.store.write(letters.revive(letter_id, 1.0))
    g.core.delivery.wake(revived.replies)
    for row in revived.messages:
        g.core.sessions.put(row)
    return revived


async def test_a_refused_reply_is_listed_and_sent_once_when_it_is_tried_again(tmp_path: Path) -> None:
    adapter = FakeAdapter(failures=[Rejected("the chat is closed")])
    async with rig(tmp_path / "home", adapter=adapter) as g:
        await g.send("hello")
        (letter,) = await _given_up(g)
        assert (letter.kind, letter.state, letter.instance, letter.chat) == ("reply", "dead", "telegram", "5")
        assert (letter.reason, letter.text) == ("the chat is closed", "echo: hello")
        await _revive(g, letter.id)
        assert await g.answered(1) == ["echo: hello"]
        with pytest.raises(HermesError, match="no dead letter"):
            await g.core.store.write(letters.revive(letter.id, 2.0))
        await g.quiet()
        assert g.texts == ["echo: hello"]
        assert await letters.listed(g.core.store, 100) == []


async def test_a_reply_that_may_have_arrived_is_marked_when_it_is_tried_again(tmp_path: Path) -> None:
    adapter = FakeAdapter(failures=[OutcomeUnknown("cut")])
    async with rig(tmp_path / "home", config=DROP, adapter=adapter) as g:
        await g.send("hello")
        (letter,) = await _given_up(g)
        assert letter.state == "dropped"
        await _revive(g, letter.id)
        assert await g.answered(2) == ["echo: hello", "(again) echo: hello"]


async def test_a_message_that_was_put_aside_is_answered_when_it_is_tried_again(tmp_path: Path) -> None:
    once = ResumeRules(max_starts=1)
    stuck = ScriptedModel([Answer("never", gate=asyncio.Event())])
    async with rig(tmp_path / "home", model=stuck, rules=once) as g:
        await g.send("poison")
        await until(lambda: g.model.running)
    async with rig(tmp_path / "home", rules=once) as g:
        await g.answered(1)
        (letter,) = await _given_up(g)
        assert (letter.kind, letter.text) == ("message", "poison")
        await _revive(g, letter.id)
        assert (await g.answered(2))[1] == "echo: poison"
        with pytest.raises(HermesError, match="no dead letter"):
            await g.core.store.write(letters.revive(letter.id, 2.0))
        await g.quiet()
        assert await g.rows("SELECT state FROM inbox") == [("answered",)]


async def test_several_are_tried_again_together_or_not_at_all(tmp_path: Path) -> None:
    adapter = FakeAdapter(failures=[Rejected("no"), Rejected("no")])
    async with rig(tmp_path / "home", adapter=adapter) as g:
        await g.send("one")
        await g.send("two")
        found = await _given_up(g, 2)
        jobs = [letters.revive(letter.id, 1.0) for letter in found]
        with pytest.raises(HermesError):
            await g.core.store.write(*jobs, letters.revive("r999", 1.0))
        assert len(await letters.listed(g.core.store, 100)) == 2


async def test_one_that_was_put_away_is_off_the_list_and_not_tried_again(tmp_path: Path) -> None:
    adapter = FakeAdapter(failures=[Rejected("no")])
    async with rig(tmp_path / "home", adapter=adapter) as g:
        await g.send("one")
        (letter,) = await _given_up(g)
        await g.core.store.write(letters.put_away(letter.id, 1.0))
        assert await letters.find(g.core.store, letter.id) is None
        with pytest.raises(HermesError, match="no dead letter"):
            await g.core.store.write(letters.put_away(letter.id, 1.0))
        with pytest.raises(HermesError, match="no dead letter"):
            await g.core.store.write(letters.revive(letter.id, 1.0))
        with pytest.raises(HermesError, match="look like"):
            await letters.find(g.core.store, "12")


async def test_what_came_by_a_platform_that_does_not_run_here_is_left_to_a_process_that_runs_it(
    tmp_path: Path,
) -> None:
    stuck = ScriptedModel([Answer("never", gate=asyncio.Event())])
    async with rig(tmp_path / "home", model=stuck) as g:
        await g.send("cut me")
        await g.send("I wait")
        await until(lambda: g.model.running)
        draft = Draft("k1", Target("telegram", "7"), Piece("on its way"))
        await g.core.store.write(enqueue([draft], 1.0))
    async with rig(tmp_path / "home", instance="other") as g:  # a chat, or `--gateway other`
        await g.quiet()
        assert g.recovered is not None
        assert (g.recovered.turns, g.recovered.waiting, g.recovered.endings) == ([], [], [])
        assert await g.rows("SELECT state FROM outbox") == [("queued",)]
    async with rig(tmp_path / "home") as g:
        assert sorted(await g.answered(3)) == ["echo: I wait", "echo: cut me", "on its way"]


async def test_D12_what_nothing_takes_up_any_more_becomes_a_dead_letter_in_the_end(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", instance="other") as g:
        draft = Draft("k1", Target("telegram", "7"), Piece("on its way"))
        await g.core.store.write(enqueue([draft], 1000.0))
        rules = Rules(inbox_raw=7 * 86_400.0, outbox=30 * 86_400.0, dead_letters=90 * 86_400.0)
        await g.core.store.write(prune(1000.0 + 29 * 86_400.0, rules))
        assert await letters.listed(g.core.store, 10) == []
        await g.core.store.write(prune(1000.0 + 31 * 86_400.0, rules))
        (letter,) = await letters.listed(g.core.store, 10)
        assert letter.reason == "nothing has run its platform since"
        await g.core.store.write(prune(1000.0 + 122 * 86_400.0, rules))
        assert await letters.listed(g.core.store, 10) == []


def test_a_letter_is_named_by_its_kind_and_number() -> None:
    for wrong in ("", "r", "x1", "r1;", "r" + "9" * 30):
        with pytest.raises(HermesError, match="look like"):
            letters.revive(wrong, 0.0)


async def _swept(g: Rig) -> int:
    """How many files a look through the folder removes which has room for none and thinks that all are old."""
    for path in g.home.media.glob("*/*"):
        await asyncio.to_thread(os.utime, path, (0, 0))
    return await g.core.keeping.tidy()


async def test_a_reply_that_may_have_arrived_still_has_its_file_when_it_is_tried_again(
    tmp_path: Path,
) -> None:
    adapter = FakeAdapter(failures=[OutcomeUnknown("cut")])
    async with rig(tmp_path / "home", config=DROP + NO_ROOM, adapter=adapter) as g:
        file = await g.core.media.put(b"a report", "report.txt")
        draft = Draft("k:0", Target("telegram", "5"), Piece("here", file=file), "send")
        (rows,) = await g.core.store.write(enqueue([draft], 1.0))
        g.core.delivery.wake(rows)
        (letter,) = await _given_up(g)
        assert (letter.state, letter.files) == ("dropped", ("report.txt",))
        assert await _swept(g) == 0
        await _revive(g, letter.id)
        await g.answered(2)
        assert [data for _, data in adapter.files] == [b"a report"] * 2
        await g.quiet()
        assert await _swept(g) == 1


async def test_a_message_that_was_put_aside_still_has_its_files_when_it_is_tried_again(
    tmp_path: Path,
) -> None:
    once = ResumeRules(max_starts=1)
    adapter = FakeAdapter(contents={"note": b"the word is heron"})
    stuck = ScriptedModel([Answer("never", gate=asyncio.Event())])
    async with rig(tmp_path / "home", model=stuck, rules=once, adapter=adapter) as g:
        await g.send("poison", attachments=(Attachment("document", "note", "note.txt"),))
        await until(lambda: g.model.running)
    async with rig(
        tmp_path / "home", config=OPEN + NO_ROOM, rules=once, adapter=FakeAdapter()
    ) as g:  # fetches nothing
        await g.answered(1)
        (letter,) = await _given_up(g)
        assert await _swept(g) == 0
        await _revive(g, letter.id)
        assert "the word is heron" in (await g.answered(2))[1]
