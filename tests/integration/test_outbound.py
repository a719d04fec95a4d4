"""Messages that answer nothing: one per key, what became of them, files with them, and where they go."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from gateway import letters
from gateway.outbound import check_files
from hermes.adapter import Capabilities
from hermes.errors import ConfigError, HermesError, OutcomeUnknown, Rejected
from hermes.events import Sender
from hermes.testing import Answer, FakeAdapter, FakeClock, ScriptedModel
from tests.gatewayrig import OPEN, Rig, message, rig, until
from tests.integration.test_gateway_files_out import sending

TO = "telegram:5"
TRUSTED = OPEN.replace('["*"]', '["5", "*"]')


async def _retry(g: Rig) -> None:
    (letter,) = await letters.listed(g.core.store, 9)
    (revived,) = await g.core.store.write(letters.revive(letter.id, 1.0))
    g.core.delivery.wake(revived.replies)


async def test_a_key_is_sent_once_as_it_was_the_first_time(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", adapter=FakeAdapter(limit=10)) as g:
        for text in ("one", "another, longer than one piece"):
            sent = await g.core.outbound.send(TO, text, key="k", seconds=5)
            assert (sent.state, len(sent.message_ids)) == ("sent", 1)
        alike = await g.core.outbound.send(TO, "zero", key="k:0", seconds=5)
        assert (alike.state, len(alike.message_ids)) == ("sent", 1)
        again = await g.core.outbound.send(TO, "x", key="k", seconds=5)
        assert len(again.message_ids) == 1
        assert g.texts == ["one", "zero"]


async def test_a_key_follows_what_was_tried_again_and_put_away(tmp_path: Path) -> None:
    adapter = FakeAdapter(limit=10, failures=[Rejected("closed"), Rejected("closed")])
    async with rig(tmp_path / "home", adapter=adapter) as g:

        async def state() -> str:
            return (await g.core.outbound.send(TO, "in two pieces", key="k", seconds=5)).state

        adapter.failures = [Rejected("closed")]
        assert await state() == "dead"
        adapter.failures = [Rejected("closed")]
        await _retry(g)
        await g.quiet()
        assert await state() == "dead"
        await _retry(g)
        await g.quiet()
        sent = await g.core.outbound.send(TO, "in two pieces", key="k")
        assert (sent.state, sent.error) == ("sent", None)
        assert [adapter.screen[i] for i in sent.message_ids] == ["in two pie", "ces"]

        adapter.failures = [Rejected("closed")]
        assert (await g.core.outbound.send(TO, "no", key="k2", seconds=5)).state == "dead"
        (letter,) = await letters.listed(g.core.store, 9)
        await g.core.store.write(letters.put_away(letter.id, 1.0))
        assert (await g.core.outbound.send(TO, "no", key="k2", seconds=5)).state == "dead"


async def test_files_go_out_with_the_words_as_the_first_ones_caption_and_once_per_key(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        one, two = [await g.core.media.put(data, name) for data, name in ((b"1", "a.txt"), (b"22", "b.txt"))]
        for files in ([one, two], [two], []):
            sent = await g.core.outbound.send(TO, "look", key="k", seconds=5, files=files)
            assert (sent.state, len(sent.message_ids)) == ("sent", 2)
        assert g.texts == ["[a.txt] look", "[b.txt]"]
        assert [data for _, data in g.adapter.files] == [b"1", b"22"]
        assert (await g.core.outbound.prepare(TO, "k")).is_known
        assert not (await g.core.outbound.prepare(TO, "new")).is_known


async def test_files_that_a_platform_does_not_take_are_refused_before_anything_is_queued(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path / "home", adapter=FakeAdapter(largest_file=3)) as g:
        small, big = [await g.core.media.put(data, "a.bin") for data in (b"abc", b"abcd")]
        with pytest.raises(HermesError, match=r"a.bin has 4 bytes; telegram takes at most 3 bytes\."):
            await g.core.outbound.send(TO, "look", key="k", files=[small, big])
        with pytest.raises(HermesError, match="is empty"):
            await g.core.outbound.send(TO, "look", key="k", files=[replace(small, size=0)])
        assert await g.rows("SELECT count(*) FROM outbox") == [(0,)]
        assert (await g.core.outbound.prepare(TO, "k")).largest_file == 3


@pytest.mark.parametrize(
    ("size", "most", "told"),
    [
        (20_500, 1024, "has 20.5 kB; discord takes at most 1 kB."),
        (12_000_000, 500_000, "has 12 MB; discord takes at most 500 kB."),
        (25_000_001, 25_000_000, "has 25,000,001 bytes; discord takes at most 25,000,000."),
        (7, 0, "has 7 bytes; discord takes at most 0 bytes."),
    ],
)
def test_sizes_that_are_told_differ(size: int, most: int, told: str) -> None:
    with pytest.raises(HermesError) as refused:
        check_files("discord", most, [("a.bin", size)])
    assert str(refused.value) == f"a.bin {told}"


async def test_a_file_whose_fate_is_unknown_is_sent_again_marked(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", adapter=FakeAdapter(failures=[OutcomeUnknown("cut")])) as g:
        file = await g.core.media.put(b"1", "a.txt")
        sent = await g.core.outbound.send(TO, "look", key="k", seconds=10, files=[file])
        assert sent.state == "sent"
        assert g.texts == ["[a.txt] look", "(again) [a.txt] look"]


# --- where it goes --------------------------------------------------------------------------------


async def test_sethome_makes_a_chat_the_platforms_home_for_who_is_known(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", config=TRUSTED) as g:
        with pytest.raises(ConfigError, match="telegram has no home"):
            await g.core.outbound.send("telegram", "x", key="k0")
        await g.send("/sethome", chat="7", sender=Sender("7"))
        assert "not open to you" in (await g.answered(1))[0]
        await g.send("/sethome")
        assert "my home on telegram" in (await g.answered(2))[1]
    async with rig(tmp_path / "home", config=TRUSTED) as g:
        for key, to in enumerate(("telegram", "home", "telegram:home")):
            sent = await g.core.outbound.send(to, to, key=str(key), seconds=5)
            assert (sent.state, sent.target) == ("sent", "telegram:5")


async def test_chats_are_named_by_what_people_who_are_known_call_them(tmp_path: Path) -> None:
    group = {"kind": "group", "private_notice": False}
    async with rig(tmp_path / "home", config=TRUSTED) as g:
        await g.send("hi", chat="-1", sender=Sender("5"), chat_name="#ops", **group)
        await g.send("hi", chat="-2", sender=Sender("9"), chat_name="#ops", **group)  # a guest's
        await g.answered(2)
        assert [c.chat for c in g.core.directory.chats()] == ["-1"]
        sent = await g.core.outbound.send("telegram:#OPS", "note", key="k", seconds=5)
        assert sent.target == "telegram:-1"
        await g.send("hi", chat="-1", sender=Sender("5"), chat_name="#operations", **group)
        await g.quiet()
    async with rig(tmp_path / "home", config=TRUSTED) as g:
        with pytest.raises(ConfigError, match="known are: #operations"):
            await g.core.outbound.send("telegram:#ops", "note", key="k2")


async def test_an_answer_that_goes_to_a_named_chat_finds_it_when_it_is_sent(tmp_path: Path) -> None:
    named = replace(message("build failed"), reply_to=(replace(message("x").reply_to[0], chat="home"),))
    async with rig(tmp_path / "home", config=TRUSTED) as g:
        await g.deliver(replace(named, dedupe_key="early"))
        await g.quiet()
        assert [(t.chat, text) for t, text, _ in g.adapter.sent] == [("home", "echo: build failed")]
        await g.send("/sethome", chat="5")
        await g.deliver(named)
        await g.answered(3)
        assert [t.chat for t, _, _ in g.adapter.sent] == ["home", "5", "5"]


async def test_a_chat_that_there_is_not_is_logged_once_for_each_message(tmp_path: Path) -> None:
    lost = replace(message("failed"), reply_to=(replace(message("x").reply_to[0], chat="#nowhere"),))
    long = Answer("one paragraph\n\n" * 3000)  # several messages: it becomes a file, and is composed twice
    model = ScriptedModel([Answer("short"), long])
    config = TRUSTED + "display: {long_reply: file, long_reply_after: 1}\n"
    with structlog.testing.capture_logs() as logs:
        async with rig(tmp_path / "home", config=config, model=model) as g:
            for number in ("1", "2"):
                await g.deliver(replace(lost, dedupe_key=number))
                await g.quiet()
            assert {t.chat for t, _, _ in g.adapter.sent} == {"#nowhere"}
            assert [file.name for file, _ in g.adapter.files] == ["answer.md"]
    assert [line["event"] for line in logs].count("delivery.no_such_chat") == 2


# --- beside it ------------------------------------------------------------------------------------


async def test_an_edit_of_what_waits_is_no_message_more_to_the_rate(tmp_path: Path) -> None:
    config = OPEN.replace('limits: {rate: "off"}', 'limits: {rate: "2/min"}')
    gate = asyncio.Event()
    typo = message("teh")
    async with rig(tmp_path / "home", config=config, model=ScriptedModel([Answer("one", gate=gate)])) as g:
        await g.send("first")
        await g.deliver(typo)
        late = replace(typo, text="the", edited=True, dedupe_key="edit")
        assert (await g.deliver(late)).reason == "edited"
        gate.set()
        assert (await g.answered(2))[1] == "echo: the"


async def test_an_ignored_edit_is_not_booked(tmp_path: Path) -> None:
    config = OPEN.replace('limits: {rate: "off"}', 'limits: {rate: "2/min", backlog: 1}')
    clock = FakeClock()
    model = ScriptedModel([Answer("one", gate=asyncio.Event())])
    async with rig(tmp_path / "home", config=config, model=model, clock=clock) as g:
        await g.send("first")
        typo = message("teh")
        await g.deliver(typo)
        for n in range(3):
            await g.deliver(replace(typo, text=f"the {n}", edited=True, dedupe_key=f"edit {n}"))
        assert (await g.send("third")).kind == "accepted"  # its place in the backlog is free


async def test_a_rerun_changes_the_words_and_leaves_the_files(tmp_path: Path) -> None:
    config = TRUSTED.replace("gateway:", "gateway:\n  edits: rerun")
    folder = tmp_path / "home" / "workspace"
    folder.mkdir(parents=True)
    (folder / "one.txt").write_text("1")
    model = ScriptedModel([sending("one.txt"), Answer("first"), Answer("second")])
    adapter = FakeAdapter(capabilities=Capabilities(edits=True))
    order = message("send it")
    async with rig(tmp_path / "home", config=config, model=model, adapter=adapter) as g:
        await g.deliver(order)
        await g.answered(2)
        await g.quiet()
        await g.deliver(replace(order, text="send it again", edited=True, dedupe_key="edit"))
        await until(lambda: adapter.edits)
        await g.quiet()
        assert adapter.screen == {"1": "second", "2": "[one.txt]"}


async def test_a_title_given_in_a_chat_is_in_the_list_of_sessions_at_once(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        await g.send("hello")
        await g.answered(1)
        await g.send("/title The plan")
        await g.answered(2)
        await g.quiet()
        index = tmp_path / "home" / "agents" / "main" / "sessions" / "sessions.json"
        await g.core.thinking.behind.wait_written()
        text = await asyncio.to_thread(index.read_text)
        assert "The plan" in json.dumps(json.loads(text))
