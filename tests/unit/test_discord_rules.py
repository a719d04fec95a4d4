"""The pure parts of the Discord adapter: errors, limits, the watermark, the menu, settings, other bots."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from adapters.discord.bots import BotBook
from adapters.discord.client import Rest
from adapters.discord.closing import judge_close
from adapters.discord.commands import MOST, is_same, menu
from adapters.discord.failures import Refused, failure
from adapters.discord.limits import Limits
from adapters.discord.mark import CHANNELS, Mark, at_time, time_of
from adapters.discord.settings import DiscordSettings
from hermes.adapter import CommandInfo
from hermes.clock import SystemClock
from hermes.config import Network, Rate
from hermes.errors import AdapterError, NotTaken, OutcomeUnknown, Rejected, Unauthorized, Unreachable


def told(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


# -- errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, told(message="401: Unauthorized", code=0), Unauthorized),
        (403, told(message="Missing Access", code=50001), Rejected),
        (404, told(message="Unknown Channel", code=10003), Rejected),
        (400, told(message="Invalid Form Body", code=50035, errors={"content": "x"}), Rejected),
        (429, told(message="slow", retry_after=1.5), NotTaken),
        (429, b"<html>", NotTaken),
        (403, b"<html>a proxy", NotTaken),
        (500, told(message="oh", code=0), OutcomeUnknown),
        (502, b"<html>", OutcomeUnknown),
    ],
)
def test_each_answer_has_its_meaning(status: int, body: bytes, kind: type[AdapterError]) -> None:
    assert type(failure("POST message", status, {}, body)) in (kind, Refused)
    assert isinstance(failure("POST message", status, {}, body), kind)


def test_an_expired_slash_command_says_nothing_about_the_token() -> None:
    gone = failure("PATCH interaction", 401, {}, told(message="Invalid Webhook Token", code=50027))
    assert isinstance(gone, Refused)
    assert gone.code == 50027


def test_what_is_wrong_with_a_form_is_said() -> None:
    error = failure(
        "POST message", 400, {}, told(message="Invalid Form Body", code=50035, errors={"nonce": 1})
    )
    assert "nonce" in str(error)


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({}, told(retry_after=2.5), 2.5),
        ({"Retry-After": "7"}, b"<html>", 7.0),
        ({}, b"", 60.0),
        ({"Retry-After": "soon"}, told(retry_after="x"), 60.0),
    ],
)
def test_a_pause_is_read_from_either_place(headers: dict[str, str], body: bytes, seconds: float) -> None:
    error = failure("POST message", 429, headers, body)
    assert isinstance(error, NotTaken)
    assert error.retry_after == seconds


def test_close_codes_say_what_to_do() -> None:
    intent = judge_close(4014)
    assert isinstance(intent, Unauthorized)
    assert intent.setting is None, "the token is right"
    assert "Message Content Intent" in str(intent)
    assert "message_content: false" in str(intent)
    token = judge_close(4004)
    assert isinstance(token, Unauthorized)
    assert token.setting == "token"
    assert not isinstance(judge_close(4000), Unauthorized)
    assert not isinstance(judge_close(None), Unauthorized)


# -- limits -------------------------------------------------------------------------------------------


def test_a_429_of_a_channel_holds_that_channel_and_a_global_one_all() -> None:
    limits = Limits()
    limits.note("POST message 1", 429, {}, told(retry_after=3), 100.0)
    assert limits.wait("POST message 1", 101.0) == 2.0
    assert limits.wait("POST message 2", 101.0) == 0.0
    limits.note("POST message 2", 429, {}, told(retry_after=5, **{"global": True}), 101.0)
    assert limits.wait("GET me", 102.0) == 4.0


def test_a_429_of_the_server_before_discord_holds_everything() -> None:
    limits = Limits()
    limits.note("POST message 1", 429, {"Retry-After": "30"}, b"<html>1015", 100.0)
    assert limits.wait("POST message 2", 110.0) == 20.0


def test_a_bucket_that_is_used_up_is_waited_for() -> None:
    limits = Limits()
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "1.5"}
    limits.note("POST message 1", 200, headers, b"{}", 100.0)
    assert limits.wait("POST message 1", 100.5) == 1.0
    assert limits.wait("POST message 1", 101.6) == 0.0
    limits.note("POST message 2", 200, {"X-RateLimit-Remaining": "0"}, b"{}", 100.0)
    assert limits.wait("POST message 2", 100.0) == 0.0


def test_before_too_many_refusals_nothing_more_is_asked() -> None:
    limits = Limits()
    for n in range(8_000):
        assert limits.wait("POST typing 1", 100.0) == 0.0, n
        limits.note("POST typing 1", 403, {}, told(code=50001), 100.0)
    assert limits.wait("GET me", 100.0) == 600.0
    assert limits.wait("GET me", 701.0) == 0.0


# -- the watermark ------------------------------------------------------------------------------------


def test_a_mark_survives_the_store_and_nonsense_is_an_empty_one() -> None:
    mark = Mark(("s", 7, "wss://x"), 1000)
    mark.saw("5", 1001)
    again = Mark.from_text(mark.to_text())
    assert (again.session, again.since, again.channels) == (mark.session, 1000, mark.channels)
    for text in (None, "", "x", "[]", "[1,2,3]", '[null,null,{"a":"b"}]', "{}"):
        assert Mark.from_text(text) == Mark()


def test_a_mark_keeps_the_channels_heard_last() -> None:
    mark = Mark()
    for n in range(CHANNELS + 5):
        mark.saw(str(n), n + 1)
        mark.saw("5", n + 1)
    assert len(mark.channels) == CHANNELS
    assert "5" in mark.channels
    assert "0" not in mark.channels


def test_a_channel_is_read_from_its_own_last_message_or_a_little_before_all() -> None:
    now = at_time(1_800_000_000.0)
    mark = Mark(since=now)
    mark.saw("5", now - 5)
    assert mark.after("5", 0) == now - 5
    assert time_of(now) - time_of(mark.after("6", 0)) == 60.0
    assert mark.after("5", now + 1) == now + 1  # nothing older than a day


# -- the menu -----------------------------------------------------------------------------------------


def test_DC_17_with_too_many_commands_the_core_ones_stay_and_ask_reaches_the_others() -> None:
    skills = [CommandInfo(f"skill-{n}", "a skill") for n in range(110)]
    core = [CommandInfo(name, "core") for name in ("help", "new", "stop")]
    names = [c["name"] for c in menu([*skills, *core])]
    assert len(names) == MOST
    assert {"help", "new", "stop", "ask"} <= set(names)
    assert len(set(names)) == len(names)


def test_names_that_discord_does_not_take_are_left_out_and_descriptions_are_cut() -> None:
    found = menu(
        [CommandInfo("Ok", ""), CommandInfo("a b", ""), CommandInfo("fine", "d" * 200), CommandInfo("x", "")]
    )
    assert [c["name"] for c in found] == ["ask", "fine", "x"]
    assert all(1 <= len(c["description"]) <= 100 for c in found)


def test_an_unchanged_menu_is_known_as_such() -> None:
    wanted = menu([CommandInfo("help", "What I can do")])
    registered = [{**c, "id": "1", "version": "2", "nsfw": False} for c in reversed(wanted)]
    assert is_same(registered, wanted)
    assert not is_same(registered[:1], wanted)
    assert not is_same([{**registered[0], "description": "other"}, registered[1]], wanted)
    assert not is_same(None, wanted)


# -- settings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keys",
    [
        {"token": ""},
        {"token": "two words"},
        {"token": "of.two"},
        {"token": "t.t.t", "base_url": "discord.com"},
        {"token": "t.t.t", "gateway_url": "https://discord.com"},
        {"token": "t.t.t", "base_url": "http://127.0.0.1:9002/api/v10"},
        {"token": "t.t.t", "base_url": "https://notdiscord.com/api"},
        {"token": "t.t.t", "mention": "maybe"},
        {"token": "t.t.t", "unknown": 1},
        {},
    ],
)
def test_settings_that_cannot_be_right_are_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DiscordSettings.model_validate(keys)


def test_settings_are_read_kindly() -> None:
    own = {"base_url": "http://x/api/v10/", "gateway_url": "ws://x/gw"}
    found = DiscordSettings.model_validate(
        {"token": " Bot a.b.c ", **own, "channels": [5, "6"], "free_channels": 7}
    )
    DiscordSettings.model_validate({"token": "t.t.t", "base_url": "https://canary.discord.com/api/v10"})
    assert found.token.get_secret_value() == "a.b.c"
    assert (found.base_url, found.channels, found.free_channels) == ("http://x/api/v10", ("5", "6"), ("7",))
    assert found.secrets() == ("token",)
    assert found.bot_rate == Rate(5, 60.0)


# -- other bots ---------------------------------------------------------------------------------------


def test_DC_08_a_bot_that_writes_on_and_on_is_heard_a_few_times_a_minute() -> None:
    book = BotBook(DiscordSettings.model_validate({"token": "t.t.t"}).bot_rate)
    heard = [book.hears("77", n * 2.0) for n in range(30)]
    assert 1 <= sum(heard) <= 10
    assert book.hears("78", 59.0)
    assert book.hears("77", 120.0)
    assert all(BotBook(None).hears("77", 0.0) for _ in range(100))


# -- the road there -----------------------------------------------------------------------------------


async def test_certificates_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    network = Network(ca_file=tmp_path / "none.pem")
    rest = Rest("token", "https://127.0.0.1:9/api/v10", network, SystemClock())
    with pytest.raises(Unreachable, match=r"none\.pem"):
        await rest.call("GET", "/users/@me", name="GET me")
    await rest.aclose()
    with pytest.raises(Unreachable, match="closed"):
        await rest.call("GET", "/users/@me", name="GET me")


async def test_no_error_holds_the_token_or_a_commands_secret() -> None:
    rest = Rest("the-token", "http://127.0.0.1:9/api/v10", Network(), SystemClock())
    with pytest.raises(Unreachable) as told:
        await rest.call("PATCH", "/webhooks/1/the-secret/messages/@original", {}, name="PATCH interaction")
    await rest.aclose()
    chain = f"{told.value} {told.value.__cause__!r}"
    assert "the-token" not in chain
    assert "the-secret" not in chain
