"""A home with settings, both peers beside it, and the installed `hermes` run in it."""

import asyncio
import hashlib
import hmac
import json
import os
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clirig import Done, Installation
from tests.crash.daemon import Daemon
from tests.peers.model import ModelPeer
from tests.peers.telegram import TelegramPeer
from tests.ports import free_port

SECRET = "s3cret"
KEY = "secret"
API = "/v1/chat/completions"
HOOK_CHAT = 777
_LOOK_EVERY = 0.05


class House:
    """One scene. Settings are those of `config`: change them and `write`; `start` gives a daemon that is ready."""

    def __init__(self, folder: Path, model: ModelPeer, telegram: TelegramPeer) -> None:
        self.home = folder / "home"
        self.model = model
        self.telegram = telegram
        self.port = free_port()
        self.environ: dict[str, str] = {}
        self.daemons: list[Daemon] = []
        self.client = httpx.AsyncClient(
            trust_env=False, timeout=60.0, base_url=f"http://127.0.0.1:{self.port}"
        )
        self.config = self._settings()
        self.cli = Installation(self.home)
        telegram.add_chat(HOOK_CHAT)
        self.write()

    def _settings(self) -> dict[str, Any]:
        route = {"secret": SECRET, "scheme": "github", "prompt": "{{ payload.text }}"}
        return {
            "llm": {
                "provider": "custom",
                "model": "peer-model",
                "custom": {"base_url": self.model.url, "api_key": "the-models-key"},
                "timeouts": {},
            },
            "gateway": {
                "http": {"host": "127.0.0.1", "port": self.port},
                "limits": {"rate": "off"},
                "drain_timeout": "30s",
            },
            "platforms": {
                "telegram": {
                    "token": self.telegram.token,
                    "base_url": self.telegram.base_url,
                    "allow_from": ["*"],
                    "rate": "off",
                },
                "api": {"key": KEY},
                "webhook": {"routes": {"build": {**route, "deliver": f"telegram:{HOOK_CHAT}"}}},
            },
        }

    def write(self) -> None:
        """Put the settings into the home (JSON is YAML)."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.home / "config.yaml").write_text(json.dumps(self.config, indent=1))

    # -- the daemon -----------------------------------------------------------------------------------

    @property
    def daemon(self) -> Daemon:
        """The newest one."""
        return self.daemons[-1]

    async def begin(self, environ: Mapping[str, str] | None = None) -> Daemon:
        """Start a daemon; returns at once."""
        self.daemons.append(await Daemon.start(self.home, environ={**self.environ, **(environ or {})}))
        return self.daemon

    async def start(self, environ: Mapping[str, str] | None = None) -> Daemon:
        """Start a daemon and wait until it is ready. Raises `DaemonEnded`."""
        daemon = await self.begin(environ)
        await daemon.until_ready()
        return daemon

    async def refused(self) -> tuple[int, str]:
        """Start a daemon that does not come up: its exit code and what it said."""
        daemon = await self.begin()
        code = await daemon.wait(30)
        assert not daemon.ready.is_set(), daemon.stderr
        assert "Traceback" not in daemon.stderr, daemon.stderr
        return code, daemon.stderr

    async def stop(self) -> None:
        """Stop it as a service manager does: it must end well."""
        assert await self.daemon.stop() == 0, self.daemon.stderr[-4000:]
        assert "Traceback" not in self.daemon.stderr, self.daemon.stderr[-6000:]

    async def aclose(self) -> None:
        """End what is left."""
        await self.client.aclose()
        await self.cli.aclose()
        for daemon in self.daemons:
            await daemon.kill()

    async def hermes(self, *words: str, stdin: str = "") -> Done:
        """Run a command to its end."""
        return await self.cli.run(*words, stdin=stdin)

    async def status(self) -> dict[str, Any]:
        """`hermes status --json`."""
        return await self.cli.status()

    async def platform(self, name: str, state: str, timeout: float = 15.0) -> dict[str, Any]:
        """Wait until a platform is in a state; what is said of it."""

        async def found() -> dict[str, Any] | None:
            platform: dict[str, Any] = (await self.status())["platforms"][name]
            return platform if platform["state"] == state else None

        told: dict[str, Any] = await eventually(found, timeout)
        return told

    async def said(self, part: str, timeout: float = 15.0) -> None:
        """Wait until the daemon's stderr holds `part`."""

        async def found() -> bool:
            return part in self.daemon.stderr

        await eventually(found, timeout)

    # -- senders ----------------------------------------------------------------------------------------

    async def hook(
        self,
        body: bytes | dict[str, Any],
        *,
        delivery: str = "",
        route: str = "build",
        secret: str = SECRET,
        **headers: str,
    ) -> httpx.Response:
        """Deliver a webhook in GitHub's way; `headers` with `_` for `-`."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {
            "Content-Type": "application/json",
            "X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), data, hashlib.sha256).hexdigest(),
            **({"X-GitHub-Delivery": delivery} if delivery else {}),
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        return await self.client.post(f"/webhooks/{route}", content=data, headers=given)

    async def ask(
        self, text: str, *, idempotency: str = "", session: str = "", **body: Any
    ) -> httpx.Response:
        """Ask the API."""
        headers = {
            "Authorization": f"Bearer {KEY}",
            **({"Idempotency-Key": idempotency} if idempotency else {}),
            **({"X-Hermes-Session": session} if session else {}),
        }
        request = {"model": "hermes", "messages": [{"role": "user", "content": text}], **body}
        return await self.client.post(API, json=request, headers=headers)

    # -- what is there ----------------------------------------------------------------------------------

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of `state.db`, read beside whoever has it open."""
        with closing(sqlite3.connect(f"file:{self.home / 'state.db'}?mode=ro", uri=True)) as connection:
            return connection.execute(sql).fetchall()

    def texts(self, chat: int) -> list[str]:
        """What the bot shows in a chat."""
        return self.telegram.chats[chat].texts() if chat in self.telegram.chats else []

    def files(self) -> dict[Path, bytes]:
        """Every file under the home with its bytes."""
        return {p: p.read_bytes() for p in self.home.rglob("*") if p.is_file()}

    def asked(self) -> list[dict[str, Any]]:
        """The messages of the model's newest request."""
        body = self.model.requests[-1].body
        assert body is not None
        messages: list[dict[str, Any]] = body["messages"]
        return messages

    async def model_busy(self, requests: int = 1, timeout: float = 20.0) -> None:
        """Wait until the model works on so many requests."""
        await self.model.wait_for(lambda: self.model.in_flight.total() == requests, timeout)

    async def model_idle(self, timeout: float = 20.0) -> None:
        """Wait until the model works on nothing."""
        await self.model_busy(0, timeout)


def answer_of(response: httpx.Response) -> str:
    """The text of the API's answer."""
    assert response.status_code == 200, response.text
    text: str = response.json()["choices"][0]["message"]["content"]
    return text


@asynccontextmanager
async def opened(folder: Path, model: ModelPeer, telegram: TelegramPeer) -> AsyncIterator[House]:
    """A house that is empty of processes at the end; what its daemons said is shown when the test failed."""
    house = House(folder, model, telegram)
    try:
        yield house
    finally:
        await house.aclose()
        for daemon in house.daemons:
            print(daemon.stderr[-6000:])


@contextmanager
def on_small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A folder on a file system of its own of so many megabytes. Skips the test where it cannot be mounted."""
    if not root_only():
        pytest.skip("mounting a small disk needs root")
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Fill the disk that the folder is on to the last byte; the file that does it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    return filler


async def eventually(condition: Callable[[], Awaitable[Any]], timeout: float = 15.0) -> Any:
    """The first true value of `condition`, which looks at what tells nobody of its changes."""
    deadline = time.monotonic() + timeout
    while not (value := await condition()):
        assert time.monotonic() < deadline, f"{condition.__qualname__} did not become true in {timeout:g} s"
        await asyncio.sleep(_LOOK_EVERY)
    return value


def root_only() -> bool:
    """Whether we may mount."""
    return os.geteuid() == 0
