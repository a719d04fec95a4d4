"""`hermes gateway add|remove` through the installed command, against a Telegram of our own."""

import asyncio
import json
from typing import Any

from tests.acceptance.house import House, eventually
from tests.clirig import Done

COMMENTED = "# mine\nlanguage: en  # kept\n"


def empty(house: House) -> None:
    (house.home / "config.yaml").write_text(
        COMMENTED + f"gateway:\n  http: {{host: 127.0.0.1, port: {house.port}}}\n"
        f"llm:\n  provider: custom\n  model: peer-model\n  custom: {{base_url: '{house.model.url}'}}\n"
    )
    (house.home / ".env").write_text("CUSTOM_API_KEY=the-models-key\n")


async def add_telegram(house: House, *words: str, token: str = "") -> Done:
    return await house.hermes(
        *("gateway", "add", "telegram", "--token", "-", "--base-url", house.telegram.base_url, *words),
        stdin=token or house.telegram.token,
    )


async def listed(house: House) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((await house.hermes("gateway", "list", "--json")).out)
    return found


async def test_a_telegram_bot_is_added_used_and_removed(house: House) -> None:
    empty(house)
    done = await add_telegram(house, "--allow", "1", "--allow", "2")
    assert done.code == 0, done.err
    assert "@peer_bot" in done.out
    assert house.telegram.token not in done.out + done.err + (house.home / "config.yaml").read_text()
    assert house.telegram.token in (house.home / ".env").read_text()
    assert (house.home / "config.yaml").read_text().startswith(COMMENTED)
    await house.start()
    await house.platform("telegram", "connected")
    house.telegram.push_text("hello", chat=1, user=1)
    await house.telegram.wait_text(1, "echo: hello")
    assert [(p["name"], p["state"]) for p in await listed(house)] == [("telegram", "connected")]

    again = await add_telegram(house)
    assert again.code == 78
    assert "set up already" in again.err
    twin = await add_telegram(house, "--name", "second")
    assert twin.code == 78
    assert "platforms.second.token is the token of platforms.telegram too" in twin.err

    unasked = await house.hermes("gateway", "remove", "telegram")
    assert unasked.code == 1
    assert "--yes" in unasked.err
    removed = await house.hermes("gateway", "remove", "telegram", "--yes", "--json")
    assert json.loads(removed.out) == {
        "instance": "telegram",
        "variables": ["TELEGRAM_TOKEN"],
        "restart_needed": True,
    }
    assert await listed(house) == []
    assert (house.home / ".env").read_text() == "CUSTOM_API_KEY=the-models-key\n"
    await house.stop()
    assert house.rows("SELECT count(*) FROM sessions") == [(1,)]


async def test_a_refused_an_unreachable_and_a_wrong_token_are_told_and_not_written(house: House) -> None:
    empty(house)
    before = house.files()
    refused = await add_telegram(house, token="1:wrong")
    assert refused.code == 1
    assert "refused the bot's token" in refused.err
    nonsense = await add_telegram(house, token="no token")
    assert nonsense.code == 78
    assert "BotFather" in nonsense.err
    away = ("gateway", "add", "telegram", "--token", "-", "--base-url", "http://127.0.0.1:9/bot")
    unreachable = await house.hermes(*away, stdin=house.telegram.token)
    assert unreachable.code == 1
    assert "--unchecked" in unreachable.err
    missing = await house.hermes("gateway", "add", "telegram")
    assert missing.code == 78
    assert "--token -" in missing.err
    unknown = await house.hermes("gateway", "add", "pigeon")
    assert "telegram, webhook, api" in unknown.err
    assert {p: b for p, b in house.files().items() if not p.name.endswith(".lock")} == before
    kept = await house.hermes(*away, "--unchecked", stdin=house.telegram.token)
    assert kept.code == 0, kept.err


async def test_another_programs_webhook_and_a_second_instance(house: House) -> None:
    empty(house)
    house.telegram.world.webhook_url = "https://user:pw@hook.example/secret"
    done = await add_telegram(house, "--name", "work", "--json")
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert (said["instance"], said["account"]) == ("work", "@peer_bot")
    assert "hook.example" in said["notes"][0]
    assert "secret" not in said["notes"][0]
    assert said["variables"] == ["WORK_TOKEN"]
    assert [(p["name"], p["type"]) for p in await listed(house)] == [("work", "telegram")]


async def shell(command: str) -> str:
    process = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.PIPE)
    out, _ = await asyncio.wait_for(process.communicate(), 30)
    return out.decode()


async def test_the_examples_of_webhooks_and_the_api_work_as_they_are_printed(house: House) -> None:
    empty(house)
    examples = []
    for scheme in ("hmac", "github", "gitlab", "standard"):
        done = await house.hermes(
            *("gateway", "add", "webhook", "--route", scheme, "--scheme", scheme, "--json")
        )
        assert done.code == 0, done.err
        said = json.loads(done.out)
        assert said["secret"] in (house.home / ".env").read_text()
        assert said["secret"] not in (house.home / "config.yaml").read_text()
        examples.append(said["example"])
    api = json.loads((await house.hermes("gateway", "add", "api", "--json")).out)
    twice = await house.hermes("gateway", "add", "webhook", "--route", "hmac")
    assert twice.code == 78
    await house.start()
    for example in examples:
        assert '"accepted"' in await shell(example), example
    assert "echo: hello" in await shell(api["example"])
    await add_telegram(house)

    async def is_told() -> bool:
        return [p["reason"] for p in await listed(house) if "restart" in (p["reason"] or "")] != []

    await eventually(is_told, 30)  # the daemon looks at its settings about once a second
    assert {p["name"]: (p["state"], bool(p["reason"])) for p in await listed(house)} == {
        "api": ("connected", False),
        "telegram": ("stopped", True),
        "webhook": ("connected", False),
    }
    await house.stop()
    removed = await house.hermes("gateway", "remove", "webhook", "--yes")
    assert removed.code == 0, removed.err
    assert "WEBHOOK" not in (house.home / ".env").read_text()
