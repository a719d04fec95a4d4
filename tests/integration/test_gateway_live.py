"""Answers that grow: what stands in the chat in the end is one message, the final one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from gateway.live import Sketch
from hermes.adapter import Capabilities, Pace, Piece, Receipt
from hermes.agent import TextDelta, TextReset
from hermes.config import Rate
from hermes.errors import NotTaken, OutcomeUnknown
from hermes.events import Target
from hermes.messages import ToolCall
from hermes.model import Completion
from hermes.testing import Answer, FakeAdapter, ScriptedModel
from tests.gatewayrig import OPEN, Rig, rig


def _growing() -> FakeAdapter:
    return FakeAdapter(capabilities=Capabilities(edits=True, edit_every=0.05, edit_every_group=0.05))


class Slow(ScriptedModel):
    """Gives its words one by one, each when `step` is set anew."""

    def __init__(self, *words: str) -> None:
        super().__init__()
        self.words = words
        self.steps = [asyncio.Event() for _ in words]

    async def _answer(self, answer: Answer, on_text: Callable[[str], None]) -> Completion:
        for word, step in zip(self.words, self.steps, strict=True):
            await step.wait()
            on_text(word)
        return await super()._answer(Answer("".join(self.words)), lambda _: None)


async def _shows(g: Rig, words: str) -> None:
    async with asyncio.timeout(10), g.adapter.on_sent:
        await g.adapter.on_sent.wait_for(lambda: any(words in text for text in g.adapter.screen.values()))


async def test_an_answer_grows_in_one_message_and_the_final_one_takes_its_place(tmp_path: Path) -> None:
    model, adapter = Slow("one ", "two ", "three"), _growing()
    async with rig(tmp_path / "home", model=model, adapter=adapter) as g:
        await g.send("count")
        model.steps[0].set()
        await _shows(g, "one")
        model.steps[1].set()
        await _shows(g, "one two")
        model.steps[2].set()
        await _shows(g, "one two three")
        await g.quiet()
        assert g.adapter.screen == {"1": "one two three"}
        assert len(g.adapter.sent) == 1
        assert await g.rows("SELECT kind, state, edits FROM outbox ORDER BY id") == [
            ("live", "sent", None),
            ("reply", "sent", "1"),
        ]


async def test_a_quick_answer_comes_as_one_message(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", adapter=_growing()) as g:
        await g.send("hi")
        await g.answered(1)
        await g.quiet()
        assert (g.adapter.screen, g.adapter.edits) == ({"1": "echo: hi"}, [])


async def test_a_growing_message_that_is_gone_is_sent_anew(tmp_path: Path) -> None:
    model, adapter = Slow("one ", "two"), _growing()
    async with rig(tmp_path / "home", model=model, adapter=adapter) as g:
        await g.send("count")
        model.steps[0].set()
        await _shows(g, "one")
        adapter.screen.clear()
        model.steps[1].set()
        await _shows(g, "one two")
        await g.quiet()
        assert g.adapter.screen == {"2": "one two"}


async def test_what_is_longer_than_a_message_goes_on_in_the_next(tmp_path: Path) -> None:
    model, adapter = Slow("aaaa", "bbbbbbb"), _growing()
    adapter.limit = 5
    async with rig(tmp_path / "home", model=model, adapter=adapter) as g:
        await g.send("x")
        model.steps[0].set()
        await _shows(g, "aaaa")
        model.steps[1].set()
        await g.quiet()
        assert list(g.adapter.screen.values()) == ["aaaab", "bbbbb", "b"]


async def test_a_tool_shows_as_a_line_that_the_answer_replaces(tmp_path: Path) -> None:
    gate = asyncio.Event()
    call = ToolCall("c1", "todo", {"todos": []}, "{}")
    model = ScriptedModel([Answer(tool_calls=(call,)), Answer("done", gate=gate)])
    async with rig(tmp_path / "home", model=model, adapter=_growing()) as g:
        await g.send("plan")
        await _shows(g, "todo")
        gate.set()
        await _shows(g, "done")
        await g.quiet()
        assert g.adapter.screen == {"1": "done"}


async def test_off_means_off(tmp_path: Path) -> None:
    model = Slow("one ", "two")
    config = OPEN + "display: {live: off}\n"
    async with rig(tmp_path / "home", model=model, adapter=_growing(), config=config) as g:
        await g.send("count")
        model.steps[0].set()
        model.steps[1].set()
        await g.answered(1)
        await g.quiet()
        assert (g.adapter.screen, len(g.adapter.sent)) == ({"1": "one two"}, 1)


async def test_a_stop_is_said_in_the_message_that_grew(tmp_path: Path) -> None:
    model = Slow("one ", "two")
    async with rig(tmp_path / "home", model=model, adapter=_growing()) as g:
        await g.send("count")
        model.steps[0].set()
        await _shows(g, "one")
        await g.send("/stop")
        await _shows(g, "Stopped.")
        await g.quiet()
        assert list(g.adapter.screen.values()) == ["Stopped."]


async def test_an_answer_cut_by_the_end_goes_on_in_its_message(tmp_path: Path) -> None:
    model, adapter = Slow("one ", "two"), _growing()
    async with rig(tmp_path / "home", model=model, adapter=adapter) as g:
        await g.send("count")
        model.steps[0].set()
        await _shows(g, "one")
    async with rig(tmp_path / "home", adapter=adapter) as g:
        await _shows(g, "echo: count")
        await g.quiet()
        assert g.adapter.screen == {"1": "echo: count"}


async def test_a_first_message_with_an_unknown_outcome_is_reported_and_not_sent_again(tmp_path: Path) -> None:
    model, adapter = Slow("one ", "two"), _growing()
    adapter.failures = [OutcomeUnknown("lost")]
    async with rig(tmp_path / "home", model=model, adapter=adapter) as g:
        await g.send("count")
        model.steps[0].set()
        await _shows(g, "one")
        model.steps[1].set()
        await _shows(g, "one two")
        await g.quiet()
        assert list(g.adapter.screen.values())[-1] == "one two"
        assert ("live", "dropped") in await g.rows("SELECT kind, state FROM outbox")


async def test_growing_gives_way_to_a_flood_wait(tmp_path: Path) -> None:
    model, adapter = Slow("one ", "two"), _growing()
    adapter.failures = [NotTaken("flood", retry_after=600)]
    async with rig(tmp_path / "home", model=model, adapter=adapter) as g:
        await g.send("count")
        model.steps[0].set()
        async with asyncio.timeout(10):
            while adapter.failures:
                await asyncio.sleep(0.01)
        model.steps[1].set()
        await _shows(g, "one two")
        await g.quiet()
        assert list(g.adapter.screen.values()) == ["one two"]


async def test_after_a_first_message_with_an_unknown_outcome_no_second_one_is_begun(tmp_path: Path) -> None:
    model, adapter = Slow("one ", "two ", "three ", "four"), _growing()
    adapter.failures = [OutcomeUnknown("lost"), OutcomeUnknown("lost")]
    async with rig(tmp_path / "home", model=model, adapter=adapter) as g:
        await g.send("count")
        model.steps[0].set()
        await _shows(g, "one")
        for step in model.steps[1:3]:
            step.set()
            await asyncio.sleep(0.2)  # four intervals of the platform
        assert len(adapter.sent) == 1
        assert await g.rows("SELECT count(*) FROM outbox WHERE kind = 'live'") == [(1,)]
        adapter.failures = []
        model.steps[3].set()
        await _shows(g, "four")


class Flooded(FakeAdapter):
    """Takes the first message, then asks for a pause at each edit."""

    calls = 0

    async def edit(self, target: Target, message_id: str, piece: Piece) -> Receipt:
        self.calls += 1
        raise NotTaken("flood", retry_after=600)


async def test_D6_edits_keep_the_pause_that_the_platform_asks_for(tmp_path: Path) -> None:
    model = Slow(*(f"w{n} " for n in range(8)))
    adapter = Flooded(capabilities=Capabilities(edits=True, typing=True, edit_every=0.02))
    async with rig(tmp_path / "home", model=model, adapter=adapter) as g:
        await g.send("count")
        model.steps[0].set()
        await _shows(g, "w0")
        for step in model.steps[1:7]:
            step.set()
            await asyncio.sleep(0.1)  # five intervals of the platform
        assert adapter.calls == 1


class Broken(FakeAdapter):
    """Fails in a way that no adapter may."""

    async def send(self, target: Target, piece: Piece, *, key: str, again: bool = False) -> Receipt:
        if ":live:" in key:
            raise ZeroDivisionError
        return await super().send(target, piece, key=key, again=again)


async def test_an_adapters_fault_leaves_no_row_open_and_the_answer_comes(tmp_path: Path) -> None:
    model = Slow("one ", "two")
    adapter = Broken(capabilities=Capabilities(edits=True, edit_every=0.02))
    async with rig(tmp_path / "home", model=model, adapter=adapter) as g:
        await g.send("count")
        model.steps[0].set()
        async with asyncio.timeout(10):
            while await g.rows("SELECT count(*) FROM outbox WHERE state = 'dropped'") != [(1,)]:
                await asyncio.sleep(0.01)
        model.steps[1].set()
        await g.quiet()
        assert g.adapter.screen == {"1": "one two"}
        assert await g.rows("SELECT count(*) FROM outbox WHERE state = 'sending'") == [(0,)]


async def test_what_did_not_find_room_is_shown_when_there_is_room(tmp_path: Path) -> None:
    model = Slow("one ", "two ", "three")
    pace = Pace(chat=Rate(1, 0.4))
    adapter = FakeAdapter(capabilities=Capabilities(edits=True, edit_every=0.02, pace=pace))
    async with rig(tmp_path / "home", model=model, adapter=adapter) as g:
        await g.send("count")
        model.steps[0].set()
        await _shows(g, "one")
        model.steps[1].set()
        await _shows(g, "one two")
        assert len(adapter.edits) == 1


def test_D12_only_what_a_message_can_hold_is_kept_of_an_endless_answer() -> None:
    sketch = Sketch("all")
    news = [sketch.put(TextDelta("x" * 100)) for _ in range(1000)]
    assert news == [True] * 164 + [False] * 836
    assert len(sketch.markdown()) == 16_384
    sketch.put(TextReset())
    assert sketch.put(TextDelta("again"))
    assert sketch.markdown() == "again"
