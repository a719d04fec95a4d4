"""`hermes status` and `/ready` of a running daemon."""

import asyncio
import shutil

from tests.acceptance.house import House, eventually


async def test_status_tells_disk_versions_and_schema_of_a_running_daemon(house: House) -> None:
    await house.start()
    status = await house.cli.status()
    assert status["disk"]["kinds"]["database"] > 0
    assert status["disk"]["kinds"]["logs"] > 0
    assert {"hermes", "python", "sqlite", "aiohttp", "python-telegram-bot"} <= set(status["versions"])
    assert set(status["schema"]) == {"agent", "gateway"}
    assert {"last", "worst"} <= set(status["loop_lag"])
    shown = (await house.hermes("status")).out
    assert "database" in shown
    assert all(len(line) < 80 for line in shown.splitlines() if not line.startswith("Warning:"))
    metrics = (await house.client.get("/metrics")).text
    assert 'hermes_disk_bytes{kind="database"}' in metrics


async def test_ready_is_503_once_the_home_is_gone(house: House) -> None:
    await house.start()
    assert (await house.client.get("/ready")).status_code == 200
    await asyncio.to_thread(shutil.rmtree, house.home)

    async def unready() -> bool:
        return (await house.client.get("/ready")).status_code == 503

    await eventually(unready, 30.0)
    assert "removed or replaced" in (await house.client.get("/ready")).json()["reason"]


async def test_config_set_says_when_the_running_daemon_needs_a_restart(house: House) -> None:
    hint = "hermes gateway restart"
    before = await house.hermes("config", "set", "platforms.telegram.rate", "off")
    assert hint not in before.err
    await house.start()
    assert hint in (await house.hermes("config", "set", "platforms.telegram.rate", "off")).err
    assert hint not in (await house.hermes("config", "set", "gateway.drain_timeout", "20s")).err
