"""Messages through the real gateway: order, isolation, commands, the agent cache."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from adapters.telegram.addressing import Account
from adapters.telegram.parse import parse_update
from adapters.telegram.reading import Reading
from hermes.agent import TurnEnded
from hermes.errors import AdapterError, ModelError, NotTaken, StoreUnavailable, Unreachable
from hermes.events import Event, Sender, Target, Unparsable
from hermes.testing import Answer, FakeAdapter, FakeClock, ScriptedModel
from tests.gatewayrig import OPEN, message, rig, until


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


@pytest.mark.parametrize("error", [ModelError("no", kind="bad_request"), RuntimeError("a fault of ours")])
async def test_SE_03_a_slow_session_delays_no_other_and_a_failed_turn_lets_go(
    tmp_path: Path, error: Exception
) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer(error=error, gate=gate)])  # type: ignore[arg-type]  # faults come too
    with capture_logs():
        async with rig(tmp_path / "home", model=model) as g:
            await g.send("slow", chat="1")
            await until(lambda: model.running)
            await g.send("quick", chat="2")
            assert await g.answered(1) == ["echo: quick"]
            await g.send("waits", chat="1")
            gate.set()
            assert (await g.answered(3))[2] == "echo: waits"
            await g.send("again", chat="1")
            assert (await g.answered(4))[3] == "echo: again"
            assert g.core.agents.pinned == 0


async def test_PR_01_a_drain_lets_the_turn_end_and_leaves_what_comes_late(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer("in time", gate=gate)])
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("work", chat="1")
        await until(lambda: model.running)
        await g.send("next in line", chat="1")
        draining = asyncio.create_task(g.core.sessions.drain(30))
        await asyncio.sleep(0)
        await g.send("late", chat="2")
        assert not draining.done()
        gate.set()
        assert await draining
        assert await g.answered(1) == ["in time"]
        assert len(model.requests) == 1
        assert await g.rows("SELECT state FROM inbox ORDER BY id") == [
            ("answered",),
            ("waiting",),
            ("waiting",),
        ]
    async with rig(tmp_path / "home") as g:
        assert sorted(await g.answered(2)) == ["echo: late", "echo: next in line"]


async def test_PR_01_a_drain_ends_at_its_limit_and_the_turn_goes_on_later(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", model=ScriptedModel([Answer("never", gate=asyncio.Event())])) as g:
        await g.send("work")
        await until(lambda: g.model.running)
        assert not await g.core.sessions.drain(0.05)
        await g.core.sessions.aclose()
        assert g.model.running == 0
    async with rig(tmp_path / "home") as g:
        assert await g.answered(1) == ["echo: work"]


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
        await until(lambda: model.running)
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


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_SE_11_agents_that_are_dropped_are_closed(tmp_path: Path) -> None:
    config = OPEN.replace("gateway:", "gateway:\n  agent_cache: {size: 16}")
    async with rig(tmp_path / "home", config=config) as g:
        await g.send("hi", chat="warm")
        await g.answered(1)
        await g.quiet()
        tasks, threads = len(asyncio.all_tasks()), threading.active_count()
        descriptors = await asyncio.to_thread(_descriptors)
        for n in range(100):
            await g.send("hi", chat=str(n))
        await g.answered(101)
        await g.quiet()
        assert g.core.agents.live == 16
        for n in range(100):
            await g.send("/new", chat=str(n))
        await g.answered(201)
        await g.quiet()
        agents = g.core.agents
        assert agents.opened >= 100
        assert agents.live == 0  # /new drops the agent
        assert agents.closed == agents.opened - agents.live
        assert len(asyncio.all_tasks()) <= tasks + 10
        assert threading.active_count() <= threads + 10
        assert await asyncio.to_thread(_descriptors) <= descriptors + 10


async def _settled(clock: FakeClock) -> None:
    """Let threads and tasks get as far as they can without time passing."""
    for _ in range(20):
        await asyncio.sleep(0.005)
        await clock.advance(0)


@pytest.mark.parametrize("failure", [NotTaken("flood", retry_after=3), NotTaken("busy"), Unreachable("gone")])
async def test_SE_12_pieces_stay_in_order_over_a_retry_and_before_the_next_reply(
    tmp_path: Path, failure: AdapterError
) -> None:
    clock, adapter = FakeClock(), FakeAdapter(limit=3)
    model = ScriptedModel([Answer("aaabbbccc"), Answer("ddd")])
    adapter.failures = [None, failure]  # type: ignore[list-item]
    async with rig(tmp_path / "home", model=model, adapter=adapter, clock=clock) as g:
        await g.send("one")
        await g.send("two")
        async with asyncio.timeout(15):
            while len(await g.rows("SELECT 1 FROM outbox")) < 4 or adapter.failures:
                await _settled(clock)
            assert g.texts == ["aaa"]  # the second reply is ready, and waits
            while len(g.texts) < 4:
                await clock.advance(0.5)
                await _settled(clock)
        assert g.texts == ["aaa", "bbb", "ccc", "ddd"]


async def test_FT_14_an_answer_that_cannot_be_committed_waits_and_goes_out_once(tmp_path: Path) -> None:
    gate = asyncio.Event()
    answer = "long" * 25_000
    async with rig(tmp_path / "home", model=ScriptedModel([Answer(answer, gate=gate)])) as g:
        g.adapter.limit = len(answer)
        await g.send("work")
        await until(lambda: g.model.running)
        await g.core.store.write(_full_disk)
        gate.set()
        async with asyncio.timeout(5):
            while g.core.store.fault is None:
                await asyncio.sleep(0.01)
        with pytest.raises(StoreUnavailable):
            await g.send("meanwhile", chat="6")
        assert g.texts == []
        assert await g.answered(1) == [answer]  # the store tries again by itself
        await g.send("and on")
        assert (await g.answered(2))[1] == "echo: and on"
        assert len(g.model.requests) == 2
        assert answer in [m.text for m in g.model.requests[1].messages]


async def test_stop_ends_the_running_turn_and_is_answered_once(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer("never", gate=gate)])
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("work")
        await until(lambda: model.running)
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


async def test_TG_19_an_album_counts_as_one_message_against_the_rate(tmp_path: Path) -> None:
    config = OPEN.replace('limits: {rate: "off"}', 'limits: {rate: "2/h", backlog: 1}')
    async with rig(tmp_path / "home", config=config) as g:
        sent = [
            ("a", "look"),
            ("a", "."),
            ("a", "."),
            (None, "two"),
            ("b", "late"),
            ("b", "."),
            (None, "four"),
        ]
        kinds = [(await g.send(text, album=album)).kind for album, text in sent]
        assert kinds == ["accepted"] * 6 + ["refused"]
        one, two = await g.rows("SELECT not_before FROM inbox WHERE not_before > 0")
        assert abs(one[0] - two[0]) < 60


async def test_TG_12_a_flood_wait_parks_one_chat_and_no_other(tmp_path: Path) -> None:
    clock, adapter = FakeClock(), FakeAdapter()
    adapter.failures = [NotTaken("flood", retry_after=37)]
    async with rig(tmp_path / "home", adapter=adapter, clock=clock) as g:
        await g.send("for A", chat="1")
        async with asyncio.timeout(10):
            while adapter.failures:
                await _settled(clock)
        await g.send("for B", chat="2")
        assert await g.answered(1) == ["echo: for B"]  # no time has passed
        await clock.advance(36.9)
        await _settled(clock)
        assert g.texts == ["echo: for B"]
        await clock.advance(0.2)
        assert await g.answered(2) == ["echo: for B", "echo: for A"]


async def test_TG_17_a_channels_post_starts_no_turn_under_an_allow_list(tmp_path: Path) -> None:
    reading = Reading("telegram", Account(42, "mybot"))
    chat = {"id": -100900, "type": "channel", "title": "News"}
    mentioned: dict[str, object] = {
        "text": "@mybot news",
        "entities": [{"type": "mention", "offset": 0, "length": 6}],
    }
    posts: list[dict[str, object]] = [{"text": "news"}, mentioned, {"text": "/status"}]
    config = OPEN.replace('allow_from: ["*"]', 'allow_from: ["5"]')
    async with rig(tmp_path / "home", config=config) as g:
        for number, said in enumerate(posts):
            post = {"message_id": 50 + number, "date": 1_700_000_000, "chat": chat, **said}
            event = parse_update({"update_id": 900 + number, "channel_post": post}, reading)
            assert isinstance(event, Event)
            assert (await g.deliver(event)).kind in ("ignored", "refused")
        private = {
            "message_id": 7, "date": 1_700_000_000, "chat": {"id": 5, "type": "private"},
            "from": {"id": 5, "is_bot": False, "first_name": "Ana"}, "text": "hello",
        }  # fmt: skip
        event = parse_update({"update_id": 910, "message": private}, reading)
        assert isinstance(event, Event)
        await g.deliver(event)
        assert await g.answered(1) == ["echo: hello"]
        await g.quiet()
        assert len(g.model.requests) == len(g.texts) == 1


async def test_WH_07_one_delivery_is_one_turn_and_the_second_is_told_the_first(tmp_path: Path) -> None:
    def delivery(number: str, body: str, window: float = 0.0) -> Event:
        return message(
            body, platform="webhook", kind="hook", chat="build", admitted="signed", untrusted=True,
            dedupe_key=f"build:{number}", session=f"build:{number}{body}", command_text=False,
            replay_key=f"build:{body}" if window else None, replay_window=window,
        )  # fmt: skip

    clock = FakeClock()
    async with rig(tmp_path / "home", clock=clock) as g:
        first = await g.deliver(delivery("d-1", "it broke"))
        clock.jump(30)
        again = await g.deliver(delivery("d-1", "it broke"))
        assert (first.kind, again.kind, again.ticket) == ("accepted", "duplicate", first.ticket)
        assert (await g.deliver(delivery("d-2", "it broke"))).kind == "accepted"
        assert (await g.deliver(delivery("d-3", "it broke", window=600))).kind == "accepted"
        assert (await g.deliver(delivery("d-4", "it broke", window=600))).kind == "duplicate"
        clock.jump(601)
        assert (await g.deliver(delivery("d-5", "it broke", window=600))).kind == "accepted"
        await g.answered(4)
        await g.quiet()
        assert len(g.model.requests) == 4


def _full_disk(connection: sqlite3.Connection) -> None:
    """The file cannot grow any more, until the writer opens it anew."""
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}").fetchall()


async def test_WH_08_a_delivery_that_could_not_be_stored_is_a_new_one_when_it_comes_again(
    tmp_path: Path,
) -> None:
    event = message("x" * 20_000, dedupe_key="build:d-2")

    async with rig(tmp_path / "home") as g:
        await g.core.store.write(_full_disk)
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await g.deliver(event)
        assert g.model.requests == []
    async with rig(tmp_path / "home") as g:
        assert (await g.deliver(event)).kind == "accepted"
        await g.answered(1)
        assert (await g.deliver(event)).kind == "duplicate"
        await g.quiet()
        assert len(g.model.requests) == 1


@pytest.mark.parametrize("spoilt", ["'{torn'", "'[]'", "'{\"tool_calls\": [{}]}'"])
async def test_FT_12_a_history_that_cannot_be_read_is_one_sentence_and_no_model_call(
    tmp_path: Path, spoilt: str
) -> None:
    async with rig(tmp_path / "home") as g:
        for n in range(5):
            await g.send(f"remember {n}")
        await g.answered(5)
        await g.quiet()
        await g.core.store.write(lambda c: c.execute(f"UPDATE messages SET content = {spoilt} WHERE id = 3"))
    async with rig(tmp_path / "home") as g:
        with capture_logs() as logs:
            await g.send("who am I")
            await g.answered(1)
            await g.quiet()
        assert "turn.history_unreadable" in {entry["event"] for entry in logs}
        assert g.texts == [g.core.say("history_unreadable")]
        assert g.model.requests == []
        assert await g.rows("SELECT count(*) FROM messages") == [(10,)]
        assert await g.rows("SELECT state FROM inbox ORDER BY id DESC LIMIT 1") == [("failed",)]
        await g.core.store.write(lambda c: c.execute("UPDATE messages SET content = NULL WHERE id = 3"))
        await g.send("and now")
        assert (await g.answered(2))[1] == "echo: and now"
        assert [m.text for m in g.model.requests[0].messages][:2] == ["remember 0", "echo: remember 0"]


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
        assert "/model is not open to you" in "".join(texts)
        assert any("model is big-one" in t for t in texts)
    async with rig(tmp_path / "home", config=config) as g:
        await g.send("hello")
        await g.send("/model")
        assert "big-one" in (await g.answered(2))[1]
        await g.send("/model default")
        await g.send("/model")
        assert "big-one" not in (await g.answered(4))[3]


async def test_D16_a_stranger_whose_code_could_not_be_stored_gets_one_when_he_comes_again(
    tmp_path: Path,
) -> None:
    config = OPEN.replace('allow_from: ["*"], ', "")
    stranger, filler = message("hello"), Unparsable("x" * 60_000, "no JSON")
    async with rig(tmp_path / "home", config=config) as g:
        await g.core.store.write(_full_disk)
        with pytest.raises(StoreUnavailable):
            await g.core.intake("telegram").take([stranger, filler])
        assert g.core.pairings.listed() == []
        await g.core.store.wait_healthy()
        await g.deliver(stranger)
        (text,) = await g.answered(1)
        assert "owner: " in text


async def test_D16_what_could_not_be_stored_does_not_count_against_the_rate(tmp_path: Path) -> None:
    config = OPEN.replace('limits: {rate: "off"}', 'limits: {rate: "1/h", backlog: 0}')
    event = message("x" * 20_000)
    async with rig(tmp_path / "home", config=config) as g:
        await g.core.store.write(_full_disk)
        with pytest.raises(StoreUnavailable):
            await g.deliver(event)
        await g.core.store.wait_healthy()
        assert (await g.deliver(event)).kind == "accepted"


async def test_D6_a_clock_set_back_keeps_nobody_out(tmp_path: Path) -> None:
    clock = FakeClock()
    config = OPEN.replace('limits: {rate: "off"}', 'limits: {rate: "2/min", backlog: 1}')
    async with rig(tmp_path / "home", config=config, clock=clock) as g:
        for n in range(2):
            assert (await g.send(f"before {n}")).kind == "accepted"
        clock.jump(-3600)
        await clock.advance(61)
        for n in range(2):
            assert (await g.send(f"after {n}")).kind == "accepted"
        assert await g.rows("SELECT count(*) FROM inbox WHERE not_before > 0") == [(0,)]


async def test_D6_a_clock_set_back_between_two_lives_makes_no_retry_wait(tmp_path: Path) -> None:
    clock, adapter = FakeClock(), FakeAdapter()
    adapter.failures = [NotTaken("flood", retry_after=37)]
    async with rig(tmp_path / "home", adapter=adapter, clock=clock) as g:
        await g.send("hi")
        async with asyncio.timeout(10):
            while not await g.rows("SELECT 1 FROM outbox WHERE due_at > 0"):
                await asyncio.sleep(0.01)
    clock = FakeClock(1_700_000_000.0 - 3600)
    async with rig(tmp_path / "home", adapter=adapter, clock=clock) as g:
        await until(lambda: any(30 < due <= 37 for due in clock.due))
        await clock.advance(38)
        assert await g.answered(1) == ["echo: hi"]


async def test_a_message_of_the_api_that_nobody_waits_for_leaves_the_turn_it_was_to_join(
    tmp_path: Path,
) -> None:
    gate = asyncio.Event()
    config = OPEN.replace("gateway:", "gateway:\n  sessions: {busy: steer}")
    async with rig(tmp_path / "home", model=ScriptedModel([Answer("done", gate=gate)]), config=config) as g:
        await g.send("begin", kind="api")
        await until(lambda: g.model.running)
        said = await g.send("and this", kind="api", volatile=True)
        await g.core.intake("telegram").abandon(said.ticket or "")
        gate.set()
        await g.quiet()
        assert await g.rows("SELECT state FROM inbox ORDER BY id") == [("answered",), ("stopped",)]
        assert len(g.model.requests) == 1
