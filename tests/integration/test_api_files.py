"""Files inside of requests to the API: kept before the request is taken, and refused in words."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adapters.api.adapter import build
from adapters.api.parse import BadRequest
from adapters.api.parts import Upload, read_content
from adapters.api.settings import ApiSettings
from gateway import wiring
from gateway.media.folder import MediaFolder
from gateway.media.rules import MediaRules, keep_in
from hermes.adapter import Adapter, AdapterContext, HttpLimits
from hermes.config import PlatformSettings
from hermes.home import Home
from tests.integration.house import House, open_house

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
KEY = "secret"
ADDRESS = "/v1/chat/completions"


def data_url(data: bytes, mime: str = "image/png") -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def image(data: bytes = PNG) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": data_url(data), "detail": "low"}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@asynccontextmanager
async def house_over(home: Home) -> AsyncIterator[tuple[House, aiohttp.ClientSession]]:
    folder = MediaFolder(home, wiring.kind_of)

    def built(settings: PlatformSettings, context: AdapterContext) -> Adapter:
        return build(settings, replace(context, keep=keep_in(folder, lambda: MediaRules(largest=1000))))

    settings = ApiSettings.model_validate({"type": "api", "key": KEY})
    async with (
        open_house(built, settings, HttpLimits(body=100_000)) as house,
        aiohttp.ClientSession(house.url, headers={"Authorization": f"Bearer {KEY}"}) as client,
    ):
        yield house, client


def ask(*messages: Any) -> dict[str, Any]:
    return {"model": "any", "messages": list(messages)}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


async def test_what_comes_inside_of_a_request_is_in_the_home_before_it_is_taken(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with house_over(home) as (house, client):
        pdf = {
            "type": "file",
            "file": {"filename": "../a.pdf", "file_data": data_url(b"%PDF-1.7", "application/pdf")},
        }
        sound = {
            "type": "input_audio",
            "input_audio": {"data": base64.b64encode(b"OggS\0").decode(), "format": "ogg"},
        }
        body = ask(
            user(text("old"), image(PNG + b"1")),
            {"role": "assistant", "content": "ok"},
            user(image(), pdf, sound),
        )
        async with client.post(ADDRESS, json=body) as answer:
            assert answer.status == 200
        (event,) = house.intake.events
        assert event.text == ""
        files = [a.file for a in event.attachments]
        assert [(f.kind, f.mime, f.name) for f in files if f] == [
            ("image", "image/png", "file.png"),
            ("document", "application/pdf", "a.pdf"),
            ("voice", "audio/ogg", "audio.ogg"),
        ]
        assert [home.stored(f).read_bytes() for f in files if f] == [PNG, b"%PDF-1.7", b"OggS\0"]
        assert [(m.text, len(m.files)) for m in event.history] == [("old", 1), ("ok", 0)]
        assert home.stored(event.history[0].files[0]).read_bytes() == PNG + b"1"


async def test_a_file_that_is_not_taken_is_a_400_and_nothing_is_stored(tmp_path: Path) -> None:
    async with house_over(Home(tmp_path)) as (house, client):
        async with client.post(ADDRESS, json=ask(user(text("look"), image(PNG + b"x" * 1000)))) as answer:
            assert answer.status == 400
            error = (await answer.json())["error"]
            assert "larger than media.largest (1,000 bytes)" in error["message"]
            assert (error["code"], error["param"]) == ("file_refused", "messages")
        assert house.intake.events == []


ELSEWHERE = {"type": "image_url", "image_url": {"url": "http://169.254.169.254/latest"}}


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (ELSEWHERE, "nothing is fetched from elsewhere"),
        (
            {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}},
            "nothing is fetched from elsewhere",
        ),
        ({"type": "image_url"}, "must be a string"),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}}, "no base64"),
        ({"type": "file", "file": {"file_id": "file-1"}}, "no stored files"),
        ({"type": "file"}, "must be an object"),
        ({"type": "input_audio", "input_audio": {"data": "AA=="}}, "format must be a string"),
        ({"type": "video_url"}, "parts of type text, image_url, file and input_audio"),
    ],
)
def test_other_parts_are_refused_in_words(part: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        read_content([part], "messages[0].content")


@pytest.mark.parametrize(
    ("part", "upload"),
    [
        ({"type": "input_image", "image_url": "data:image/gif,GIF89a%00"}, Upload("image", b"GIF89a\0")),
        (
            {"type": "input_file", "file_data": "aGk=", "filename": "hi.txt"},
            Upload("document", b"hi", "hi.txt"),
        ),
        ({"type": "file", "file": {"file_data": "data:;base64,aG\nk="}}, Upload("document", b"hi")),
    ],
)
def test_the_newer_names_of_parts_are_known_too(part: dict[str, Any], upload: Upload) -> None:
    assert read_content([part], "x").uploads == (upload,)
