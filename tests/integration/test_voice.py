"""Speech to text over the wire that the models use, against a server on loopback."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from agent_core.models.connection import Connection, Endpoint
from agent_core.models.limits import Limits
from hermes.errors import ModelError
from hermes.voice import Transcript, VoiceSettings
from media.voice import Transcriber, voice_of
from tests.peers.model import Answer, ModelPeer, fails, says
from tests.peers.model.audio import HEARD

SOUND = b"OggS" + bytes(range(256)) * 40
KEY = "sk-voice-0123456789"


def transcriber(url: str, **fields: Any) -> Transcriber:
    settings = VoiceSettings(provider="custom", base_url=url, api_key=SecretStr(KEY), **fields)
    voice = voice_of(settings)
    assert voice is not None
    limits = Limits(first_byte=settings.timeout)
    return Transcriber(settings, voice, Connection(Endpoint("voice", voice.base_url, voice.headers, limits)))


@pytest.fixture
async def make(model_peer: ModelPeer) -> AsyncIterator[Callable[..., Transcriber]]:
    made: list[Transcriber] = []

    def build(**fields: Any) -> Transcriber:
        made.append(transcriber(model_peer.url, **fields))
        return made[-1]

    yield build
    for one in made:
        await one.aclose()


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    path = tmp_path / 'my "secret"\r\nname.oga'
    path.write_bytes(SOUND)
    return path


async def test_a_recording_goes_out_whole_and_comes_back_as_words(
    make: Callable[..., Transcriber], model_peer: ModelPeer, sound: Path
) -> None:
    model_peer.api_key = KEY
    model_peer.script.add(says("  Bring milk.\n"))
    assert await make(language="de").transcribe(sound, "audio/ogg") == Transcript("Bring milk.", 10.0)
    (request,) = model_peer.requests
    digest = hashlib.sha256(SOUND).hexdigest()
    assert request.body == {
        "model": "whisper-1",
        "response_format": "json",
        "language": "de",
        "file": {"name": "sound.ogg", "type": "audio/ogg", "size": len(SOUND), "digest": digest},
    }


async def test_one_connection_serves_all(
    make: Callable[..., Transcriber], model_peer: ModelPeer, sound: Path
) -> None:
    one = make(model="peer-small")
    first, second = await one.transcribe(sound, "audio/mpeg"), await one.transcribe(sound, "audio/mp4")
    assert (first.text, second.text) == (
        f"{len(SOUND)} bytes of audio/mpeg",
        f"{len(SOUND)} bytes of audio/mp4",
    )
    assert model_peer.connections_opened == 1
    assert [(r.model, "language" in (r.body or {})) for r in model_peer.requests] == [
        ("peer-small", False)
    ] * 2


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (fails(401, f"bad key {KEY}"), "auth"),
        (fails(404), "config"),
        (fails(413), "overflow"),
        (fails(400, "Invalid file format."), "bad_request"),
        (fails(429, retry_after=7), "rate_limit"),
        (fails(503), "overload"),
        (Answer(raw="no json"), "malformed"),
        (Answer(raw='{"text": 7}'), "malformed"),
        (Answer(raw="[]"), "malformed"),
        (Answer(raw="[" * 100_000), "malformed"),
        (Answer(text="long", cut_after=3), "network"),
        (Answer(hang="headers"), "timeout"),
        (Answer(text="long", hang="body"), "timeout"),
    ],
)
async def test_what_goes_wrong_has_a_kind_and_no_secret(
    make: Callable[..., Transcriber], model_peer: ModelPeer, sound: Path, answer: Answer, kind: str
) -> None:
    model_peer.script.add(answer, text=HEARD)
    one = make(timeout=0.5 if kind == "timeout" else 30)
    with pytest.raises(ModelError) as caught:
        await one.transcribe(sound, "audio/ogg")
    assert caught.value.kind == kind
    assert caught.value.retry_after == (7 if kind == "rate_limit" else None)
    assert KEY not in str(caught.value)
    assert "secret" not in str(caught.value)
    after = make() if kind == "timeout" else one
    assert (await after.transcribe(sound, "audio/ogg")).text, "the next one works"


async def test_nobody_answers(sound: Path) -> None:
    one = transcriber("http://127.0.0.1:9/v1")
    with pytest.raises(ModelError) as caught:
        await one.transcribe(sound, "audio/ogg")
    assert caught.value.kind == "network"
    await one.aclose()


async def test_what_is_too_large_or_gone_is_not_sent(
    make: Callable[..., Transcriber], model_peer: ModelPeer, sound: Path
) -> None:
    for path, limit, kind in (
        (sound, len(SOUND) - 1, "overflow"),
        (sound / "gone", len(SOUND), "bad_request"),
    ):
        with pytest.raises(ModelError) as caught:
            await make(largest=limit).transcribe(path, "audio/ogg")
        assert caught.value.kind == kind
    assert model_peer.requests == []
    assert (await make(largest=len(SOUND)).transcribe(sound, "audio/ogg")).text


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ({"text": "x"}, None),
        ({"text": "x", "duration": 3.5}, 3.5),
        ({"text": "x", "usage": {"type": "duration", "seconds": 4}}, 4.0),
        ({"text": "x", "usage": {"type": "tokens", "input_tokens": 14}}, None),
        ({"text": "x", "usage": None, "duration": -1}, None),
        ({"text": "x", "duration": 10**400}, None),
        ({"text": "x", "duration": True}, None),
        ({"text": "x", "duration": "3"}, None),
    ],
)
async def test_seconds_are_told_where_the_provider_tells_them(
    make: Callable[..., Transcriber],
    model_peer: ModelPeer,
    sound: Path,
    told: dict[str, Any],
    seconds: float | None,
) -> None:
    model_peer.script.add(Answer(raw=json.dumps(told)))
    assert await make().transcribe(sound, "audio/ogg") == Transcript("x", seconds)


async def test_who_is_cancelled_lets_go_of_the_connection(
    make: Callable[..., Transcriber], model_peer: ModelPeer, sound: Path
) -> None:
    model_peer.script.add(Answer(hang="headers"))
    asking = asyncio.create_task(make().transcribe(sound, "audio/ogg"))
    await model_peer.wait_for(lambda: len(model_peer.requests) == 1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await model_peer.wait_for(lambda: model_peer.requests[0].outcome == "client-gone")


def test_settings_say_who_does_it_or_what_is_missing() -> None:
    assert voice_of(VoiceSettings()) is None
    groq = voice_of(VoiceSettings(provider="groq", api_key=SecretStr(" k \n")))
    assert groq is not None
    assert (groq.base_url, groq.model) == ("https://api.groq.com/openai/v1", "whisper-large-v3-turbo")
    assert groq.headers == {"Authorization": "Bearer k"}
    assert "Bearer" not in repr(groq)
    free = voice_of(VoiceSettings(provider="custom", base_url="http://127.0.0.1:8000/v1"))
    assert free is not None
    assert free.headers == {}
    for settings, word in (
        (VoiceSettings(provider="openai"), "MEDIA_VOICE_API_KEY"),
        (VoiceSettings(provider="custom"), "base_url"),
        (VoiceSettings(provider="groq", api_key=SecretStr("schlüssel")), "cannot be sent"),
    ):
        with pytest.raises(ModelError, match=word) as caught:
            voice_of(settings)
        assert caught.value.kind == "config"
    for wrong in ({"provider": "custom", "base_url": "ftp://x"}, {"language": "Deutsch"}, {"timeout": 0}):
        with pytest.raises(ValidationError):
            VoiceSettings(**wrong)
