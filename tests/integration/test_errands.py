"""What an agent sends to other chats in the middle of its turn: where it may, once, and not without a trace."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.directory import Directory
from gateway.errands import MOST_PER_TURN, is_allowed
from gateway.router import parse_target
from hermes.errors import NotTaken, Rejected
from hermes.events import Sender, Target
from hermes.messages import ToolCall
from hermes.testing import Answer, FakeAdapter, ScriptedModel
from tests.gatewayrig import OPEN, Rig, message, rig

TRUSTED = OPEN.replace('["*"]', '["5", "6"]')
ANYWHERE = TRUSTED + "tools: {send_to: ['*']}\n"


def sending(*orders: tuple[str, str]) -> Answer:
    """An answer that calls `send_message` for each target and text."""
    calls = [
        ToolCall(f"c{i}", "send_message", {"target": target, "text": text}, "{}")
        for i, (target, text) in enumerate(orders)
    ]
    return Answer(tool_calls=tuple(calls))


def results(model: ScriptedModel) -> list[str]:
    return [m.text for m in model.requests[-1].messages if m.role == "tool"]


def shown(g: Rig) -> list[tuple[str, str]]:
    """What stands where, in order."""
    return [(target.chat, text) for target, text, _ in g.adapter.sent]


async def test_a_message_goes_elsewhere_at_once_and_the_answer_here(tmp_path: Path) -> None:
    gate = asyncio.Event()
    orders = (("telegram", "to the home"), ("telegram:#ops", "by name"), ("origin", "**here**"))
    model = ScriptedModel([sending(*orders), Answer("All told.", gate=gate)])
    config = TRUSTED + "tools: {send_to: [home, 'telegram:#ops', 'telegram:#gone']}\n"
    async with rig(tmp_path / "home", model=model, config=config) as g:
        await g.send("/sethome", chat="6", sender=Sender("6"))
        learned = g.core.directory.learn(message("x", "7", chat_name="#ops"), 0.0)
        assert learned is not None
        await g.answered(1)
        with capture_logs() as logs:
            await g.send("tell them")
            await g.answered(4)  # while the turn goes on
            gate.set()
            await g.answered(5)
        assert shown(g)[1:] == [("6", "to the home"), ("7", "by name"), ("5", "**here**"), ("5", "All told.")]
        assert results(model) == [f"It was sent to telegram:{chat}." for chat in "675"]
        lines = [line for line in logs if line["event"] == "errand.done"]
        assert [(line["target"], line["state"]) for line in lines] == [
            (f"telegram:{chat}", "sent") for chat in "675"
        ]
        assert "by name" not in str(lines)


@pytest.mark.parametrize(
    ("config", "order", "told"),
    [
        (TRUSTED, ("telegram:7", "hi"), "tools.send_to"),
        (TRUSTED, ("telegram:#nowhere", "hi"), "known are: none"),
        (TRUSTED, ("telegram", "hi"), "telegram has no home"),
        (ANYWHERE, ("telegram:7", " "), "1 to 20000 characters"),
        (ANYWHERE, ("nonsense:7:8:9", "hi"), "no delivery target"),
    ],
)
async def test_what_cannot_be_sent_is_told_to_the_model(
    tmp_path: Path, config: str, order: tuple[str, str], told: str
) -> None:
    model = ScriptedModel([sending(order), Answer("sorry")])
    async with rig(tmp_path / "home", model=model, config=config) as g:
        await g.send("tell them")
        assert await g.answered(1) == ["sorry"]
        assert told in results(model)[0]
        assert await g.rows("SELECT count(*) FROM outbox") == [(1,)]


async def test_what_the_platform_makes_of_it_is_told_as_words_from_outside(tmp_path: Path) -> None:
    model = ScriptedModel([sending(("telegram:7", "hi")), Answer("sorry")])
    adapter = FakeAdapter(failures=[Rejected("chat not found")])
    async with rig(tmp_path / "home", model=model, config=ANYWHERE, adapter=adapter) as g:
        await g.send("tell them")
        assert await g.answered(1) == ["sorry"]
        (told,) = results(model)
        assert "chat not found" in told
        assert "untrusted" in told


async def test_guests_and_programs_have_no_such_tool(tmp_path: Path) -> None:
    model = ScriptedModel([Answer("hello"), Answer("hello")])
    async with rig(tmp_path / "home", model=model, config=OPEN) as g:
        await g.send("tell them")
        await g.answered(1)
        assert "send_message" not in {tool.name for tool in model.requests[0].tools}


async def test_where_the_answer_goes_nowhere_there_is_no_origin(tmp_path: Path) -> None:
    model = ScriptedModel([sending(("origin", "hi")), Answer("look there")])
    async with rig(tmp_path / "home", model=model, config=ANYWHERE) as g:
        await g.deliver(replace(message("tell them"), reply_to=()))
        await g.quiet()
        assert "nothing came from one here" in results(model)[0]
        assert g.texts == []


async def test_a_turn_that_goes_on_after_a_kill_sends_its_message_once(tmp_path: Path) -> None:
    adapter = FakeAdapter(failures=[NotTaken("later", retry_after=0.5)])
    stuck = ScriptedModel([sending(("telegram:7", "hi"))])
    async with rig(tmp_path / "home", model=stuck, config=ANYWHERE, adapter=adapter) as g:
        await g.send("tell them")
        async with asyncio.timeout(10):  # it is in the outbox, and the call waits for what becomes of it
            while not await g.rows("SELECT 1 FROM outbox WHERE error IS NOT NULL"):
                await asyncio.sleep(0.01)
    async with rig(tmp_path / "home", model=ScriptedModel([Answer("done")]), config=ANYWHERE) as g:
        await g.answered(2)
        await g.quiet()
        assert sorted(shown(g)) == [("5", "done"), ("7", "hi")]
        assert await g.rows("SELECT count(*) FROM outbox WHERE kind = 'send'") == [(1,)]
        assert "was sent to telegram:7" in results(g.model)[0]


async def test_a_turn_sends_so_many_and_no_more(tmp_path: Path) -> None:
    orders = [("telegram:7", str(n)) for n in range(MOST_PER_TURN + 1)]
    model = ScriptedModel([sending(*orders), Answer("done")])
    async with rig(tmp_path / "home", model=model, config=ANYWHERE) as g:
        await g.send("tell them")
        await g.answered(MOST_PER_TURN + 1)
        await g.quiet()
        assert shown(g) == [*(("7", str(n)) for n in range(MOST_PER_TURN)), ("5", "done")]
        assert "at most" in results(model)[-1]


async def test_a_group_that_moved_is_where_a_turn_may_write_by_either_id(tmp_path: Path) -> None:
    config = TRUSTED + "tools: {send_to: ['telegram:-3']}\n"
    in_group = {"kind": "group", "sender": Sender("6"), "chat_name": "#team", "reply_to": ()}
    async with rig(tmp_path / "home", config=config) as g:
        await g.send("before", "-3", **in_group)
        await g.send("after", "-1003", session="-3", **in_group)
        await g.quiet()
    orders = [("telegram:-3", "old"), ("telegram:-1003", "new"), ("telegram:#team", "name")]
    model = ScriptedModel([sending(*orders), Answer("done")])
    async with rig(tmp_path / "home", model=model, config=config) as g:
        await g.send("tell them")
        await g.answered(4)
        assert shown(g) == [("-1003", "old"), ("-1003", "new"), ("-1003", "name"), ("5", "done")]


@pytest.mark.parametrize(
    ("to", "rules", "allowed"),
    [
        ("telegram:5", (), True),  # where it was asked
        ("telegram:5:9", (), True),
        ("slack:5", (), False),
        ("telegram:6", ("home",), True),
        ("telegram:7", ("home",), False),
        ("telegram:7", ("telegram:*",), True),
        ("slack:7", ("telegram:*",), False),
        ("slack:7", ("*",), True),
        ("telegram:8", ("telegram:#ops",), True),
        ("telegram:8:1", ("telegram:#ops",), True),
        ("telegram:8", ("telegram:#ops:1",), False),
        ("telegram:9", ("telegram:#gone", "discord", "not:a:target:at:all"), False),
    ],
)
def test_where_a_turn_may_write(to: str, rules: tuple[str, ...], allowed: bool) -> None:
    directory = Directory()
    directory.make_home("telegram", "6", 0.0)
    directory.learn(message("x", "8", chat_name="#ops"), 0.0)
    assert is_allowed(parse_target(to), Target("telegram", "5"), rules, directory) == allowed
