"""The installed `hermes` as a subprocess, in a home of its own."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

HERMES = Path(sys.executable).with_name("hermes")
SECONDS = 60.0


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


@dataclass
class Installation:
    """A home and what was started for it; `aclose` leaves no process behind."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)
    running: list[asyncio.subprocess.Process] = field(default_factory=list)

    def configure(self, **sections: Any) -> None:
        """Write config.yaml (JSON is YAML); the HTTP port is a free one unless said."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        sections.setdefault("gateway", {}).setdefault("http", {"port": 0})
        (self.root / "config.yaml").write_text(json.dumps(sections, indent=1))

    def configure_model(self, base_url: str, **sections: Any) -> None:
        """The same with a model server."""
        custom = {"base_url": base_url, "api_key": "the-models-key"}
        self.configure(llm={"provider": "custom", "model": "m", "custom": custom}, **sections)

    async def start(self, *words: str, **more: Any) -> asyncio.subprocess.Process:
        """Start a command with pipes."""
        pipes = {
            "stdin": asyncio.subprocess.PIPE,
            "stdout": asyncio.subprocess.PIPE,
            "stderr": asyncio.subprocess.PIPE,
        }
        environ = {**os.environ, "HERMES_HOME": str(self.root), **self.environ}
        process = await asyncio.create_subprocess_exec(HERMES, *words, env=environ, **{**pipes, **more})
        self.running.append(process)
        return process

    async def run(self, *words: str, stdin: str = "") -> Done:
        """Run a command to its end."""
        process = await self.start(*words)
        out, err = await asyncio.wait_for(process.communicate(stdin.encode()), SECONDS)
        assert process.returncode is not None
        return Done(process.returncode, out.decode(), err.decode())

    async def run_daemon(self, *words: str) -> tuple[asyncio.subprocess.Process, str]:
        """A daemon in the foreground, and its ready line."""
        process = await self.start("gateway", "run", *words)
        return process, await read_until(process.stderr, "ready http://")

    async def status(self) -> dict[str, Any]:
        """`hermes status --json`."""
        answer: dict[str, Any] = json.loads((await self.run("status", "--json")).out)
        return answer

    async def aclose(self) -> None:
        """End what still runs, the detached daemon too."""
        with suppress(OSError, ValueError):
            os.kill(int((self.root / "hermes.pid").read_text()), signal.SIGKILL)
        for process in self.running:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def read_until(stream: asyncio.StreamReader | None, part: str) -> str:
    """The first line that holds `part`."""
    assert stream is not None
    seen: list[str] = []
    while line := (await asyncio.wait_for(stream.readline(), SECONDS)).decode():
        seen.append(line)
        if part in line:
            return line
    raise AssertionError(f"no {part!r} in {''.join(seen)!r}")


async def end(process: asyncio.subprocess.Process, number: int = signal.SIGTERM) -> Done:
    """Signal the process and wait for its end."""
    process.send_signal(number)
    out, err = await asyncio.wait_for(process.communicate(), SECONDS)
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that nobody has waited for yet does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def lines(text: str, start: str) -> Sequence[str]:
    """The lines that begin so."""
    return [line for line in text.splitlines() if line.startswith(start)]
