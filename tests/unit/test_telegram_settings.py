import subprocess
import sys

import pytest
from pydantic import ValidationError

from adapters.telegram.settings import TelegramSettings


def read(**keys: object) -> TelegramSettings:
    return TelegramSettings.model_validate({"type": "telegram", "token": "1:A", **keys})


def test_the_documented_keys_are_read() -> None:
    settings = read(base_url="http://127.0.0.1:9001/bot", allow_from=["*"], rate="off")
    assert settings.token.get_secret_value() == "1:A"
    assert settings.file_url() == "http://127.0.0.1:9001/file/bot"
    assert (settings.allow_from, settings.rate, settings.mention) == (("*",), "off", "required")


def test_the_file_address_follows_the_address_unless_given() -> None:
    assert read().file_url() == "https://api.telegram.org/file/bot"
    assert read(base_url="http://bots.example/botapi/bot").file_url() == "http://bots.example/botapi/file/bot"
    assert read(base_file_url="http://files.example/f").file_url() == "http://files.example/f"


def test_white_space_around_a_pasted_token_is_dropped() -> None:
    assert read(token=" 123456:AA_b-c\n").token.get_secret_value() == "123456:AA_b-c"


@pytest.mark.parametrize("token", ["", "A", "1:", ":A", "1:a b", "1:a/../getMe", "1:ä"])
def test_what_is_no_token_is_told_without_showing_it(token: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read(token=token)
    (problem,) = caught.value.errors()
    assert "BotFather" in problem["msg"]
    assert token == "" or f"'{token}'" not in problem["msg"]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.telegram.org/bot",
        "ftp://x/bot",
        "http:///bot",
        "http://a b/bot",
        "http://[::1/bot",
        "http://x:70000/bot",
    ],
)
def test_what_is_no_address_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ValidationError, match="for example"):
        read(base_url=url)


def test_reading_the_settings_does_not_import_the_sdk() -> None:
    code = "import adapters.telegram.settings, sys; sys.exit('telegram' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
