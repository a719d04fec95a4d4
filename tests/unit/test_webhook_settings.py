"""Settings of webhooks, and what building the adapter refuses."""

from typing import Any

import pytest
from aiohttp import web
from pydantic import ValidationError
from structlog.testing import capture_logs

from adapters.webhook.adapter import build
from adapters.webhook.settings import WebhookSettings
from hermes.adapter import HttpAdapter
from hermes.clock import SystemClock
from hermes.errors import ConfigError
from tests.integration.house import MemoryIntake, context


def settings(**route: Any) -> WebhookSettings:
    return WebhookSettings.model_validate({"type": "webhook", "routes": {"build": {"prompt": "x", **route}}})


def test_the_form_of_the_documentation_is_read() -> None:
    read = settings(
        secret="s3cret", scheme="github", prompt="Build: {{ payload.text }}", deliver="telegram:1"
    )
    route = read.routes["build"]
    assert route.deliver == ("telegram:1",)
    assert "s3cret" not in repr(read)
    assert settings(deliver=["telegram:1", "telegram:2"]).routes["build"].deliver == (
        "telegram:1",
        "telegram:2",
    )


@pytest.mark.parametrize(
    ("route", "words"),
    [
        ({"prompt": "{{ evil() }}"}, "no path into the payload"),
        ({"prompt": ""}, "at least 1"),
        ({"scheme": "sha1", "secret": "x"}, "github"),
        ({"secret": ""}, "empty"),
        ({"secret": "x", "insecure": True}, "exclude each other"),
        ({"secret": "not base64!", "scheme": "standard"}, "base64"),
        ({"secret": "x", "scheme": "hmac", "replay_window": "5m"}, "replay_window"),
        ({"secret": "x", "session": "mine"}, "route"),
        ({"secret": "x", "deliver": ["telegram:1", "origin"]}, "no origin"),
        ({"secert": "x"}, "secert"),
    ],
)
def test_mistakes_are_named(route: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        settings(**route)


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "é", "x" * 65])
def test_a_route_must_fit_into_an_address(name: str) -> None:
    with pytest.raises(ValidationError, match="cannot be a route"):
        WebhookSettings.model_validate({"routes": {name: {"prompt": "x"}}})


def test_a_target_that_cannot_exist_is_found_when_the_adapter_is_built() -> None:
    with pytest.raises(ConfigError, match=r"platforms\.webhook\.routes\.build\.deliver.*'nowhere:1'"):
        build(settings(secret="x", deliver="nowhere:1"), context(SystemClock(), "webhook"))


def test_nothing_is_said_about_a_route_with_a_secret() -> None:
    with capture_logs() as logs:
        build(settings(secret="x"), context(SystemClock(), "webhook"))
    assert logs == []


def test_two_routes_of_one_name_are_a_configuration_error() -> None:
    router = web.UrlDispatcher()
    first, second = (
        build(settings(secret="x"), context(SystemClock(), name)) for name in ("webhook", "hooks2")
    )
    assert isinstance(first, HttpAdapter)
    assert isinstance(second, HttpAdapter)
    first.mount(router, MemoryIntake(SystemClock()))
    with pytest.raises(ConfigError, match=r"platforms\.hooks2\.routes\.build"):
        second.mount(router, MemoryIntake(SystemClock()))
