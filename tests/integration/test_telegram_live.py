"""Answers that grow on Telegram: the real SDK against the Bot API peer, which refuses edits as the platform does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hermes.model import Completion
from hermes.testing import Answer, ScriptedModel
from tests.gatewayrig import Rig, rig
from tests.integration.telegram_desk import opened
from tests.peers.faults import too_many
from tests.peers.telegram import Fault, TelegramPeer, refusal

CHAT = 5
NOT_MODIFIED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the same "
    "as a current content and reply markup of the message"
)


class Slow(ScriptedModel):
    """Gives its pieces one by one, each when its step is set."""

    def __init__(self, *pieces: str) -> None:
        super().__init__()
        self.pieces = pieces
        self.steps = [asyncio.Event() for _ in pieces]
        self.end = asyncio.Event()

    async def _answer(self, answer: Answer, on_text: Callable[[str], None]) -> Completion:
        for piece, step in zip(self.pieces, self.steps, strict=True):
            await step.wait()
            on_text(piece)
        await self.end.wait()
        return await super()._answer(Answer("".join(self.pieces)), lambda _: None)


@asynccontextmanager
async def growing(root: Path, peer: TelegramPeer, model: Slow) -> AsyncIterator[Rig]:
    peer.add_chat(CHAT)
    async with opened(peer) as telegram, rig(root, model=model, platform=telegram) as g:
        await g.send("count", str(CHAT))
        model.steps[0].set()
        await peer.wait_for(lambda: peer.chats[CHAT].texts() == [model.pieces[0]])
        yield g


async def _is_delivered_once(g: Rig, peer: TelegramPeer, text: str) -> None:
    """One message stands in the chat, sent once; the turn is answered, and nobody is told of an error."""
    await g.quiet()
    assert peer.chats[CHAT].texts() == [text]
    assert len(peer.calls("sendMessage")) == 1
    assert await g.rows("SELECT state FROM inbox") == [("answered",)]
    assert await g.rows("SELECT kind, state FROM outbox ORDER BY id") == [("live", "sent"), ("reply", "sent")]


async def test_TG_10_an_edit_that_changes_nothing_does_not_end_the_growing(
    tmp_path: Path, telegram_peer: TelegramPeer
) -> None:
    peer, model = telegram_peer, Slow("Hello", "\n", "World", "!")
    async with growing(tmp_path / "home", peer, model) as g:
        peer.faults.add("editMessageText", refusal(400, NOT_MODIFIED))
        model.steps[1].set()
        model.steps[2].set()
        await peer.wait_for(lambda: len(peer.calls("editMessageText")) == 1)
        model.steps[3].set()
        await peer.wait_for(lambda: peer.chats[CHAT].texts() == ["Hello\nWorld!"])
        model.end.set()
        await _is_delivered_once(g, peer, "Hello\nWorld!")
    assert peer.violations == []


@pytest.mark.parametrize("first", [(), (refusal(400, "Bad Request: can't parse entities: unexpected end"),)])
async def test_TG_11_a_last_edit_that_changes_nothing_is_a_delivery(
    tmp_path: Path, telegram_peer: TelegramPeer, first: tuple[Fault, ...]
) -> None:
    peer, model = telegram_peer, Slow("Hello World")
    async with growing(tmp_path / "home", peer, model) as g:
        peer.faults.add("editMessageText", *first)
        model.end.set()
        await _is_delivered_once(g, peer, "Hello World")
        assert len(peer.calls("editMessageText")) == 1 + len(first)


async def test_SE_12_a_growing_answer_that_is_longer_than_a_message_goes_on_in_order(
    tmp_path: Path, telegram_peer: TelegramPeer
) -> None:
    words = [f"w{n:04d} " for n in range(1200)]
    peer, model = telegram_peer, Slow("first ", "".join(words[:600]), "".join(words[600:]))
    peer.add_chat(CHAT)
    async with opened(peer) as telegram, rig(tmp_path / "home", model=model, platform=telegram) as g:
        await g.send("count", str(CHAT))
        model.steps[0].set()
        await peer.wait_for(lambda: peer.chats[CHAT].texts() == ["first"])
        model.steps[1].set()
        await peer.wait_for(lambda: "w0500" in "".join(peer.chats[CHAT].texts()))
        model.steps[2].set()
        await peer.wait_for(lambda: len(peer.calls("editMessageText")) >= 1)
        model.end.set()
        await g.quiet()
        said = " ".join(peer.chats[CHAT].texts()).split()
    assert said == "".join(model.pieces).split()
    assert len(peer.chats[CHAT].texts()) == 2
    assert peer.violations == []


async def test_SE_03_two_chats_grow_at_once_and_one_that_is_stopped_stops_alone(
    tmp_path: Path, telegram_peer: TelegramPeer
) -> None:
    peer, model = telegram_peer, Slow("Hello", " World")
    peer.add_chat(CHAT)
    peer.add_chat(6)
    async with opened(peer) as telegram, rig(tmp_path / "home", model=model, platform=telegram) as g:
        await g.send("count", str(CHAT))
        await g.send("count", "6")
        model.steps[0].set()
        await peer.wait_for(lambda: all(peer.chats[chat].texts() == ["Hello"] for chat in (CHAT, 6)))
        await g.send("/stop", "6")
        await peer.wait_for(lambda: peer.chats[6].texts() == ["Stopped."])
        model.steps[1].set()
        model.end.set()
        await g.quiet()
        assert peer.chats[CHAT].texts() == ["Hello World"]
        assert peer.chats[6].texts() == ["Stopped."]
    assert peer.violations == []


async def test_SE_12_a_message_that_is_deleted_while_it_grows_is_sent_anew_once(
    tmp_path: Path, telegram_peer: TelegramPeer
) -> None:
    peer, model = telegram_peer, Slow("Hello", " World")
    async with growing(tmp_path / "home", peer, model) as g:
        peer.faults.add("editMessageText", *[refusal(400, "Bad Request: message to edit not found")] * 2)
        model.steps[1].set()
        await peer.wait_for(lambda: len(peer.calls("editMessageText")) >= 1)
        model.end.set()
        await g.quiet()
        assert peer.chats[CHAT].texts()[-1] == "Hello World"
        assert len(peer.calls("sendMessage")) == 2


async def test_SE_12_a_flood_wait_in_the_middle_delays_the_end_and_loses_nothing(
    tmp_path: Path, telegram_peer: TelegramPeer
) -> None:
    peer, model = telegram_peer, Slow("Hello", " World", "!")
    async with growing(tmp_path / "home", peer, model) as g:
        peer.faults.add("editMessageText", too_many(2))
        model.steps[1].set()
        await peer.wait_for(lambda: len(peer.calls("editMessageText")) == 1)
        model.steps[2].set()
        model.end.set()
        await _is_delivered_once(g, peer, "Hello World!")
        assert len(peer.calls("editMessageText")) == 2, "none was tried in the pause"
