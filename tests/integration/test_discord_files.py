"""Files of Discord: what came with messages is fetched, what is sent is shown once."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from adapters.discord.adapter import Discord
from adapters.discord.check import check
from adapters.discord.settings import DiscordSettings
from hermes.adapter import FetchingAdapter, FileAdapter
from hermes.config import Network
from hermes.errors import AdapterError, Gone, NotTaken, OutcomeUnknown, Rejected, Unreachable
from hermes.events import Attachment, Event, Sender, Target
from hermes.files import StoredFile
from tests.integration.discord_desk import opened, running, stored
from tests.integration.telegram_desk import Desk
from tests.peers.discord import BOT_ID, DiscordPeer, Fault, File, refusal

DIRECT = Target("discord", "5")
CHANNEL = Target("discord", "11")
BYTES = bytes(range(256)) * 2_000
PICTURE = File("a photo.png", "image/png", BYTES)


# -- in -----------------------------------------------------------------------------------------------


async def heard(peer: DiscordPeer, desk: Desk, **message: Any) -> Event:
    """Somebody writes: the event that it became."""
    before = len(desk.events)
    peer.push_text(**{"text": "", **message})
    await desk.until(lambda: len(desk.events) == before + 1)
    return desk.events[-1]


async def fetched(adapter: FetchingAdapter, event: Event, number: int = 0) -> bytes:
    async with aclosing(adapter.fetch(event, event.attachments[number])) as parts:  # type: ignore[type-var]
        return b"".join([part async for part in parts])


async def test_DC_05_files_are_fetched_without_the_token_and_say_what_they_are(
    discord_peer: DiscordPeer,
) -> None:
    desk = Desk()
    discord_peer.world.cdn.stickers["8.png"] = b"wave"
    voice = File("voice-message.ogg", "audio/ogg", b"ogg", seconds=2.5)
    async with running(discord_peer, desk) as adapter:
        event = await heard(discord_peer, desk, files=[PICTURE, File("n.txt", "text/plain", b"note")])
        assert [(a.kind, a.name, a.mime, a.size) for a in event.attachments] == [
            ("image", "a photo.png", "image/png", len(BYTES)),
            ("document", "n.txt", "text/plain", 4),
        ]
        assert [await fetched(adapter, event, n) for n in (0, 1)] == [BYTES, b"note"]
        spoken = await heard(discord_peer, desk, files=[voice], flags=1 << 13)
        assert (spoken.attachments[0].kind, await fetched(adapter, spoken)) == ("voice", b"ogg")
        item = {"id": "8", "name": "Wave", "format_type": 1}
        assert await fetched(adapter, await heard(discord_peer, desk, sticker_items=[item])) == b"wave"
    assert isinstance(adapter, FetchingAdapter)
    assert discord_peer.violations == []
    assert discord_peer.calls("GET message") == []


@pytest.mark.parametrize("why", ["its time is over", "it is no longer taken"])
async def test_an_address_that_holds_no_longer_is_asked_for_anew(discord_peer: DiscordPeer, why: str) -> None:
    desk, holds = Desk(), -5.0 if "time" in why else 9_000.0
    async with running(discord_peer, desk) as adapter:
        plain = await heard(discord_peer, desk, files=[PICTURE], holds=holds)
        inner = discord_peer.world.push_text("", "7", files=[PICTURE], holds=holds)
        await desk.until(lambda: len(desk.events) == 2)
        passed_on = await heard(
            discord_peer, desk, message_snapshots=[{"message": {**inner, "content": "x"}}]
        )
        discord_peer.world.cdn.revoke()
        for event in (plain, passed_on):
            assert await fetched(adapter, event) == BYTES
    asked = discord_peer.calls("GET file")
    assert [c.status for c in asked] == ([200, 200] if holds < 0 else [404, 200, 404, 200])
    assert len(discord_peer.calls("GET message")) == 2


async def test_a_file_that_is_not_to_be_had_says_why(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    async with running(discord_peer, desk) as adapter:
        event = await heard(discord_peer, desk, files=[PICTURE])
        message = discord_peer.world.channels["5"].messages[str(event.message_id)]
        taken_out, message["attachments"] = message["attachments"], []
        discord_peer.world.cdn.revoke()
        with pytest.raises(Gone, match="taken out"):
            await fetched(adapter, event)
        message["attachments"] = taken_out
        discord_peer.world.cdn.lose(taken_out[0]["id"])
        with pytest.raises(Gone, match="no longer there"):
            await fetched(adapter, event)
        discord_peer.push_deleted(message)
        with pytest.raises(Gone, match="no longer there for us"):
            await fetched(adapter, event)
        elsewhere = Attachment("image", "http://127.0.0.1:1/cdn/attachments/1/2/a.png")
        with pytest.raises(Gone, match="not Discord's"):
            async for _ in adapter.fetch(event, elsewhere):
                pass


async def test_what_may_pass_is_worth_a_later_try(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    async with running(discord_peer, desk) as adapter:
        event = await heard(discord_peer, desk, files=[PICTURE])
        broken = (
            Fault("lost"),
            Fault("status", 503),
            Fault("status", 429, parameters={"seconds": 7}),
        )
        discord_peer.faults.add("GET file", *broken)
        pauses = []
        for _ in broken:
            with pytest.raises(NotTaken) as told:
                await fetched(adapter, event)
            pauses.append(told.value.retry_after)
        assert pauses == [None, None, 8.0]
        discord_peer.world.cdn.revoke()
        discord_peer.faults.add("GET message", Fault("status", 500))
        with pytest.raises(NotTaken):
            await fetched(adapter, event)
        assert await fetched(adapter, event) == BYTES
        await discord_peer.stop()
        with pytest.raises(Unreachable):
            await fetched(adapter, event)


async def test_who_has_read_enough_stops(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    async with running(discord_peer, desk) as adapter:
        event = await heard(discord_peer, desk, files=[File("big", "video/mp4", bytes(8_000_000))])
        async with aclosing(adapter.fetch(event, event.attachments[0])) as parts:  # type: ignore[type-var]
            first = await anext(parts)
        assert 0 < len(first) <= 64 * 1024


# -- out ----------------------------------------------------------------------------------------------


async def say(
    adapter: Discord, target: Target, file: StoredFile, caption: str = "", *, again: bool = False
) -> list[str]:
    """Send a file with its caption; the ids of its messages."""
    pieces = adapter.render_file(file, caption, target)
    receipts = [await adapter.send(target, p, key=f"f:{i}", again=again) for i, p in enumerate(pieces)]
    return [receipt.message_id for receipt in receipts]


async def test_DC_04_a_file_goes_out_with_its_caption_and_alone(
    discord_peer: DiscordPeer, tmp_path: Path
) -> None:
    report = stored(tmp_path, 'a "week" überblick\n.pdf', BYTES, "application/pdf")
    async with opened(discord_peer, folder=tmp_path) as adapter:
        assert isinstance(adapter, FileAdapter)
        await say(adapter, DIRECT, report, "**Done** @everyone")
        (piece,) = adapter.render_file(report, " \n", DIRECT)
        await adapter.send(DIRECT, piece, key="alone")
    first, second = (c.params for c in discord_peer.calls("POST message"))
    assert (first["content"], first["allowed_mentions"]["parse"]) == ("**Done** @everyone", [])
    assert "content" not in second
    assert [data == BYTES for _, data in discord_peer.files("5")] == [True, True]
    assert first["attachments"] == [{"id": "0", "filename": report.name, "title": 'a "week" überblick\n'}]
    assert first["files"] == [("a %22week%22 überblick%0A.pdf", "application/pdf", len(BYTES))]
    assert discord_peer.violations == []


async def test_DC_01_a_long_caption_goes_on_as_text(discord_peer: DiscordPeer, tmp_path: Path) -> None:
    note = stored(tmp_path, "n.txt", b"note", "text/plain")
    async with opened(discord_peer, folder=tmp_path) as adapter:
        await say(adapter, CHANNEL, note, "word " * 900)
    assert " ".join(discord_peer.texts("11")) == ("word " * 900).strip()
    sent = [c.params.get("files") for c in discord_peer.calls("POST message")]
    assert sent == [[("n.txt", "text/plain", 4)], None, None]


async def test_a_lost_answer_to_a_file_shows_it_once_or_marked(
    discord_peer: DiscordPeer, tmp_path: Path
) -> None:
    note = stored(tmp_path, "n.txt", b"note")
    async with opened(discord_peer, folder=tmp_path) as adapter:
        discord_peer.faults.add("POST message", Fault("lost"), Fault("status", 502))
        for again in (False, True):
            with pytest.raises(OutcomeUnknown):
                await say(adapter, DIRECT, note, again=again)
        await say(adapter, DIRECT, note, again=True)
    assert discord_peer.files("5") == [("n.txt", b"note")]
    discord_peer.world.forget_nonces()
    async with opened(discord_peer, folder=tmp_path) as later:  # a new process, long after
        await say(later, DIRECT, note, again=True)
    assert (len(discord_peer.files("5")), discord_peer.texts("5")) == (2, ["↻"])


async def test_what_breaks_off_before_all_of_a_file_was_sent_was_not_taken(
    discord_peer: DiscordPeer, tmp_path: Path
) -> None:
    large = stored(tmp_path, "large.bin", bytes(9_000_000))
    async with opened(discord_peer, folder=tmp_path) as adapter:
        discord_peer.faults.add("POST message", Fault("cut"))
        with pytest.raises(NotTaken, match="broke off"):
            await say(adapter, DIRECT, large)
        assert discord_peer.files("5") == []
        await say(adapter, DIRECT, large)
        await discord_peer.stop()
        with pytest.raises(Unreachable):
            await say(adapter, DIRECT, large)
    assert [len(data) for _, data in discord_peer.files("5")] == [9_000_000]


async def test_a_file_that_is_refused_says_why(discord_peer: DiscordPeer, tmp_path: Path) -> None:
    discord_peer.largest_file = 100
    async with opened(discord_peer, folder=tmp_path, largest_file="25MiB") as adapter:
        assert adapter.largest_file == 25 * 1024**2
        with pytest.raises(Rejected, match="boost level 2"):
            await say(adapter, CHANNEL, stored(tmp_path, "b", bytes(101)))
        discord_peer.faults.add("POST message", Fault("status", 413, parameters={"html": True}))
        with pytest.raises(Rejected, match="too large"):
            await say(adapter, CHANNEL, stored(tmp_path, "c", b"c"))
        discord_peer.faults.add("POST message", refusal(403, "Missing Permissions"))
        with pytest.raises(Rejected, match="Missing Permissions"):
            await say(adapter, CHANNEL, stored(tmp_path, "d", b"d"))
        lost = stored(tmp_path, "e", b"e")
        (tmp_path / lost.digest).unlink()
        with pytest.raises(Rejected, match="cannot be read"):
            await say(adapter, CHANNEL, lost)
    assert discord_peer.files("11") == []
    assert len(discord_peer.calls("POST message")) == 3


async def test_an_upload_that_stands_still_is_given_up(discord_peer: DiscordPeer, tmp_path: Path) -> None:
    note = stored(tmp_path, "n.txt", b"note")
    async with opened(discord_peer, folder=tmp_path) as adapter:
        discord_peer.faults.add("POST message", Fault("hang"))
        sending = asyncio.create_task(say(adapter, DIRECT, note))
        await discord_peer.wait_for(lambda: bool(discord_peer.calls("POST message")))
        await discord_peer.server.go_away()
        with pytest.raises(OutcomeUnknown):
            await sending


# -- slash commands -----------------------------------------------------------------------------------


async def test_DC_11_a_file_alone_answers_a_command_and_one_beside_an_answer_follows_it(
    discord_peer: DiscordPeer, tmp_path: Path
) -> None:
    desk = Desk()
    note = stored(tmp_path, "n.txt", b"note")
    async with running(discord_peer, desk, folder=tmp_path) as adapter:
        for number in (1, 2):
            discord_peer.push_command("ask", "a file please")
            await desk.until(lambda number=number: len(desk.events) == number)  # type: ignore[misc]
        alone, beside = (event.reply_to[0] for event in desk.events)

        discord_peer.faults.add("PATCH interaction", Fault("lost"))
        with pytest.raises(OutcomeUnknown):
            await say(adapter, alone, note)
        await say(adapter, alone, note, again=True)
        assert discord_peer.calls("POST message") == []
        assert discord_peer.files("11") == [("n.txt", b"note")]

        (piece,) = adapter.render("here it is", beside)
        await adapter.send(beside, piece, key="text")
        await say(adapter, beside, note, "the note")
    assert discord_peer.texts("11") == ["here it is", "the note"]
    assert len(discord_peer.files("11")) == 2
    assert len(discord_peer.calls("POST message")) == 1
    assert discord_peer.violations == []


async def test_DC_12_a_file_that_comes_too_late_for_its_command_is_a_message(
    discord_peer: DiscordPeer, tmp_path: Path
) -> None:
    desk = Desk()
    async with running(discord_peer, desk, folder=tmp_path) as adapter:
        interaction = discord_peer.push_command("ask", "a file please")
        await desk.until(lambda: len(desk.events) == 1)
        await discord_peer.wait_for(lambda: interaction.state == "deferred")
        interaction.state = "expired"
        await say(adapter, desk.events[0].reply_to[0], stored(tmp_path, "n.txt", b"note"))
    assert discord_peer.files("11") == [("n.txt", b"note")]


# -- reactions ----------------------------------------------------------------------------------------


async def test_a_message_that_was_taken_gets_a_reaction_where_that_is_wanted(
    discord_peer: DiscordPeer,
) -> None:
    desk = Desk()
    async with running(discord_peer, desk, reactions="ack", auto_thread=True, mention="off"):
        asked = discord_peer.push_text(f"<@{BOT_ID}> begins a thread", "11")
        await discord_peer.wait_for(lambda: len(discord_peer.world.reactions) == 1)
        discord_peer.faults.add("PUT reaction", refusal(403, "Missing Permissions"))
        refused = discord_peer.push_text("hello")
        await discord_peer.wait_for(lambda: len(discord_peer.calls("PUT reaction")) == 2)
        discord_peer.push_again(asked)
        discord_peer.push_edited(refused, "hello again")
        discord_peer.push_text("a bot", "11", "77", bot=True)
        discord_peer.push_command("help")
        last = discord_peer.push_text("bye")
        await discord_peer.wait_for(lambda: len(discord_peer.world.reactions) == 2)
    assert discord_peer.world.reactions == [(asked["id"], "\U0001f440"), (last["id"], "\U0001f440")]
    assert len(discord_peer.calls("PUT reaction")) == 3
    silent = Desk()
    async with running(discord_peer, silent):
        discord_peer.push_text("quiet")
        await silent.until(lambda: len(silent.events) == 1)
    assert len(discord_peer.calls("PUT reaction")) == 3


@pytest.mark.parametrize(("reactions", "allowed"), [("off", False), ("ack", True)])
async def test_the_invitation_asks_for_what_is_needed(
    discord_peer: DiscordPeer, reactions: str, allowed: bool
) -> None:
    place = {"base_url": discord_peer.base_url, "gateway_url": discord_peer.gateway_url}
    keys = {"token": discord_peer.token, **place, "reactions": reactions}
    account = await check(DiscordSettings.model_validate(keys), Network())
    permissions = int(account.notes[-1].partition("permissions=")[2].partition("&")[0])
    assert permissions & 1 << 15  # attach files
    assert bool(permissions & 1 << 6) == allowed


async def test_nothing_but_errors_of_ours_leaves_a_fetch(discord_peer: DiscordPeer) -> None:
    async with opened(discord_peer) as adapter:
        event = Event("discord", "discord", BOT_ID, "direct", "5", Sender("500"), "", "1")
        for ref in (
            "stickers/404.png",
            f"{discord_peer.cdn_url}/attachments/1/2/x",
            "5/1/2 nonsense",
            "\x00",
        ):
            with pytest.raises(AdapterError):
                async for _ in adapter.fetch(event, Attachment("image", ref)):
                    pass
