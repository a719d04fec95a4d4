"""The control socket, over real sockets."""

import asyncio
import json
import os
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.control import MAX_LINE, ControlServer, candidates, connect
from gateway.control_client import ControlRefused, ask, recorded_path
from hermes.errors import HomeHeld
from hermes.home import Home
from hermes.messages import JSONObject


async def status(request: JSONObject) -> JSONObject:
    return {"running": True, "echo": request.get("value")}


async def held(request: JSONObject) -> JSONObject:
    raise HomeHeld("The home is held.")


async def broken(request: JSONObject) -> JSONObject:
    raise RuntimeError("secret detail")


async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    async for line in reader:
        writer.write(line.upper())
        await writer.drain()


HANDLERS = {"status": status, "held": held, "broken": broken}


@pytest.fixture
def home(hermes_home: Path) -> Home:
    return Home(hermes_home)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    return {"XDG_RUNTIME_DIR": str(runtime)}


@pytest.fixture
async def server(home: Home, environ: dict[str, str]) -> AsyncIterator[ControlServer]:
    server = ControlServer(home, HANDLERS, shout, "chat")
    await server.start(environ)
    yield server
    await server.aclose()


async def raw(server: ControlServer, data: bytes) -> JSONObject:
    reader, writer = await asyncio.open_unix_connection(str(server.path))
    writer.write(data)
    answer: JSONObject = json.loads(await reader.readline())
    assert await reader.read() == b""
    writer.close()
    return answer


async def test_an_operation_is_answered(server: ControlServer, home: Home) -> None:
    answer = await asyncio.to_thread(ask, home, "status", value="ä\n")
    assert answer == {"ok": True, "pid": os.getpid(), "role": "chat", "running": True, "echo": "ä\n"}


async def test_errors_are_sentences_with_exit_codes(server: ControlServer, home: Home) -> None:
    with pytest.raises(ControlRefused, match="home is held") as caught:
        await asyncio.to_thread(ask, home, "held")
    assert caught.value.exit_code == 73
    with capture_logs() as logged, pytest.raises(ControlRefused, match="failed at 'broken'") as caught:
        await asyncio.to_thread(ask, home, "broken")
    assert logged[0]["event"] == "control_failed"
    assert "secret detail" not in str(caught.value)
    with pytest.raises(ControlRefused, match="does not know the request 'dance'"):
        await asyncio.to_thread(ask, home, "dance")


async def test_another_protocol_version_is_refused_naming_both(server: ControlServer) -> None:
    answer = await raw(server, b'{"protocol": 7, "op": "status"}\n')
    assert not answer["ok"]
    assert "protocol 7" in answer["error"]
    assert "daemon 1" in answer["error"]


@pytest.mark.parametrize("line", [b"\n", b"{}\n", b"[1]\n", b"\xff\xfe\n", b'{"op": 1, "protocol": 1}\n'])
async def test_what_is_no_request_gets_a_sentence(server: ControlServer, line: bytes) -> None:
    assert "no line of JSON" in (await raw(server, line))["error"]


async def test_a_request_without_end_is_cut(server: ControlServer) -> None:
    answer = await raw(server, b"x" * (MAX_LINE + 70_000))
    assert f"longer than {MAX_LINE}" in answer["error"]


async def test_chat_hands_over_the_connection(server: ControlServer, home: Home) -> None:
    connected = await connect(home)
    assert connected is not None
    reader, writer, answer = connected
    assert answer["role"] == "chat"
    writer.write(b"hello\n")
    assert await reader.readline() == b"HELLO\n"
    await server.aclose()  # ends streams too
    assert await reader.read() == b""
    writer.close()


async def test_the_socket_is_private_and_goes_at_the_end(server: ControlServer, home: Home) -> None:
    path = server.path
    assert path is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(home.control.stat().st_mode) == 0o600
    assert await asyncio.to_thread(recorded_path, home) == str(path)
    await server.aclose()
    assert not path.parent.exists()
    assert not home.control.exists()
    assert await asyncio.to_thread(ask, home, "status") is None


async def test_a_socket_left_by_a_killed_process_is_replaced(home: Home, environ: dict[str, str]) -> None:
    path = candidates(home, environ)[0]
    path.parent.mkdir(mode=0o700)
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    home.control.write_text(str(path))
    assert await asyncio.to_thread(ask, home, "status") is None
    server = ControlServer(home, HANDLERS)
    await server.start(environ)
    answer = await asyncio.to_thread(ask, home, "status")
    assert answer is not None
    assert answer["role"] == "daemon"
    await server.aclose()


async def test_a_home_of_200_characters_has_a_socket(tmp_path: Path) -> None:
    root = tmp_path / ("h" * max(1, 200 - len(str(tmp_path)) - 1))
    root.mkdir(mode=0o700)
    runtime = root / "run"  # as long as the home: unusable, so another place is taken
    runtime.mkdir()
    home = Home(root)
    server = ControlServer(home, HANDLERS)
    path = await server.start({"XDG_RUNTIME_DIR": str(runtime)})
    assert len(str(root)) >= 200
    assert await asyncio.to_thread(ask, home, "status") is not None
    await server.aclose()
    assert not path.parent.exists()


async def test_a_name_that_somebody_else_holds_in_tmp_is_avoided(home: Home, tmp_path: Path) -> None:
    taken = candidates(home, {})
    for path in taken:  # a symlink in place of our folder
        path.parent.symlink_to(tmp_path)
    server = ControlServer(home, HANDLERS)
    try:
        path = await server.start({})
        assert path not in taken
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert await asyncio.to_thread(ask, home, "status") is not None
    finally:
        await server.aclose()
        for found in taken:
            found.parent.unlink()
    assert not path.parent.exists()


def test_the_unit_decides_where_the_socket_lies(home: Home) -> None:
    found = candidates(home, {"RUNTIME_DIRECTORY": "/run/hermes:/run/more", "XDG_RUNTIME_DIR": "/run/user/1"})
    assert found[0] == Path("/run/hermes/control.sock")
    assert str(found[1]).startswith("/run/user/1/hermes-")
    other = candidates(Home(home.root / "other"), {"XDG_RUNTIME_DIR": "/run/user/1"})
    assert other[0] != found[1]


async def test_a_daemon_that_does_not_answer_is_not_waited_for_ever(home: Home, tmp_path: Path) -> None:
    deaf = socket.socket(socket.AF_UNIX)
    deaf.bind(str(tmp_path / "deaf"))
    deaf.listen()
    home.control.write_text(str(tmp_path / "deaf"))
    with pytest.raises(ControlRefused, match=r"did not answer within 0\.05 s"):
        await asyncio.to_thread(ask, home, "status", seconds=0.05)
    deaf.close()
