"""The reference of keys is made from the models."""

from pathlib import Path

from gateway.config.reference import render
from gateway.wiring import SCHEMA
from hermes.config import parse_byte_size, parse_duration
from tests.unit import config_schema

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_docs_configuration_is_current() -> None:
    assert PAGE.read_text() == render(SCHEMA), "run: hermes config reference > docs/configuration.md"


def test_every_key_has_its_row_with_type_default_and_words() -> None:
    page = render(config_schema.SCHEMA_IN_REACH)
    for row in (
        "| `gateway.http.port` | number, 0 to 65535 | `8642` | The port; 0: any that is free. |",
        "| `gateway.drain_timeout` | duration, at least 0 | `30s` | How long a stop waits for running turns. |",
        "| `gateway.delivery.on_unknown` | `resend`, `drop` | `resend` |",
        "| `gateway.limits.rate` | rate | `30/min` |",
        "| `llm.openai.api_key` | secret |  |",
        "| `agents.<name>.model` | text |",
        "| `bindings[].agent` | text | required |",
        "| `timezone` | text |",
        "| `platforms.<instance>.token` | secret | required | From the platform. |",
        "| `platforms.<instance>.routes.<name>.secret` | secret | required |",
    ):
        assert row in page, row


def test_defaults_with_a_unit_stand_as_people_write_them() -> None:
    cells = [line.split(" | ") for line in render(SCHEMA).splitlines() if line.startswith("| `")]
    defaults = {
        row[0].strip("| `"): row[2].strip("` ")
        for row in cells
        if row[1].split(",")[0] in {"duration", "size"}
    }
    assert parse_duration(defaults["retention.usage"]) == 400 * 86_400
    assert parse_byte_size(defaults["media.largest"]) == 20_000_000
    assert parse_byte_size(defaults["media.quota"]) == 1 << 30
    bare = {key: default for key, default in defaults.items() if default.isdigit() and default != "0"}
    assert bare == {}


def test_bounds_stand_beside_the_kind_in_the_units_of_the_file() -> None:
    page = render(SCHEMA)
    for row in (
        "| `media.characters` | number, at least 1000 | `60000` |",
        "| `platforms.<instance>.poll_timeout` | duration, 1s to 50s | `30s` |",
        "| `gateway.agent_cache.idle_ttl` | duration, more than 0 |",
        "| `logging.file_size` | size, at least 10kB | `10MB` |",
        "| `platforms.<instance>.ping_every` | duration, 0.05s to 1m | `10s` |",
        "| `platforms.<instance>.poll_every` | duration, at least 5s |",
        "| `platforms.<instance>.max_size` | size, at least 64KiB | `25MB` |",
    ):
        assert row in page, row


def test_every_key_of_ours_says_what_it_is() -> None:
    bare = [line for line in render(SCHEMA).splitlines() if line.startswith("| `") and line.endswith("|  |")]
    assert [line for line in bare if not line.startswith("| `platforms.")] == []
