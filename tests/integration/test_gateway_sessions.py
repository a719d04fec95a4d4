"""Messages through the real gateway: order, isolation, commands, the agent cache."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hermes.agent import TurnEnded
from hermes.errors import ModelError, NotTaken
from hermes.events import Sender, Target
from hermes.testing import Answer, FakeAdapter, ScriptedModel
from tests.gatewayrig import OPEN, message, rig


async def test_a_message_is_answered_once_where_it_came_from(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        await g.send("hello", chat="77")
        await g.answered(1)
        await g.quiet()
        assert [(t.chat, text) for t, text, _ in g.adapter.sent] == [("77", "echo: hello")]
        assert await g.rows("SELECT state FROM inbox") == [("answered",)]
        assert await g.rows("SELECT state, message_id FROM outbox") == [("sent", "1")]


async def test_SE_01_a_second_message_waits_and_sees_the_first_answer(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer("first answer", gate=gate)])
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("A")
        await g.send("B")
        gate.set()
        assert await g.answered(2) == ["first answer", "echo: B"]
        assert model.most_running == 1
        said = [m.text for m in model.requests[1].messages]
        assert said[-3:] == ["A", "first answer", "B"]


async def test_SE_03_a_slow_session_delays_no_other_and_a_failed_turn_lets_go(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer(error=ModelError("no", kind="bad_request"), gate=gate)])
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("slow", chat="1")
        while not model.running:
            await asyncio.sleep(0)
        await g.send("quick", chat="2")
        assert await g.answered(1) == ["echo: quick"]
        gate.set()
        await g.answered(2)
        await g.send("again", chat="1")
        assert (await g.answered(3))[-1] == "echo: again"


async def test_TG_26_the_same_message_delivered_again_makes_one_turn_also_after_a_restart(
    tmp_path: Path,
) -> None:
    event = message("once")
    async with rig(tmp_path / "home") as g:
        first = await g.deliver(event)
        again = await g.deliver(event)
        await g.answered(1)
        await g.quiet()
        assert (first.kind, again.kind, again.ticket) == ("accepted", "duplicate", first.ticket)
    async with rig(tmp_path / "home") as g:
        assert (await g.deliver(event)).kind == "duplicate"
        await g.quiet()
        assert g.texts == []


async def test_ten_deliveries_of_one_message_at_once_make_one_turn(tmp_path: Path) -> None:
    event = message("once")
    async with rig(tmp_path / "home") as g:
        verdicts = await asyncio.gather(*(g.deliver(event) for _ in range(10)))
        await g.answered(1)
        await g.quiet()
        assert sorted(v.kind for v in verdicts) == ["accepted"] + ["duplicate"] * 9
        assert len({v.ticket for v in verdicts}) == 1
        assert g.texts == ["echo: once"]


async def test_SE_09_an_agent_at_work_is_never_evicted(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer("slow", gate=gate)])
    config = OPEN.replace("gateway:", "gateway:\n  agent_cache: {size: 2}")
    async with rig(tmp_path / "home", model=model, config=config) as g:
        await g.send("s1", chat="1")
        while not model.running:
            await asyncio.sleep(0)
        for chat in ("2", "3", "4"):
            await g.send(f"s{chat}", chat=chat)
        await g.answered(3)
        assert g.core.agents.pinned >= 1
        gate.set()
        assert "slow" in await g.answered(4)
        await g.quiet()
        assert g.core.agents.live <= 2


async def test_SE_10_an_evicted_session_goes_on_with_its_history(tmp_path: Path) -> None:
    config = OPEN.replace("gateway:", "gateway:\n  agent_cache: {size: 1}")
    async with rig(tmp_path / "home", config=config) as g:
        await g.send("first", chat="1")
        await g.answered(1)
        await g.send("other", chat="2")
        await g.answered(2)
        await g.quiet()
        await g.send("second", chat="1")
        await g.answered(3)
        assert [m.text for m in g.model.requests[-1].messages] == ["first", "echo: first", "second"]
        assert g.core.agents.closed == g.core.agents.opened - g.core.agents.live


async def test_SE_11_agents_that_are_dropped_are_closed(tmp_path: Path) -> None:
    config = OPEN.replace("gateway:", "gateway:\n  agent_cache: {size: 16}")
    async with rig(tmp_path / "home", config=config) as g:
        before = len(asyncio.all_tasks())
        for n in range(100):
            await g.send("hi", chat=str(n))
        await g.answered(100)
        for n in range(100):
            await g.send("/new", chat=str(n))
        await g.answered(200)
        await g.quiet()
        agents = g.core.agents
        assert agents.live <= 16
        assert agents.closed == agents.opened - agents.live
        assert len(asyncio.all_tasks()) <= before + 10


async def test_SE_12_pieces_stay_in_order_over_a_retry_and_before_the_next_reply(tmp_path: Path) -> None:
    adapter = FakeAdapter(limit=3)
    adapter.failures = []
    model = ScriptedModel([Answer("aaabbbccc"), Answer("ddd")])
    async with rig(tmp_path / "home", model=model, adapter=adapter) as g:
        adapter.failures = [None, NotTaken("flood", retry_after=0.2)]  # type: ignore[list-item]
        await g.send("one")
        await g.send("two")
        assert await g.answered(4) == ["aaa", "bbb", "ccc", "ddd"]


async def test_stop_ends_the_running_turn_and_is_answered_once(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer("never", gate=gate)])
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("work")
        while not model.running:
            await asyncio.sleep(0)
        await g.send("/stop")
        assert await g.answered(1) == ["Stopped."]
        await g.quiet()
        assert g.texts == ["Stopped."]
        assert await g.rows("SELECT state FROM inbox ORDER BY id") == [("stopped",), ("answered",)]
        await g.send("/stop")
        assert (await g.answered(2))[-1] == "Nothing is running."


async def test_new_begins_afresh_and_sessions_can_be_resumed(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        await g.send("remember me")
        await g.send("/new")
        await g.send("who am I")
        await g.answered(3)
        assert [m.text for m in g.model.requests[-1].messages] == ["who am I"]
        await g.send("/resume 2")
        await g.send("and now")
        await g.answered(5)
        assert g.model.requests[-1].messages[0].text == "remember me"


async def test_retry_takes_the_place_of_the_failed_turn(tmp_path: Path) -> None:
    model = ScriptedModel([Answer(error=ModelError("no", kind="bad_request")), Answer("now it works")])
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("question")
        assert "/retry" in (await g.answered(1))[0]
        await g.send("/retry")
        assert (await g.answered(2))[1] == "now it works"
        assert [m.text for m in model.requests[-1].messages] == ["question"]


async def test_undo_takes_the_last_turn_back(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        await g.send("one")
        await g.send("two")
        await g.send("/undo")
        await g.send("three")
        texts = await g.answered(4)
        assert texts[2] == 'Taken back: "two"'
        assert [m.text for m in g.model.requests[-1].messages] == ["one", "echo: one", "three"]


async def test_every_command_answers_with_a_sentence(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        commands = [
            "/help",
            "/start",
            "/status",
            "/model",
            "/usage",
            "/title",
            "/title My talk",
            "/whoami",
            "/sessions",
        ]
        for n, command in enumerate([*commands, "/resume", "/undo", "/retry", "/bogus"], 1):
            await g.send(command)
            await g.answered(n)
        await g.quiet()
        assert all(text.strip() for text in g.texts)
        assert len(g.texts) == len(commands) + 4
        assert g.model.requests == []


async def test_a_path_is_no_command(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        await g.send("/etc/hosts is a file")
        assert await g.answered(1) == ["echo: /etc/hosts is a file"]


async def test_a_stranger_gets_the_pairing_code_once_and_is_let_in_by_it(tmp_path: Path) -> None:
    config = OPEN.replace('allow_from: ["*"], ', "")
    async with rig(tmp_path / "home", config=config) as g:
        for text in ("hello", "hello?", "anybody"):
            assert (await g.send(text)).kind == "refused"
        await g.answered(1)
        await g.quiet()
        assert len(g.texts) == 1
        code = g.texts[0].split("owner: ")[1].split()[0]
        assert len(code) == 8
        _, job = g.core.pairings.approve(code.lower(), g.core.pairings.listed()[0].asked_at + 1)
        await g.core.store.write(job)
        assert (await g.send("hello again")).kind == "accepted"
        assert (await g.answered(2))[1] == "echo: hello again"
    async with rig(tmp_path / "home", config=config) as g:
        assert (await g.send("still me")).kind == "accepted"


async def test_a_stranger_in_a_group_gets_no_code(tmp_path: Path) -> None:
    config = OPEN.replace('allow_from: ["*"], ', "")
    async with rig(tmp_path / "home", config=config) as g:
        verdict = await g.send("hi", chat="-100", kind="group", sender=Sender("9"), private_notice=False)
        assert verdict.kind == "refused"
        await g.quiet()
        assert g.texts == []


async def test_what_the_agent_cannot_take_gets_one_sentence_also_when_delivered_again(tmp_path: Path) -> None:
    event = message("", unsupported="photo")
    async with rig(tmp_path / "home") as g:
        await g.deliver(event)
        await g.deliver(event)
        await g.answered(1)
        await g.quiet()
        assert len(g.texts) == 1
        assert "photo" in g.texts[0]


async def test_over_the_rate_messages_wait_and_over_the_backlog_one_notice_is_given(tmp_path: Path) -> None:
    config = OPEN.replace('limits: {rate: "off"}', 'limits: {rate: "2/h", backlog: 1}')
    async with rig(tmp_path / "home", config=config) as g:
        kinds = [(await g.send(f"m{n}")).kind for n in range(5)]
        assert kinds == ["accepted", "accepted", "accepted", "refused", "refused"]
        texts = await g.answered(3)
        assert sorted(texts) == sorted(["echo: m0", "echo: m1", g.core.say("backlog")])
        assert await g.rows("SELECT count(*) FROM inbox WHERE state = 'waiting'") == [(1,)]


async def test_TG_12_a_flood_wait_parks_one_chat_and_no_other(tmp_path: Path) -> None:
    adapter = FakeAdapter()
    async with rig(tmp_path / "home", adapter=adapter) as g:
        adapter.failures = [NotTaken("flood", retry_after=0.5)]
        began = asyncio.get_running_loop().time()
        await g.send("for A", chat="1")
        while adapter.failures:
            await asyncio.sleep(0)
        await g.send("for B", chat="2")
        assert await g.answered(1) == ["echo: for B"]
        assert asyncio.get_running_loop().time() - began < 0.5
        assert await g.answered(2) == ["echo: for B", "echo: for A"]
        assert asyncio.get_running_loop().time() - began >= 0.5


async def test_a_kept_answer_can_be_followed_afterwards(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        verdict = await g.send("keep it", reply_to=())
        assert verdict.ticket is not None
        ended = await g.ended(verdict.ticket)
        assert ended == TurnEnded("answered", "echo: keep it", ended.usage)
        assert await g.ended(verdict.ticket) == ended
        assert g.texts == []


async def test_a_reply_to_several_targets_goes_to_each(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        await g.send("both", reply_to=(Target("telegram", "1"), Target("telegram", "2", "9")))
        await g.answered(2)
        assert sorted((t.chat, t.thread) for t, _, _ in g.adapter.sent) == [("1", None), ("2", "9")]


async def test_the_model_of_a_conversation_can_be_chosen_by_people_who_are_known(tmp_path: Path) -> None:
    config = OPEN.replace('allow_from: ["*"]', 'allow_from: ["5", "*"]')
    async with rig(tmp_path / "home", config=config) as g:
        await g.send("/model big-one")
        await g.send("hi")
        await g.send("/model")
        await g.send("/model evil", chat="9")
        texts = await g.answered(4)
        assert "big-one" in texts[0]
        assert "people I know" in "".join(texts)
        assert any("model is big-one" in t for t in texts)
    async with rig(tmp_path / "home", config=config) as g:
        await g.send("hello")
        await g.send("/model")
        assert "big-one" in (await g.answered(2))[1]
        await g.send("/model default")
        await g.send("/model")
        assert "big-one" not in (await g.answered(4))[3]
