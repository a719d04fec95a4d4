"""Pictures on the wire to a model, from a gateway to a server that checks them as strict providers do."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hermes.events import Attachment
from tests.gatewayrig import OPEN, Rig, rig
from tests.integration.test_gateway_files import Shelf
from tests.peers.model import ModelPeer, fails, says
from tests.peers.model.audio import HEARD

NO_EYES = "Invalid content type. image_url is only supported by certain models."


def png(width: int = 2, height: int = 2, colour: int = 0) -> bytes:
    """A whole PNG in one colour; big ones compress to little."""
    rows = (b"\0" + bytes([colour]) * width) * height

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


@asynccontextmanager
async def gateway(
    root: Path, peer: ModelPeer, shelf: dict[str, bytes], *, own: str = "", auxiliary: str = "{}"
) -> AsyncIterator[Rig]:
    custom = f"{{base_url: '{peer.url}'{own}}}"
    llm = f"{{provider: custom, model: peer-model, custom: {custom}, auxiliary: {auxiliary}}}"
    config = f"{OPEN}\nllm: {llm}\n"
    async with rig(root / "home", config=config, adapter=Shelf(shelf=shelf), as_configured=True) as g:
        yield g


def image(ref: str) -> Attachment:
    return Attachment("image", ref, f"{ref}.png")


def last(peer: ModelPeer, request: int = -1) -> Any:
    body = peer.requests[request].body
    assert body is not None
    return body["messages"][-1]["content"]


def urls(peer: ModelPeer, request: int = -1) -> list[str]:
    body = peer.requests[request].body
    assert body is not None
    parts = [p for m in body["messages"] if isinstance(m["content"], list) for p in m["content"]]
    return [p["image_url"]["url"] for p in parts if p["type"] == "image_url"]


async def test_a_picture_arrives_as_it_was_sent(tmp_path: Path, model_peer: ModelPeer) -> None:
    cat = png(3, 5)
    async with gateway(tmp_path, model_peer, {"cat": cat}) as g:
        await g.send("what is it?", attachments=(image("cat"),))
        await g.answered(1)
        words, picture = last(model_peer)
        assert words == {"type": "text", "text": "what is it?"}
        kind, _, data = picture["image_url"]["url"].partition(",")
        assert (kind, base64.b64decode(data)) == ("data:image/png;base64", cat)
        await g.send("and now?")
        await g.answered(2)
        assert last(model_peer) == "and now?"
        assert len(urls(model_peer)) == 1
        await g.quiet()
    for path in (tmp_path / "home").rglob("*"):
        assert not path.is_file() or b"base64," not in path.read_bytes(), path


async def test_a_model_without_eyes_is_tried_once_and_then_told_in_words(
    tmp_path: Path, model_peer: ModelPeer
) -> None:
    model_peer.script.add(fails(400, NO_EYES), model="peer-model")
    model_peer.script.add(says("A grey square."), model="peer-small")
    shelf = {"cat": png(), "dog": png(colour=9)}
    async with gateway(tmp_path, model_peer, shelf, auxiliary="{vision: custom/peer-small}") as g:
        await g.send("what is it?", attachments=(image("cat"),))
        await g.answered(1)
        assert [r.model for r in model_peer.requests] == ["peer-model", "peer-small", "peer-model"]
        assert "another model describes it" in last(model_peer)
        assert "A grey square." in last(model_peer)
        assert len(urls(model_peer, 1)) == 1
        await g.quiet()
        await g.send("and now?")
        await g.answered(2)
        assert urls(model_peer) == []
        assert len(model_peer.requests) == 4
        tasks = await g.rows("SELECT task, model FROM calls ORDER BY id")
        assert ("vision", "custom/peer-small") in tasks


async def test_a_model_that_is_said_to_see_nothing_is_not_tried(
    tmp_path: Path, model_peer: ModelPeer
) -> None:
    async with gateway(tmp_path, model_peer, {"cat": png()}, own=", vision: false") as g:
        await g.send("what is it?", attachments=(image("cat"),))
        await g.answered(1)
        assert len(model_peer.requests) == 1
        assert last(model_peer).endswith("and no other model is set up to describe it.]")


async def test_MD_23_an_oversize_picture_spoils_neither_its_turn_nor_the_next(
    tmp_path: Path, model_peer: ModelPeer
) -> None:
    async with gateway(tmp_path, model_peer, {"tall": png(1440, 9000)}) as g:
        await g.send("look", attachments=(image("tall"),))
        assert "look" in (await g.answered(1))[0]
        assert "[The picture tall.png cannot be shown to you: it is too large.]" in last(model_peer)
        await g.send("next")
        assert (await g.answered(2))[1] == "echo: next"
        assert urls(model_peer) == []


async def test_MD_24_many_pictures_stay_few_on_the_wire_and_a_broken_one_is_a_note(
    tmp_path: Path, model_peer: ModelPeer
) -> None:
    shelf = {str(i): png(2500, 1000, colour=i) for i in range(21)} | {
        "broken": b"\x89PNG\0\0\0 but not really"
    }
    async with gateway(tmp_path, model_peer, shelf) as g:
        for i in range(21):
            await g.send(f"look {i}", attachments=(image(str(i)),))
            await g.answered(i + 1)
        assert max(len(urls(model_peer, i)) for i in range(21)) <= 12
        await g.send("and this?", attachments=(image("broken"),))
        assert (await g.answered(22))[21].startswith("echo: and this?")
        assert "[The file broken.png was not read" in last(model_peer)
        assert {r.outcome for r in model_peer.requests} == {"ok"}


async def test_a_picture_that_the_provider_cannot_read_is_left_out_and_stays_out(
    tmp_path: Path, model_peer: ModelPeer
) -> None:
    shelf = {"cat": png(), "bad": b"\xff\xd8\xff\xe0 a picture that ends too soon"}
    async with gateway(tmp_path, model_peer, shelf) as g:
        await g.send("look", attachments=(image("cat"),))
        await g.answered(1)
        await g.send("and this?", attachments=(image("bad"),))
        assert (await g.answered(2))[1].startswith("echo: and this?")
        assert "[The picture bad.png was refused by the model's provider.]" in last(model_peer)
        assert len(urls(model_peer)) == 1
        await g.send("next")
        await g.answered(3)
        assert [r.outcome for r in model_peer.requests] == ["ok", "violation", "ok", "ok"]
        model_peer.violations.clear()


async def test_a_refusal_for_another_reason_is_told_and_the_picture_is_shown_the_next_time(
    tmp_path: Path, model_peer: ModelPeer
) -> None:
    model_peer.script.add(fails(400, "no"), fails(400, "no"))
    async with gateway(tmp_path, model_peer, {"cat": png()}) as g:
        await g.send("look", attachments=(image("cat"),))
        assert "refused the request" in (await g.answered(1))[0]
        assert [len(urls(model_peer, i)) for i in range(2)] == [1, 0]
        await g.send("again")
        await g.answered(2)
        assert len(urls(model_peer)) == 1


async def test_what_was_spoken_is_what_was_said(tmp_path: Path, model_peer: ModelPeer) -> None:
    model_peer.script.add(says("buy milk"), fails(500), text=HEARD)
    custom = f"{{base_url: '{model_peer.url}'}}"
    config = (
        f"{OPEN}\nllm: {{provider: custom, model: peer-model, custom: {custom}}}\n"
        f"media: {{voice: {{provider: custom, base_url: '{model_peer.url}'}}}}\n"
    )
    adapter = Shelf(shelf={"say": b"OggS" + bytes(range(256)), "song": b"ID3\4" + bytes(range(256))})
    async with rig(tmp_path / "home", config=config, adapter=adapter, as_configured=True) as g:
        await g.send("", attachments=(Attachment("voice", "say"),))
        assert (await g.answered(1))[0] == "echo: buy milk"
        await g.quiet()
        assert await g.rows("SELECT title FROM sessions") == [("buy milk",)]
        await g.send("", attachments=(Attachment("audio", "song", "a [song].mp3"),))
        await g.answered(2)
        told = "[The recording a song .mp3 was not listened to: who does that cannot be reached.]"
        assert last(model_peer) == told
        await g.core.readers.aclose()
