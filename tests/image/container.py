"""A container of the image, run as docker-compose.yml runs it, but with the program itself as process 1."""

import asyncio
import secrets
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.acceptance.house import House, eventually
from tests.machine import missing, run

__all__ = ["ULIMITS", "Container", "lacking"]

RUNC = "/usr/sbin/runc"
ULIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
"""What podman asks for by default is more than a root without all rights may set."""


def lacking() -> str | None:
    """Why no container can run here; `None` when one can."""
    return missing("podman", "runc", "debootstrap")


class Container:
    """One container over a home. It shares the host's network: the peers listen on its loopback.

    options: what `podman run` is given beside what docker-compose.yml says.
    """

    def __init__(self, image: str, home: Path, *options: str) -> None:
        self.image = image
        self.home = home
        self.options = options
        self.name = f"hermes-test-{secrets.token_hex(4)}"

    async def start(self, house: House) -> None:
        """Start it, and wait until it is ready."""
        await asyncio.to_thread(self._run, house.port)

        async def ready() -> bool:
            try:
                return (await house.client.get("/ready")).status_code == 200
            except httpx.TransportError:  # nothing listens yet
                return False

        try:
            await eventually(ready, 60)
        except AssertionError:
            pytest.fail(self.logs()[-3000:])

    def _run(self, port: int) -> None:
        run(
            *("podman", f"--runtime={RUNC}", "run", "-d", "--name", self.name, "--network=host"),
            *("--read-only", "--tmpfs", "/tmp:size=64m,mode=1777", "--cap-drop=ALL"),
            *("--security-opt=no-new-privileges", "--memory=512m", "--pids-limit=512", *ULIMITS),
            *("-e", f"HERMES_GATEWAY__HTTP__PORT={port}", *self.options),
            *("-v", f"{self.home}:/data", self.image),
        )

    async def exec(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in it."""
        return await asyncio.to_thread(
            run, "podman", f"--runtime={RUNC}", "exec", self.name, *words, check=False
        )

    def inspect(self, what: str) -> str:
        """One field of it."""
        return run("podman", "inspect", "-f", f"{{{{{what}}}}}", self.name).stdout.strip()

    async def signal(self, name: str) -> None:
        """Send process 1 a signal from outside."""
        await asyncio.to_thread(run, "kill", f"-{name}", self.inspect(".State.Pid"))

    def children(self) -> int:
        """How many children process 1 has, dead ones too."""
        pid = self.inspect(".State.Pid")
        return len(run("ps", "-o", "pid=", "--ppid", pid, check=False).stdout.split())

    def resident(self) -> tuple[float, float]:
        """What process 1 holds in memory, and the most it ever held, in MB of 2^20 bytes."""
        lines = Path("/proc", self.inspect(".State.Pid"), "status").read_text().splitlines()
        fields = {name: rest for name, _, rest in (line.partition(":") for line in lines)}
        return int(fields["VmRSS"].split()[0]) / 1024, int(fields["VmHWM"].split()[0]) / 1024

    def killed_for_memory(self) -> bool:
        """Whether the kernel had to kill something in it."""
        return self.inspect(".State.OOMKilled") == "true"

    async def stop(self) -> int:
        """Stop it as `docker stop` does; its exit code."""
        await asyncio.to_thread(run, "podman", "stop", "-t", "75", self.name)
        code = int(self.inspect(".State.ExitCode"))
        await asyncio.to_thread(run, "podman", "rm", "-f", self.name)
        return code

    def logs(self) -> str:
        """What it wrote."""
        done = run("podman", "logs", self.name, check=False)
        return done.stdout + done.stderr
