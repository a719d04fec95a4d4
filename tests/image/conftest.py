"""The image, built once, and a house that its user may live in."""

import asyncio
import secrets
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.acceptance.house import House, opened
from tests.image.container import Container
from tests.machine import ROOT, run, small_machine, wheels
from tests.peers.model import ModelPeer
from tests.peers.telegram import TelegramPeer

RUN = secrets.token_hex(4)
"""In the names of what this run makes: two at once do not take each other's away."""


@pytest.fixture(scope="session")
def base() -> Iterator[str]:
    """Return the name of an image of the small machine."""
    name = f"localhost/hermes-test-base:{RUN}"
    with subprocess.Popen(["tar", "-C", small_machine(), "-c", "."], stdout=subprocess.PIPE) as tar:
        subprocess.run(
            ["podman", "import", "-", name], stdin=tar.stdout, check=True, capture_output=True, timeout=300
        )
    yield name
    run("podman", "rmi", name, check=False)


@pytest.fixture(scope="session")
def image(base: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the image's name; it is built once, from the packages that were fetched before."""
    name = f"localhost/hermes-test:{RUN}"
    settings = tmp_path_factory.mktemp("image") / "pip.conf"
    settings.write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    run(
        *("podman", "build", "--isolation=chroot", "--pull=never", "--format=docker"),
        *("--no-cache", "--layers=false", "--build-arg", f"BASE={base}", "-t", name),
        *("--volume", f"{wheels()}:/wheels:ro", "--volume", f"{settings}:/etc/pip.conf:ro"),
        *("-f", ROOT / "Dockerfile", ROOT),
        seconds=600,
    )
    yield name
    run("podman", "rmi", name, check=False)


@pytest.fixture
async def house(tmp_path: Path, model_peer: ModelPeer, telegram_peer: TelegramPeer) -> AsyncIterator[House]:
    """Return a house whose home the container's user owns."""
    async with opened(tmp_path, model_peer, telegram_peer) as house:
        house.config["gateway"]["http"].pop("host")
        house.write()
        await asyncio.to_thread(_give, house.home)
        yield house


def _give(home: Path) -> None:
    run("chown", "-R", "10001:10001", home)
    for parent in home.parents:  # pytest's folders are closed to others; the volume is bound from outside
        if parent.name.startswith("pytest-"):
            parent.chmod(0o711)


@pytest.fixture
def contain(image: str, house: House) -> Iterator[Callable[..., Container]]:
    """Make containers over the house's home, given further options; none is left at the end."""
    made: list[Container] = []

    def another(*options: str) -> Container:
        made.append(Container(image, house.home, *options))
        return made[-1]

    yield another
    for container in made:
        run("podman", "rm", "-f", "--ignore", container.name, check=False)
