"""Buttons on Discord: they stand under an answer, and who presses one says it, once and where it stands."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog

from adapters.discord.adapter import Discord
from hermes.errors import Rejected
from hermes.events import Event, Target
from hermes.testing import Answer, ScriptedModel
from tests.gatewayrig import Rig, rig
from tests.integration.discord_desk import Hasty, make_discord, opened, running
from tests.integration.telegram_desk import Desk
from tests.integration.test_gateway_choices import offering
from tests.peers.discord import BOT_ID, DiscordPeer, Fault

DIRECT = Target("discord", "5")
CONFIG = """
platforms:
  discord: {type: telegram, allow_from: ["500", "502"], rate: "off"}
gateway:
  limits: {rate: "off"}
"""


async def offer(adapter: Discord, target: Target, *choices: str, key: str = "k") -> str:
    """Send words with buttons; the message's id."""
    (piece,) = adapter.render("Shall I?", target)
    sent = await adapter.send(target, adapter.render_choices(piece, choices, target), key=key)
    return sent.message_id


async def pressed(peer: DiscordPeer, desk: Desk, label: str, channel: str = "5", who: str = "500") -> Event:
    before = len(desk.events)
    peer.push_press(label, channel, who)
    await desk.until(lambda: len(desk.events) == before + 1)
    return desk.events[-1]


# -- under an answer ----------------------------------------------------------------------------------


async def test_eight_wide_labels_are_taken_and_an_edit_sets_and_removes_buttons(
    discord_peer: DiscordPeer,
) -> None:
    async with opened(discord_peer) as adapter:
        sent = await offer(adapter, DIRECT, *("\U0001f600" * 59 + str(n) for n in range(8)))
        assert [len(under) for under in discord_peer.buttons("5")] == [8]
        (piece,) = adapter.render("Done.", DIRECT)
        await adapter.edit(DIRECT, sent, adapter.render_choices(piece, ["Again"], DIRECT))
        assert discord_peer.buttons("5") == [["Again"]]
        await adapter.edit(DIRECT, sent, piece)
    assert discord_peer.buttons("5") == [[]]
    assert discord_peer.texts("5") == ["Done."]


def refused(field: str) -> Fault:
    """Discord's answer to a form with a field that it does not take."""
    wrong = {field: {"0": {"_errors": [{"code": "COMPONENT_LAYOUT", "message": "No."}]}}}
    return Fault("status", 400, "Invalid Form Body", parameters={"code": 50035, "errors": wrong})


async def test_buttons_that_are_refused_become_a_list(discord_peer: DiscordPeer) -> None:
    async with opened(discord_peer) as adapter:
        (piece,) = adapter.render("Shall I?", DIRECT)
        piece = adapter.render_choices(piece, ["Yes", "No"], DIRECT)
        discord_peer.faults.add("POST message", refused("components"))
        sent = await adapter.send(DIRECT, piece, key="k")
        assert sent.note == "sent without buttons"
        assert discord_peer.texts("5") == ["Shall I?\n\n1. Yes\n2. No"]
        for text, shown in (("Or now?", "Or now?\n\n1. Yes\n2. No"), ("w" * 1990, "w" * 1990)):
            discord_peer.faults.add("PATCH message", refused("components"))
            await adapter.edit(DIRECT, sent.message_id, replace(piece, text=text))
            assert discord_peer.texts("5") == [shown]
        discord_peer.faults.add("POST message", refused("content"))
        with pytest.raises(Rejected):
            await adapter.send(DIRECT, piece, key="l")
    assert discord_peer.buttons("5") == [[]]


async def test_the_answer_to_a_slash_command_has_buttons_too(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    async with running(discord_peer, desk) as adapter:
        interaction = discord_peer.push_command("ask", "what?")
        await discord_peer.wait_for(lambda: interaction.state == "deferred")
        target = desk.events[0].reply_to[0]
        sent = await offer(adapter, target, "Yes")
        assert discord_peer.buttons("11") == [["Yes"]]
        (piece,) = adapter.render("Never mind.", target)
        await adapter.edit(target, sent, piece)
        assert discord_peer.buttons("11") == [[]]
        interaction.state = "expired"
        await offer(adapter, target, "Late", key="l")
    assert discord_peer.buttons("11") == [[], ["Late"]]


# -- a press ------------------------------------------------------------------------------------------


async def test_a_press_is_noted_after_its_commit_and_never_twice(discord_peer: DiscordPeer) -> None:
    desk = Desk(gate=asyncio.Event())
    assert desk.gate is not None
    desk.gate.set()
    async with running(discord_peer, desk, reactions="ack") as adapter:
        await offer(adapter, DIRECT, "Yes", "No")
        await desk.until(lambda: bool(desk.ignored))
        desk.gate.clear()
        desk.taking.clear()
        first, second = discord_peer.push_press("Yes"), discord_peer.push_press("Yes")
        await desk.taking.wait()
        assert discord_peer.calls("POST interaction") == []
        desk.gate.set()
        await discord_peer.wait_for(lambda: first.state == second.state == "noted")
        discord_peer.push_raw("INTERACTION_CREATE", first.wire)
        await pressed(discord_peer, desk, "No")
    assert [e.text for e in desk.events] == ["Yes", "No"]
    assert desk.duplicates == 2
    assert [c.params["type"] for c in discord_peer.calls("POST interaction")] == [6, 6, 6]
    assert discord_peer.calls("PUT reaction") == []
    assert discord_peer.refusals == []


async def test_a_press_that_cannot_be_stored_is_not_noted_and_taken_later(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    with structlog.testing.capture_logs() as logs:
        async with running(discord_peer, desk) as adapter:
            await offer(adapter, DIRECT, "Yes")
            await desk.until(lambda: bool(desk.ignored))
            desk.is_full = True
            interaction = discord_peer.push_press("Yes")
            await desk.until(lambda: desk.refusals >= 2)
            assert discord_peer.calls("POST interaction") == []
            interaction.state = "expired"
            desk.is_full = False
            await desk.until(lambda: len(desk.events) == 1)
            await discord_peer.wait_for(lambda: bool(discord_peer.refusals))
    assert [e["event"] for e in logs] == ["discord.press_unacknowledged"]
    assert interaction.token not in str(logs)


async def test_a_button_that_is_not_ours_is_noted_and_passed_over(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    foreign = {"type": 2, "style": 1, "label": "Other", "custom_id": "other"}
    async with running(discord_peer, desk):
        row = {"type": 1, "components": [foreign]}
        discord_peer.world.send("5", {"content": "of an older version", "components": [row]})
        interaction = discord_peer.push_press("Other")
        await discord_peer.wait_for(lambda: interaction.state == "noted")
    assert desk.ignored == ["own message", "unknown button"]
    assert desk.events == []


async def test_a_press_where_the_bot_may_not_answer_is_told_to_its_sender_alone(
    discord_peer: DiscordPeer,
) -> None:
    desk = Desk()
    async with running(discord_peer, desk, channels=[12]) as adapter:
        await offer(adapter, Target("discord", "11"), "Yes")
        interaction = discord_peer.push_press("Yes", "11")
        await discord_peer.wait_for(lambda: interaction.state == "replied")
    assert interaction.ephemeral
    assert discord_peer.texts("11") == ["Shall I?"]


async def test_a_press_stays_in_the_thread_that_the_answer_began_or_could_not_begin(
    discord_peer: DiscordPeer,
) -> None:
    desk = Desk()
    async with running(discord_peer, desk, auto_thread=True) as adapter:
        for is_refused in (False, True):
            discord_peer.world.thread_refusals = is_refused
            discord_peer.push_text(f"<@{BOT_ID}> what is this?", "11")
            await desk.until(lambda: bool(desk.events) and desk.events[-1].text == "what is this?")
            asked = desk.events[-1]
            await offer(adapter, asked.reply_to[0], "Yes", key=asked.chat)
            event = await pressed(discord_peer, desk, "Yes", "11" if is_refused else asked.chat)
            assert (event.chat, event.thread, event.kind) == (asked.chat, asked.thread, asked.kind)
            (piece,) = adapter.render("all right", event.reply_to[0])
            await adapter.send(event.reply_to[0], piece, key=f"{asked.chat} answer")
            assert discord_peer.texts("11" if is_refused else asked.chat) == ["Shall I?", "all right"]
            desk.events.append(event)


# -- under the real gateway ---------------------------------------------------------------------------


@asynccontextmanager
async def living(root: Path, peer: DiscordPeer, model: ScriptedModel) -> AsyncIterator[Rig]:
    """The gateway over a home, with the adapter; it ends as by a kill."""
    adapter = make_discord(peer, Hasty())
    async with rig(
        root, config=CONFIG, model=model, clock=Hasty(), platform=adapter, instance="discord"
    ) as g:
        task = asyncio.create_task(adapter.run(g.core.intake("discord")), name="run discord")
        try:
            await peer.wait_online()
            yield g
        finally:
            task.cancel()
            await asyncio.wait((task,))
    await adapter.aclose()


def last(model: ScriptedModel) -> str:
    return model.requests[-1].messages[-1].text


async def test_presses_in_a_channel_are_messages_of_their_people_also_after_a_restart(
    discord_peer: DiscordPeer, tmp_path: Path
) -> None:
    asking = [offering("/new", "No"), Answer("Shall I?")]
    async with living(tmp_path / "home", discord_peer, ScriptedModel(asking)):
        discord_peer.push_text(f"<@{BOT_ID}> ask me", "11")
        await discord_peer.wait_for(lambda: discord_peer.buttons("11") == [["/new", "No"]])
    model = ScriptedModel()
    async with living(tmp_path / "home", discord_peer, model) as g:
        taps = [discord_peer.push_press("/new", "11") for _ in range(2)]
        await discord_peer.wait_text("11", "echo: ")
        assert last(model).endswith("> Shall I?\n\n/new")
        stranger = discord_peer.push_press("No", "11", "501")
        await discord_peer.wait_for(lambda: stranger.state == "replied")
        discord_peer.push_press("No", "11", "502")
        await discord_peer.wait_for(lambda: len(discord_peer.texts("11")) == 3)
        await g.quiet()
        keys = [row[0] for row in await g.rows("SELECT session_key FROM inbox ORDER BY id")]
    assert keys[0] == keys[1]
    assert keys[2] == keys[0].replace("u=500", "u=502")  # in channels each has a conversation of his own
    assert {tap.state for tap in taps} == {"noted"}
    assert stranger.ephemeral
    assert len(discord_peer.calls("POST message")) == 3


@pytest.mark.parametrize("is_killed", [False, True], ids=["at once", "after a kill"])
async def test_an_answer_that_grew_gets_its_buttons_with_its_last_edit(
    discord_peer: DiscordPeer, tmp_path: Path, is_killed: bool
) -> None:
    gate = asyncio.Event()
    script: list[Any] = [offering("Yes", "No"), Answer("Shall I do it now?", gate=gate)]
    async with living(tmp_path / "home", discord_peer, ScriptedModel(script)) as g:
        discord_peer.push_text("ask me")
        await discord_peer.wait_text("5", "offer_choices")  # it grows
        assert discord_peer.buttons("5") == [[]]
        if is_killed:
            discord_peer.faults.add("PATCH message", Fault("status", 502))
        gate.set()
        await discord_peer.wait_for(lambda: bool(discord_peer.calls("PATCH message")))
        if not is_killed:
            await g.quiet()
    if is_killed:
        assert discord_peer.buttons("5") == [[]]
        async with living(tmp_path / "home", discord_peer, ScriptedModel()):
            await discord_peer.wait_text("5", "Shall I do it now?")
    assert discord_peer.buttons("5") == [["Yes", "No"]]
    assert len(discord_peer.calls("POST message")) == 1
