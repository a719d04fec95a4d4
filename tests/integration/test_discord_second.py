"""The adapter against a Discord that others have modelled: it takes our calls, and we read its events."""

from pathlib import Path

import pytest

from hermes.events import Target
from tests.integration.discord_desk import running, stored
from tests.integration.telegram_desk import Desk

pytest.importorskip("simcord", reason="simcord is not installed here; scripts/test installs it")

from tests.peers.discord.second import SecondDiscord


async def test_a_conversation_with_buttons_files_and_commands(tmp_path: Path) -> None:
    desk = Desk()
    async with SecondDiscord() as there, running(there, desk, folder=tmp_path) as adapter:
        ana, ben = there.person("ana"), there.person("ben")
        there.say(ana, f"<@{there.account}> what *now*?")
        await desk.until(lambda: len(desk.events) == 1)
        asked = desk.events[0]
        assert (asked.text, asked.addressed, asked.kind, asked.chat_name) == (
            "what *now*?",
            True,
            "group",
            "#general",
        )
        target = asked.reply_to[0]

        await adapter.typing(target)
        (piece,) = adapter.render("half of", target)
        sent = await adapter.send(target, piece, key="a")
        (piece,) = adapter.render("Shall I **really**?", target)
        await adapter.edit(
            target, sent.message_id, adapter.render_choices(piece, ["Yes", "\U0001f600" * 60], target)
        )
        assert (there.shown(), len(there.buttons()[0])) == (["Shall I **really**?"], 2)

        first, again, other = there.press(ana, "Yes"), there.press(ana, "Yes"), there.press(ben, "Yes")
        await there.wait_for(lambda: first.responded and again.responded and other.responded)
        pressed = desk.events[1:]
        assert [(e.text, e.sender.name, e.quoted) for e in pressed] == [
            ("Yes", "ana", "Shall I **really**?"),
            ("Yes", "ben", "Shall I **really**?"),
        ]
        assert (desk.duplicates, {(e.chat, e.thread) for e in pressed}) == (1, {(asked.chat, None)})
        (piece,) = adapter.render("All right.", pressed[0].reply_to[0])
        await adapter.send(pressed[0].reply_to[0], piece, key="b")
        (piece,) = adapter.render("It is done.", target)
        await adapter.edit(target, sent.message_id, piece)
        assert there.buttons() == [[], []]

        command = there.use(ana, "ask", "and then?")
        await there.wait_for(lambda: bool(command.responded))
        answered = desk.events[-1].reply_to[0]
        (piece,) = adapter.render("Then this.", answered)
        await adapter.send(answered, adapter.render_choices(piece, ["More"], answered), key="c")
        (file,) = adapter.render_file(stored(tmp_path, "notes.txt", b"words"), "a file", target)
        await adapter.send(target, file, key="d")
        assert there.shown() == ["It is done.", "All right.", "Then this.", "a file"]
        assert there.buttons() == [[], [], ["More"], []]
    assert there.refusals == []


async def test_a_direct_chat_a_thread_and_a_press_that_came_too_late(tmp_path: Path) -> None:
    desk = Desk()
    async with SecondDiscord() as there, running(there, desk, auto_thread=True) as adapter:
        ana = there.person("ana")
        direct = Target("discord", f"@{ana}")
        (piece,) = adapter.render("Shall I?", direct)
        await adapter.send(direct, adapter.render_choices(piece, ["Yes"], direct), key="a")
        chat = str(there.backend.get_dm_channel(ana).id)
        there.press(ana, "Yes", chat)
        await desk.until(lambda: len(desk.events) == 1)
        assert (desk.events[0].kind, desk.events[0].chat, desk.events[0].thread) == ("direct", chat, None)

        there.say(ana, f"<@{there.account}> begin")
        await desk.until(lambda: len(desk.events) == 2)
        target = desk.events[1].reply_to[0]
        (piece,) = adapter.render("Shall I?", target)
        await adapter.send(target, adapter.render_choices(piece, ["Yes", "No"], target), key="b")
        thread = desk.events[1].chat
        assert there.buttons(thread) == [["Yes", "No"]]
        late = there.press(ana, "No", thread)
        there.backend.advance_clock(4.0)
        await there.wait_for(lambda: bool(there.refusals))
        await desk.until(lambda: len(desk.events) == 3)
        assert (desk.events[2].chat, desk.events[2].thread, desk.events[2].text) == (thread, thread, "No")
    assert not late.responded
    (refusal,) = there.refusals
    assert "code: 10062" in refusal
