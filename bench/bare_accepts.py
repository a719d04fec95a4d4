"""The floor under an accept over HTTP: a bare aiohttp server that checks an HMAC and commits the body.

`python -m bench.bare_accepts FILE` serves `POST /` on loopback and prints its port. It commits what waits in
one transaction with `synchronous=FULL`, in a thread, and answers 202 after the commit.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop
from aiohttp import web

from bench.daemon import SECRET

__all__ = ["bare_accepts"]


@contextmanager
def bare_accepts() -> Iterator[int]:
    """Run the server; its port."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.bare_accepts", str(Path(folder) / "bare.db")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                yield int(process.stdout.readline())
            finally:
                process.kill()


class _Store:
    """Commits in batches: whoever comes while a commit runs waits for the next."""

    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute("CREATE TABLE inbox(key TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID")
        self._waiting: list[tuple[tuple[str, str], asyncio.Future[None]]] = []
        self._wake = asyncio.Event()

    async def add(self, key: str, body: str) -> None:
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(((key, body), done))
        self._wake.set()
        await done

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            batch, self._waiting = self._waiting, []
            await asyncio.to_thread(self._commit, [row for row, _ in batch])
            for _, done in batch:
                if not done.done():
                    done.set_result(None)

    def _commit(self, rows: list[tuple[str, str]]) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        self._database.executemany("INSERT OR IGNORE INTO inbox VALUES(?, ?)", rows)
        self._database.execute("COMMIT")


async def _serve(path: str) -> None:
    store = _Store(path)
    key = SECRET.encode()

    async def accept(request: web.Request) -> web.Response:
        body = await request.read()
        signed = request.headers["X-Timestamp"].encode() + b"." + body
        right = "sha256=" + hmac.digest(key, signed, hashlib.sha256).hex()
        if not hmac.compare_digest(right, request.headers["X-Signature"]):
            return web.Response(status=401)
        text = json.loads(body)["text"]
        await store.add(hashlib.sha256(signed).hexdigest(), text)
        return web.json_response({"status": "accepted"}, status=202)

    app = web.Application()
    app.router.add_post("/", accept)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await store.run()


def main() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(sys.argv[1]))


if __name__ == "__main__":
    main()
