"""Messages that come while their session is busy: queue, steer, interrupt, collect, and the parts of a paste."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from gateway.ledger import Judged, accept
from gateway.modes import MOST_MODES, Modes
from gateway.recovery import ResumeRules
from hermes.events import Sender
from hermes.messages import ToolCall
from hermes.testing import Answer, ScriptedModel
from tests.gatewayrig import OPEN, Rig, message, rig

CALL = ToolCall("c1", "todo", {"todos": []}, "{}")


def _busy(mode: str) -> str:
    return OPEN.replace("gateway:", f"gateway:\n  sessions: {{busy: {mode}}}")


async def _asked(g: Rig, count: int) -> None:
    async with asyncio.timeout(10):
        while len(g.model.requests) < count:
            await asyncio.sleep(0.001)


async def test_steer_joins_the_running_turn_after_the_batch(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer(tool_calls=(CALL,), gate=gate), Answer("as you say")])
    async with rig(tmp_path / "home", model=model, config=_busy("steer")) as g:
        await g.send("begin")
        await _asked(g, 1)
        await g.send("but shorter")
        gate.set()
        assert await g.answered(1) == ["as you say"]
        await g.quiet()
        assert [m.role for m in model.requests[1].messages] == ["user", "assistant", "tool", "user"]
        assert model.requests[1].messages[-1].text == "but shorter"
        assert await g.rows("SELECT state FROM inbox ORDER BY id") == [("answered",), ("steered",)]
        assert len(await g.rows("SELECT DISTINCT turn_id FROM inbox")) == 1


async def test_what_is_said_too_late_to_join_is_answered_next(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer("done already", gate=gate)])
    async with rig(tmp_path / "home", model=model, config=_busy("steer")) as g:
        await g.send("begin")
        await _asked(g, 1)
        await g.send("one more")
        gate.set()
        assert await g.answered(2) == ["done already", "echo: one more"]


async def test_interrupt_stops_the_turn_and_handles_the_new_message(tmp_path: Path) -> None:
    model = ScriptedModel([Answer("never", gate=asyncio.Event())])
    async with rig(tmp_path / "home", model=model, config=_busy("interrupt")) as g:
        await g.send("long work")
        await _asked(g, 1)
        await g.send("rather this")
        (text,) = await g.answered(1)
        assert text.endswith("rather this")
        await g.quiet()
        assert await g.rows("SELECT state FROM inbox ORDER BY id") == [("stopped",), ("answered",)]


async def test_collect_makes_one_turn_of_a_burst(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", config=_busy("collect")) as g:
        for text in ("one", "two", "three"):
            await g.send(text)
        await g.answered(1)
        await g.quiet()
        assert g.texts == ["echo: one\n\ntwo\n\nthree"]
        assert len(g.model.requests) == 1
        assert await g.rows("SELECT state FROM inbox ORDER BY id") == [
            ("merged",),
            ("merged",),
            ("answered",),
        ]


async def test_the_parts_of_a_paste_are_one_turn_in_every_mode(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        await g.send("a" * 4096)
        await g.send("b" * 4096)
        await g.send("the end")
        await g.send("another message")
        await g.answered(4)
        await g.quiet()
        (asked,) = g.model.requests[0].messages
        assert asked.text == "a" * 4096 + "b" * 4096 + "the end"
        assert g.texts[-1] == "echo: another message"


async def test_steer_and_queue_by_command(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer(tool_calls=(CALL,), gate=gate), Answer("ok")])
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("begin")
        await _asked(g, 1)
        await g.send("/steer look left")
        gate.set()
        assert await g.answered(1) == ["ok"]
        assert model.requests[1].messages[-1].text == "look left"
        await g.send("/steer right away")
        assert (await g.answered(2))[1] == "echo: right away"
        await g.send("/steer")
        assert "/queue" in (await g.answered(3))[2]


async def test_what_joined_is_not_run_again_after_a_crash(tmp_path: Path) -> None:
    gates = [asyncio.Event(), asyncio.Event()]
    model = ScriptedModel([Answer(tool_calls=(CALL,), gate=gates[0]), Answer("never", gate=gates[1])])
    async with rig(tmp_path / "home", model=model, config=_busy("steer")) as g:
        await g.send("begin")
        await _asked(g, 1)
        await g.send("and this")
        gates[0].set()
        await _asked(g, 2)
    async with rig(tmp_path / "home", config=_busy("steer")) as g:
        assert await g.answered(1) == ["echo: and this"]
        await g.quiet()
        (request,) = g.model.requests
        assert [m.text for m in request.messages if m.role == "user"] == ["begin", "and this"]
        states = await g.rows("SELECT state FROM inbox ORDER BY id")
        assert sorted(states) == [("answered",), ("merged",)]


PATIENT = ResumeRules(max_starts=9)
"""No turn is given up, however often it is cut."""
MODES = ("queue", "steer", "interrupt", "collect")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("block", range(10))
async def test_whatever_the_order_every_message_ends_once(tmp_path: Path, block: int) -> None:
    """500 random interleavings in ten blocks: messages, stops, mode changes, slow and quick answers, ends in between."""
    for seed in range(block * 50, block * 50 + 50):
        await _interleaving(tmp_path / str(seed), random.Random(seed))


async def _interleaving(root: Path, dice: random.Random) -> None:
    config = _busy(dice.choice(MODES))
    sent: list[str] = []
    for _ in range(dice.randint(1, 4)):  # each life but the last ends as by a kill, wherever it stands
        model = ScriptedModel(default=lambda request: _answer(request.messages[-1].role, dice))
        async with rig(root, model=model, config=config, rules=PATIENT) as g:
            for _ in range(dice.randint(1, 6)):
                await _act(g, dice, sent)
    async with rig(root, config=config, rules=PATIENT) as g:
        await g.quiet()
        rows = await g.rows("SELECT state, turn_id, closed_at FROM inbox ORDER BY id")
        assert len(rows) == len(sent)
        assert {r[0] for r in rows} <= {"answered", "merged", "steered", "stopped", "silent"}, rows
        doubled = await g.rows(
            "SELECT turn_id FROM outbox WHERE kind = 'reply' AND turn_id IS NOT NULL GROUP BY key HAVING count(*) > 1"
        )
        assert doubled == []
        users = [t for (t,) in await g.rows("SELECT body FROM messages WHERE role = 'user' AND hidden = 0")]
        dropped = await g.rows(
            "SELECT json_extract(event, '$.text') FROM inbox WHERE state = 'stopped' AND turn_id IS NULL"
        )
        assert not dropped or "/stop" in sent, "only a /stop drops what no turn had taken up"
        plain = {t for t in sent if not t.startswith("/")} - {t for (t,) in dropped}
        assert sorted(users) == sorted(plain), "each message is in the history exactly once"


def _answer(last: str, dice: random.Random) -> Answer:
    if last == "user" and dice.random() < 0.4:
        return Answer(tool_calls=(CALL,))
    return Answer("fine", chunks=dice.randint(1, 5))


async def _act(g: Rig, dice: random.Random, sent: list[str]) -> None:
    choice = dice.random()
    text = f"m{len(sent)}" if choice < 0.75 else dice.choice(["/stop", "/queue", "/steer", "/status"])
    sent.append(text)
    await g.send(text)
    for _ in range(dice.randint(0, 30)):
        await asyncio.sleep(0)
    if dice.random() < 0.3:
        await asyncio.sleep(0.002)


async def test_D7_what_is_said_after_a_waiting_command_is_not_for_the_turn_before_it(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer(tool_calls=(CALL,), gate=gate), Answer("done")])
    async with rig(tmp_path / "home", model=model, config=_busy("steer")) as g:
        await g.send("begin")
        await _asked(g, 1)
        await g.send("/new")
        await g.send("in the fresh one")
        gate.set()
        assert (await g.answered(3))[2] == "echo: in the fresh one"
        (asked,) = g.model.requests[-1].messages
        assert asked.text == "in the fresh one"


async def test_D7_what_could_not_join_keeps_its_place(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer("done", gate=gate)])
    async with rig(tmp_path / "home", model=model, config=_busy("queue")) as g:
        await g.send("begin")
        await _asked(g, 1)
        await g.send("first")
        await g.send("/steer")
        await g.answered(1)
        await g.send("second")
        gate.set()
        assert (await g.answered(4))[1:] == ["done", "echo: first", "echo: second"]


async def test_the_rate_holds_for_words_by_steer_too(tmp_path: Path) -> None:
    config = OPEN.replace('limits: {rate: "off"}', 'limits: {rate: "2/h", backlog: 1}')
    async with rig(tmp_path / "home", config=config) as g:
        kinds = [(await g.send(f"/steer m{n}")).kind for n in range(4)]
        assert kinds == ["accepted", "accepted", "accepted", "refused"]
        assert (await g.send("/stop")).kind == "accepted"
        async with asyncio.timeout(10):
            while await g.rows("SELECT count(*) FROM inbox WHERE closed_at IS NULL") != [(1,)]:
                await asyncio.sleep(0.01)
        heard = {w for r in g.model.requests for m in r.messages if m.role == "user" for w in m.text.split()}
        assert heard == {"m0", "m1"}


async def test_words_by_steer_that_waited_for_the_rate_are_answered(tmp_path: Path) -> None:
    config = OPEN.replace('limits: {rate: "off"}', 'limits: {rate: "1/s"}')
    async with rig(tmp_path / "home", config=config) as g:
        await g.send("/steer one")
        await g.send("/steer two")
        assert await g.answered(2) == ["echo: one", "echo: two"]
        await g.quiet()
        assert await g.rows("SELECT state FROM inbox ORDER BY id") == [("answered",), ("answered",)]


async def test_the_rate_holds_for_what_joins_a_turn(tmp_path: Path) -> None:
    gate = asyncio.Event()
    config = _busy("steer").replace('limits: {rate: "off"}', 'limits: {rate: "1/h"}')
    model = ScriptedModel([Answer(tool_calls=(CALL,), gate=gate), Answer("done")])
    async with rig(tmp_path / "home", model=model, config=config) as g:
        await g.send("begin")
        await _asked(g, 1)
        await g.send("over the rate")
        gate.set()
        await g.answered(1)
        assert await g.rows("SELECT state FROM inbox ORDER BY id") == [("answered",), ("waiting",)]


async def test_D12_a_burst_without_end_is_cut_into_turns(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", config=_busy("collect")) as g:
        for n in range(120):
            await g.send(f"m{n}")
        await g.answered(3)
        await g.quiet()
        counts = await g.rows("SELECT count(*) FROM inbox GROUP BY turn_id ORDER BY min(id)")
        assert counts == [(50,), (50,), (20,)]


async def test_PR_01_a_burst_that_a_stop_cuts_waits_for_the_next_start(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", config=_busy("collect")) as g:
        await g.send("one")
        assert await g.core.sessions.drain(5)
        assert g.model.requests == []
    async with rig(tmp_path / "home", config=_busy("collect")) as g:
        assert await g.answered(1) == ["echo: one"]


async def test_D12_the_modes_of_conversations_are_bounded(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        modes = Modes()
        for n in range(0, MOST_MODES + 50, 50):
            await g.core.store.write(*(modes.choose(f"key{n + m}", "steer", float(n + m)) for m in range(50)))
        assert len(modes) == MOST_MODES
        assert await g.rows("SELECT count(*) FROM modes") == [(MOST_MODES,)]
        kept = await Modes.load(g.core.store)
        assert (len(kept), kept.get("key0"), kept.get(f"key{MOST_MODES}")) == (MOST_MODES, None, "steer")


async def test_a_mode_chosen_for_a_conversation_outlives_a_restart(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        await g.send("/steer")
        await g.answered(1)
    gate = asyncio.Event()
    model = ScriptedModel([Answer(tool_calls=(CALL,), gate=gate), Answer("done")])
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("begin")
        await _asked(g, 1)
        await g.send("and this")
        await g.send("elsewhere", chat="6")
        gate.set()
        await g.answered(2)
        await g.quiet()
        assert ("and this", "steered") in await g.rows(
            "SELECT json_extract(event, '$.text'), state FROM inbox"
        )


async def _gathering(g: Rig, parts: int) -> None:
    async with asyncio.timeout(10):
        while not any(len(b.gathering) == parts for b in g.core.sessions._boxes.values()):
            await asyncio.sleep(0.001)


async def test_a_stop_drops_the_parts_of_a_paste_that_are_gathered(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        await g.send("a" * 4096)
        await _gathering(g, 1)
        await g.send("b" * 4096)
        await g.send("/stop")
        assert await g.answered(1) == ["Stopped."]
        await g.send("something else")
        assert (await g.answered(2))[1] == "echo: something else"
        await g.quiet()
        assert len(g.model.requests) == 1
        states = [s for (s,) in await g.rows("SELECT state FROM inbox ORDER BY id")]
        assert states == ["stopped", "stopped", "answered", "answered"]


async def test_a_stop_that_a_crash_cuts_still_drops_what_was_gathered(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        await g.send("a" * 4096)
        await _gathering(g, 1)
        await g.core.sessions.drain(5)
        await g.core.store.write(
            accept([await _judged(g, "b" * 4096), await _judged(g, "/stop")], None, 1.0),
        )
    async with rig(tmp_path / "home") as g:
        assert await g.answered(1) == ["Stopped."]
        await g.quiet()
        assert g.model.requests == []
        states = [s for (s,) in await g.rows("SELECT state FROM inbox ORDER BY id")]
        assert states == ["stopped", "stopped", "answered"]


async def _judged(g: Rig, text: str) -> Judged:
    ((key, agent),) = await g.rows("SELECT DISTINCT session_key, agent_id FROM inbox")
    event = message(text)
    return Judged(
        "accepted", "telegram", event=event, ticket=event.dedupe_key, session_key=key, agent_id=agent
    )


async def test_a_flood_of_stops_is_bounded_and_told_once(tmp_path: Path) -> None:
    config = OPEN.replace('limits: {rate: "off"}', 'limits: {rate: "3/h"}')
    async with rig(tmp_path / "home", config=config) as g:
        kinds = [(await g.send(t)).kind for t in ("/stop", "/status") * 10]
        assert kinds == ["accepted"] * 3 + ["refused"] * 17
        await g.quiet()
        assert len([t for t in g.texts if t.startswith("Too many messages")]) == 1
        assert len(g.texts) == 4
        assert (await g.send("words have their own rate")).kind == "accepted"
        assert (await g.answered(5))[4] == "echo: words have their own rate"


async def test_who_is_over_the_rate_holds_up_nobody_else_in_a_shared_thread(tmp_path: Path) -> None:
    config = OPEN.replace('limits: {rate: "off"}', 'limits: {rate: "1/h"}')
    shared = {"kind": "group", "thread": "9"}
    async with rig(tmp_path / "home", config=config) as g:
        for sender, text in (("1", "one"), ("1", "held"), ("1", "held too"), ("2", "two")):
            await g.send(text, chat="-7", sender=Sender(sender, sender), **shared)
        assert len(await g.rows("SELECT DISTINCT session_key FROM inbox")) == 1
        heard = await g.answered(2)
        assert ["one" in heard[0], "two" in heard[1]] == [True, True]
        assert await g.rows("SELECT state FROM inbox ORDER BY id") == [
            ("answered",),
            ("waiting",),
            ("waiting",),
            ("answered",),
        ]
