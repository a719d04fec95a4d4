"""The real daemon as a process of its own: the installed `hermes gateway run`, with a home for the occasion."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.peers.telegram.server import TOKEN

__all__ = ["API_KEY", "HERMES", "SECRET", "Daemon", "config", "daemon", "environment"]

HERMES = str(Path(sys.executable).parent / "hermes")
API_KEY = "bench-api-key"
SECRET = "bench-webhook-secret"
_START_SECONDS = 60.0
_STOP_SECONDS = 30.0


def config(
    model: str = "http://127.0.0.1:9",
    *,
    telegram: str | None = None,
    telegram_rate: str = "off",
    api: bool = True,
    silence: float = 60.0,
) -> str:
    """A config.yaml. `model` and `telegram`: addresses of the peers; `silence`: patience with the model, s."""
    platforms = f"""
  webhook:
    routes:
      each: {{secret: "{SECRET}", prompt: "{{{{ payload.text }}}}"}}
      one: {{secret: "{SECRET}", prompt: "{{{{ payload.text }}}}", session: route}}"""
    if api:
        platforms += f'\n  api: {{key: "{API_KEY}"}}'
    if telegram is not None:
        platforms += f"""
  telegram: {{token: "{TOKEN}", base_url: "{telegram}/bot", allow_from: ["*"], rate: "{telegram_rate}"}}"""
    return f"""
llm:
  provider: custom
  model: peer-model
  context_length: 131072
  custom: {{base_url: "{model}/v1", api_key: "bench-model-key"}}
  timeouts: {{first_byte: {silence}, silence: {silence}, total: {max(120.0, 2 * silence)}}}
gateway:
  http: {{port: 0}}
  limits: {{rate: "off"}}
  drain_timeout: 5
platforms:{platforms}
"""


def environment(home: Path) -> dict[str, str]:
    """The environment of a program that shall know this home and nothing of ours."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "HERMES_HOME": str(home), "HOME": str(home)}


@dataclass
class Daemon:
    """A running daemon. `url`: its HTTP server; `ready_seconds`: from the start of the process to READY."""

    process: subprocess.Popen[str]
    home: Path
    began: float
    url: str = ""
    ready_seconds: float = 0.0
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=40))

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    @property
    def port(self) -> int:
        """The port of its HTTP server."""
        return int(self.url.rpartition(":")[2])


@contextmanager
def daemon(settings: str, *, kill: bool = False) -> Iterator[Daemon]:
    """Start one and wait until it says that it is ready; stop it at the end (`kill`: without asking)."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        (home / "config.yaml").write_text(settings, encoding="utf-8")
        with _started(home) as running:
            yield running
            if kill:
                running.process.kill()


@contextmanager
def _started(home: Path) -> Iterator[Daemon]:
    began = time.monotonic()
    process = subprocess.Popen(
        [HERMES, "gateway", "run"],
        env=environment(home),
        cwd=home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    running = Daemon(process, home, began)
    ready = threading.Event()
    reader = threading.Thread(target=_read, args=(running, ready), daemon=True)
    reader.start()
    try:
        if not ready.wait(_START_SECONDS) or not running.url:
            raise RuntimeError("the daemon did not come up:\n" + "".join(running.tail))
        yield running
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join()
        if process.stderr is not None:
            process.stderr.close()


def _read(running: Daemon, ready: threading.Event) -> None:
    """Keep the pipe empty; note the moment of READY."""
    assert running.process.stderr is not None
    for line in running.process.stderr:
        running.tail.append(line)
        if line.startswith("ready http"):
            running.ready_seconds = time.monotonic() - running.began
            running.url = line.split()[1]
            ready.set()
    ready.set()
