"""Settings, manifest, errors and signatures of Slack."""

import hashlib
import hmac
from typing import Any

import pytest
from pydantic import ValidationError

from adapters.slack.failures import failure
from adapters.slack.manifest import NEEDED, manifest
from adapters.slack.requests import fault_of
from adapters.slack.settings import SlackSettings
from hermes.errors import NotTaken, OutcomeUnknown, Unauthorized

SOCKET = {"type": "slack", "bot_token": "xoxb-1", "app_token": "xapp-1"}


def settings(**more: Any) -> SlackSettings:
    return SlackSettings.model_validate({**SOCKET, **more})


def test_few_words_are_enough() -> None:
    found = settings(base_url="http://127.0.0.1:9003/api", allow_from=["*"], rate="off")
    assert (found.mode, found.mention, found.thread_mention, found.reply_in) == (
        "socket", "required", "off", "thread",
    )  # fmt: skip
    assert found.base_url == "http://127.0.0.1:9003/api/"
    assert set(found.secrets()) == {"bot_token", "app_token", "signing_secret"}
    assert "xoxb" not in repr(found)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"bot_token": "xapp-1"}, "begins with xoxb-"),
        ({"bot_token": "xoxp-1"}, "begins with xoxb-"),
        ({"app_token": "xoxb-1"}, "begins with xapp-"),
        ({"app_token": None}, "app_token is missing"),
        ({"mode": "http"}, "needs signing_secret"),
        ({"mode": "http", "signing_secret": ""}, "needs signing_secret"),
        ({"base_url": "slack.com/api"}, "https://slack.com/api/"),
        ({"ping_every": 0}, "ping_every"),
        ({"reply": "thread"}, "reply"),
    ],
)
def test_what_is_wrong_is_said(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        settings(**more)


def test_mode_http_needs_no_app_token() -> None:
    assert settings(mode="http", signing_secret="s", app_token=None).mode == "http"


def test_the_manifest_asks_for_everything_that_is_used() -> None:
    made: Any = manifest()
    assert set(NEEDED) <= set(made["oauth_config"]["scopes"]["bot"])
    assert made["settings"]["socket_mode_enabled"] is True
    assert "request_url" not in made["settings"]["event_subscriptions"]
    assert "assistant_view" not in made["features"]
    assert made["settings"]["interactivity"] == {"is_enabled": True}
    asked: Any = manifest(name="Ana", url="https://a.test/slack/events", assistant=True)
    assert asked["settings"]["socket_mode_enabled"] is False
    assert asked["settings"]["event_subscriptions"]["request_url"] == "https://a.test/slack/events"
    assert asked["settings"]["interactivity"]["request_url"] == "https://a.test/slack/events"
    assert asked["features"]["slash_commands"][0]["url"] == "https://a.test/slack/events"
    assert asked["features"]["bot_user"]["display_name"] == "Ana"
    assert "assistant:write" in asked["oauth_config"]["scopes"]["bot"]
    assert "assistant_thread_started" in asked["settings"]["event_subscriptions"]["bot_events"]


# -- errors --------------------------------------------------------------------------------------------


def test_an_error_without_a_verdict_is_none() -> None:
    assert isinstance(failure("m", 502, {}), OutcomeUnknown)
    assert isinstance(failure("m", 200, {}), OutcomeUnknown)
    assert isinstance(failure("m", 200, "text"), OutcomeUnknown)
    assert isinstance(failure("m", 200, {"ok": True, "error": "odd"}), OutcomeUnknown)
    assert isinstance(failure("m", 404, None), NotTaken)


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("0", 0.0), ("-1", 0.0), ("x", 30.0), (None, 30.0)]
)
def test_a_pause_without_a_time_is_half_a_minute(header: str | None, seconds: float) -> None:
    error = failure("m", 429, None, header)
    assert isinstance(error, NotTaken)
    assert error.retry_after == seconds


def test_everything_refused_at_the_door_of_the_socket_is_the_tokens_fault() -> None:
    for error in ("invalid_auth", "missing_scope", "no_permission", "something_new"):
        found = failure("apps.connections.open", 200, {"ok": False, "error": error})
        assert isinstance(found, Unauthorized)
        assert error in str(found)
        assert found.setting == "app_token"
    bot = failure("auth.test", 200, {"ok": False, "error": "invalid_auth"})
    assert isinstance(bot, Unauthorized)
    assert bot.setting == "bot_token"
    assert {"app_token", "bot_token"} <= set(SlackSettings.model_fields)
    assert not isinstance(
        failure("apps.connections.open", 200, {"ok": False, "error": "internal_error"}), Unauthorized
    )


# -- signatures ----------------------------------------------------------------------------------------

SECRET, NOW = "8f742231b10e8888abcd99yyyzzz85a5", 1531420618.0
# The example of https://docs.slack.dev/authentication/verifying-requests-from-slack
EXAMPLE = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
    b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
    b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
    b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
SIGNATURE = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"


def headers(stamp: str = "1531420618", signature: str = SIGNATURE) -> dict[str, str]:
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature}


def signed(stamp: str, body: bytes) -> str:
    return "v0=" + hmac.new(SECRET.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()


def test_slacks_own_example_is_believed() -> None:
    assert fault_of(headers(), EXAMPLE, SECRET, NOW) is None
    assert fault_of(headers(), EXAMPLE, SECRET, NOW + 300) is None
    assert fault_of(headers(), EXAMPLE, SECRET, NOW - 300) is None


@pytest.mark.parametrize(
    ("given", "body", "secret", "now", "words"),
    [
        ({}, EXAMPLE, SECRET, NOW, "missing"),
        (headers(signature=""), EXAMPLE, SECRET, NOW, "missing"),
        (headers(), EXAMPLE + b"x", SECRET, NOW, "does not fit"),
        (headers(), EXAMPLE, "other", NOW, "does not fit"),
        (headers(signature=SIGNATURE.removeprefix("v0=")), EXAMPLE, SECRET, NOW, "does not fit"),
        (headers(signature="v0=\udcff\u00e4"), EXAMPLE, SECRET, NOW, "does not fit"),
        (headers("1531420619"), EXAMPLE, SECRET, NOW, "does not fit"),
        (headers(), EXAMPLE, SECRET, NOW + 301, "seconds off"),
        (headers(), EXAMPLE, SECRET, NOW - 301, "seconds off"),
        (headers("soon", signed("soon", b"")), b"", SECRET, NOW, "no unix time"),
        (headers("\u0661" * 10, SIGNATURE), EXAMPLE, SECRET, NOW, "no unix time"),
    ],
)
def test_what_is_not_signed_is_not_believed(
    given: dict[str, str], body: bytes, secret: str, now: float, words: str
) -> None:
    fault = fault_of(given, body, secret, now)
    assert fault is not None
    assert words in fault
