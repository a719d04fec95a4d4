"""A reading that fails by a fault of ours sets one message aside and stops nothing, on each platform that brings it again."""

from collections.abc import Callable
from typing import Any

import pytest

from adapters.discord.parse import Reading, parse_message
from adapters.discord.places import Place
from adapters.foreseen import UNFORESEEN, or_unparsable
from adapters.slack.parse import parse_delivery
from adapters.telegram.addressing import Account
from adapters.telegram.parse import parse_update
from adapters.telegram.reading import Reading as TelegramReading
from hermes.events import Ignored, Parsed, Unparsable
from tests.unit.test_slack_files import READING as SLACK


class Trap(dict[str, Any]):
    """What no reading is ready for."""

    def get(self, key: str, default: Any = None) -> Any:
        raise TypeError(f"trapped at {key}")


READERS: list[Callable[[Any], Parsed]] = [
    lambda found: parse_update(
        {"update_id": 1, "message": found}, TelegramReading("telegram", Account(42, "bot"))
    ),
    lambda found: parse_message(found, Reading("discord", "900"), Place()),
    lambda found: parse_delivery("events_api", found, SLACK),
]


@pytest.mark.parametrize("read", READERS, ids=["telegram", "discord", "slack"])
def test_what_no_reading_is_ready_for_is_set_aside(read: Callable[[Any], Parsed]) -> None:
    found = read(Trap())
    assert isinstance(found, Unparsable)
    assert found.error.startswith(f"{UNFORESEEN}TypeError: trapped at ")


def test_what_is_set_aside_is_kept_without_its_secrets() -> None:
    def refuse() -> Parsed:
        raise ValueError("no")

    found = or_unparsable({"token": "secret", "id": "1"}, refuse, secrets=("token",))
    assert found == Unparsable('{"id": "1"}', "no")
    assert or_unparsable({1, 2}, refuse) == Unparsable("(cannot be shown)", "no")
    assert or_unparsable({}, lambda: Ignored("empty")) == Ignored("empty")
