"""The daemon is killed on a Discord message's way; the message is answered once all the same.

Discord knows an answer again by its nonce, so a kill between "sent" and "noted" doubles nothing in either mode.
"""

import asyncio
import json
import signal

import pytest

from tests.crash.house import AGAIN, House, MakeHouse, asks
from tests.crash.test_live import ASKS, FINAL, SLOW, UNKNOWN
from tests.peers.discord import BOT_ID, DiscordPeer

TOKEN = "m-dc-1"
ANSWER = f"done {TOKEN}."


@pytest.mark.parametrize("place", ["intake.parsed", "ledger.accepted:2", "turn.closed"])
async def test_killed_on_the_way_in(place: str, make_house: MakeHouse) -> None:
    await _killed_at(await make_house(), place)  # the first commit of a life is that of the new session


@pytest.mark.parametrize("place", ["outbox.claimed", "outbox.sent"])
async def test_killed_on_the_way_out(place: str, make_house: MakeHouse) -> None:
    async with asyncio.TaskGroup() as both:
        for mode in ("resend", "drop"):
            house = await make_house(delivery={"on_unknown": mode}, resume_max_starts=1000)
            both.create_task(_killed_at(house, place))


async def test_killed_before_the_commit_and_the_session_is_gone_too(make_house: MakeHouse) -> None:
    await _killed_at(await make_house(), "intake.parsed", forget=True)


@pytest.mark.parametrize("place", ["live.sent", "live.edited", "outbox.sent"])
async def test_killed_while_an_answer_grows(place: str, make_house: MakeHouse) -> None:
    """One message is left in the end, the final one; only a kill before its first receipt leaves a part over, reported."""
    house = await make_house()
    async with DiscordPeer() as peer:
        _move_to(house, peer)
        house.model.script.add(SLOW)
        await (await house.start(failpoint=place)).until_ready()
        peer.push_text(ASKS)
        assert await house.ended() == -signal.SIGKILL, f"{place} was never reached: {house.tail()}"
        await (await house.start()).until_ready()
        await peer.wait_for(lambda: FINAL in peer.texts("5"), 60)
        assert await house.stop() == 0
        *left_over, final = peer.texts("5")
        assert (final, len(left_over)) == (FINAL, place in UNKNOWN)
        assert all(FINAL.startswith(text) for text in left_over)
        assert peer.violations == []
    assert "".join(house.log).count("live.left_over") == len(left_over)
    assert house.query("SELECT state FROM inbox") == [("answered",)]
    assert house.query("SELECT state FROM outbox WHERE kind = 'reply'") == [("sent",)]


async def test_a_press_that_was_stored_is_answered_though_discord_never_heard_of_it(
    make_house: MakeHouse,
) -> None:
    house = await make_house()
    async with DiscordPeer() as peer:
        _move_to(house, peer)
        await (await house.start()).until_ready()
        peer.push_text(f'{TOKEN} [[tool=offer_choices {{"choices": ["Yes"]}}]] [[text={ANSWER}]]')
        await peer.wait_for(lambda: peer.buttons("5") == [["Yes"]], 30)
        assert await house.stop() == 0
        # Reached by what is stored alone: a start reads what came meanwhile, our own message too.
        await (await house.start(failpoint="session.queued")).until_ready()
        press = peer.push_press("Yes")
        assert await house.ended() == -signal.SIGKILL, house.tail()
        await (await house.start()).until_ready()
        await peer.wait_for(lambda: len(peer.texts("5")) == 2, 30)
        assert await house.stop() == 0
        assert press.state == "open"
        assert len(peer.texts("5")) == 2
    assert house.query("SELECT state FROM inbox") == [("answered",)] * 2


async def _killed_at(house: House, place: str, *, forget: bool = False) -> None:
    async with DiscordPeer() as peer:
        _move_to(house, peer)
        await (await house.start(failpoint=place)).until_ready()
        peer.push_text(f"<@{BOT_ID}> {asks(TOKEN)}", "11")
        assert await house.ended() == -signal.SIGKILL, f"{place} was never reached: {house.tail()}"
        if forget:
            peer.gateway.forget()
        await (await house.start()).until_ready()
        await peer.wait_text("11", ANSWER, 30)
        assert await house.stop() == 0
        assert peer.texts("11") == [AGAIN + ANSWER if place == "outbox.claimed" else ANSWER]
        assert peer.violations == []
        assert len(peer.calls("GET messages")) == forget
    assert house.query("SELECT state FROM inbox") == [("answered",)]
    assert house.query("SELECT kind, state FROM outbox") == [("reply", "sent")]


def _move_to(house: House, peer: DiscordPeer) -> None:
    path = house.home / "config.yaml"
    config = json.loads(path.read_text())
    config["platforms"] = {
        "discord": {
            "token": peer.token,
            "base_url": peer.base_url,
            "gateway_url": peer.gateway_url,
            "allow_from": ["*"],
            "rate": "off",
            "slash_commands": False,
        }
    }
    path.write_text(json.dumps(config))
