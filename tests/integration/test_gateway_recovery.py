"""What a process that ends in the middle leaves behind, and what the next one makes of it.

(Real kills are in tests/crash.)
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from gateway.recovery import ResumeRules
from hermes.errors import NotTaken, OutcomeUnknown
from hermes.messages import ToolCall
from hermes.testing import Answer, FakeAdapter, ScriptedModel
from tests.gatewayrig import OPEN, Rig, message, rig


async def _begun(g: Rig) -> None:
    """Wait until a turn asks the model."""
    async with asyncio.timeout(10):
        while not g.model.running:
            await asyncio.sleep(0.001)


def _stuck(*before: Answer) -> ScriptedModel:
    return ScriptedModel([*before, Answer("never", gate=asyncio.Event())])


async def test_SE_04_a_turn_cut_by_the_end_is_answered_once_after_the_start(tmp_path: Path) -> None:
    event = message("cut me")
    async with rig(tmp_path / "home", model=_stuck()) as g:
        await g.deliver(event)
        await _begun(g)
    async with rig(tmp_path / "home") as g:
        assert (await g.deliver(event)).kind == "duplicate"
        assert await g.answered(1) == ["echo: cut me"]
        await g.quiet()
        assert g.texts == ["echo: cut me"]
        assert await g.rows("SELECT role FROM messages ORDER BY id") == [("user",), ("assistant",)]


async def test_messages_that_waited_are_answered_in_their_order(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", model=_stuck()) as g:
        for text in ("one", "two", "three"):
            await g.send(text)
        await _begun(g)
    async with rig(tmp_path / "home") as g:
        assert await g.answered(3) == ["echo: one", "echo: two", "echo: three"]


async def test_D3_a_resumed_turn_does_not_repeat_a_finished_tool_call(tmp_path: Path) -> None:
    call = ToolCall("c1", "todo", {"todos": []}, "{}")
    async with rig(tmp_path / "home", model=_stuck(Answer(tool_calls=(call,)))) as g:
        await g.send("use the tool")
        async with asyncio.timeout(10):
            while len(g.model.requests) < 2:
                await asyncio.sleep(0.001)
    async with rig(tmp_path / "home") as g:
        await g.answered(1)
        (request,) = g.model.requests
        assert [m.role for m in request.messages] == ["user", "assistant", "tool"]
        assert "interrupted" not in request.messages[-1].text


async def test_a_turn_that_was_started_too_often_is_put_aside_with_one_sentence(tmp_path: Path) -> None:
    for _ in range(2):
        async with rig(tmp_path / "home", model=_stuck(), rules=ResumeRules(max_starts=2)) as g:
            if not await g.rows("SELECT 1 FROM inbox"):
                await g.send("poison")
            await _begun(g)
    async with rig(tmp_path / "home", rules=ResumeRules(max_starts=2)) as g:
        (text,) = await g.answered(1)
        assert "2 times" in text
        assert g.model.requests == []
        assert await g.rows("SELECT state FROM inbox") == [("dead",)]
        assert await g.rows("SELECT role, body FROM messages ORDER BY id") == [
            ("user", "poison"),
            ("assistant", text),
        ]
        await g.send("next")
        assert (await g.answered(2))[1] == "echo: next"
        assert text not in [m.text for m in g.model.requests[0].messages], (
            "it is not the model's own sentence"
        )


async def test_turns_on_their_last_start_run_one_after_the_other(tmp_path: Path) -> None:
    gates = [asyncio.Event(), asyncio.Event()]
    model = ScriptedModel([Answer("x", gate=asyncio.Event()), Answer("x", gate=asyncio.Event())])
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("a", chat="1")
        await g.send("b", chat="2")
        async with asyncio.timeout(10):
            while model.running < 2:
                await asyncio.sleep(0.001)
    model = ScriptedModel([Answer("one", gate=gates[0]), Answer("two", gate=gates[1])])
    async with rig(tmp_path / "home", model=model, rules=ResumeRules(max_starts=2)) as g:
        await _begun(g)
        assert await g.rows("SELECT starts FROM turns ORDER BY starts") == [(1,), (2,)]
        gates[0].set()
        await g.answered(1)
        gates[1].set()
        assert await g.answered(2) == ["one", "two"]
        assert model.most_running == 1


async def test_a_turn_that_is_too_old_is_not_taken_up(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", model=_stuck()) as g:
        await g.send("yesterday")
        await _begun(g)
    async with rig(tmp_path / "home", rules=ResumeRules(max_age=-1)) as g:
        (text,) = await g.answered(1)
        assert "/retry" in text
        assert g.model.requests == []


async def test_nobody_comes_back_for_a_volatile_event(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", model=_stuck()) as g:
        await g.send("running", volatile=True)
        await g.send("waiting", volatile=True)
        await _begun(g)
    async with rig(tmp_path / "home") as g:
        await g.quiet()
        assert g.model.requests == []
        assert g.texts == []
        assert await g.rows("SELECT state FROM inbox") == [("stopped",), ("stopped",)]


async def test_a_stop_that_was_taken_before_the_end_holds_after_it(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", model=_stuck()) as g:
        await g.send("work")
        await _begun(g)
        await g.core.store.write(
            lambda c: c.execute(
                "INSERT INTO inbox (ticket, instance, dedupe_key, session_key, agent_id, admission, event, received_at)"
                " SELECT 'stop', instance, 'stop', session_key, agent_id, admission, replace(event, '\"work\"', '\"/stop\"'),"
                " received_at FROM inbox"
            )
        )
    async with rig(tmp_path / "home") as g:
        assert await g.answered(1) == ["Stopped."]
        await g.quiet()
        assert g.model.requests == []
        assert await g.rows("SELECT state FROM inbox ORDER BY id") == [("stopped",), ("answered",)]


async def test_replies_that_were_not_sent_go_out_in_order(tmp_path: Path) -> None:
    adapter = FakeAdapter(limit=3)
    adapter.failures = [NotTaken("later", retry_after=600)]
    async with rig(tmp_path / "home", model=ScriptedModel([Answer("aaabbbccc")]), adapter=adapter) as g:
        await g.send("x")
        async with asyncio.timeout(10):
            while adapter.failures:
                await asyncio.sleep(0.001)
        await g.core.store.write(lambda c: c.execute("UPDATE outbox SET due_at = 0"))
    async with rig(tmp_path / "home", adapter=FakeAdapter(limit=3)) as g:
        assert await g.answered(3) == ["aaa", "bbb", "ccc"]


async def _left_at_sending(root: Path, config: str) -> None:
    async with rig(root, config=config) as g:
        await g.send("x")
        await g.answered(1)
        await g.quiet()
        await g.core.store.write(lambda c: c.execute("UPDATE outbox SET state = 'sending', closed_at = NULL"))


async def test_D5_an_unknown_outcome_is_sent_again_marked(tmp_path: Path) -> None:
    await _left_at_sending(tmp_path / "home", OPEN)
    async with rig(tmp_path / "home") as g:
        assert await g.answered(1) == ["(again) echo: x"]
        await g.quiet()
        assert await g.rows("SELECT state, again FROM outbox") == [("sent", 1)]


async def test_D5_an_unknown_outcome_is_dropped_and_reported_where_doubles_are_not_wanted(
    tmp_path: Path,
) -> None:
    config = OPEN.replace("gateway:", "gateway:\n  delivery: {on_unknown: drop}")
    await _left_at_sending(tmp_path / "home", config)
    async with rig(tmp_path / "home", config=config) as g:
        await g.quiet()
        assert g.texts == []
        assert g.core.delivery.lost == 1
        assert await g.rows("SELECT state FROM outbox") == [("dropped",)]


async def test_D5_a_lost_receipt_is_sent_again_once(tmp_path: Path) -> None:
    adapter = FakeAdapter()
    adapter.failures = [OutcomeUnknown("the answer was lost")]
    async with rig(tmp_path / "home", adapter=adapter) as g:
        await g.send("x")
        assert await g.answered(2) == ["echo: x", "(again) echo: x"]
        await g.quiet()
        assert len(g.texts) == 2
