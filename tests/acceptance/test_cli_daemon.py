"""Starting, stopping and asking the installed daemon."""

import asyncio
import os
import signal
import socket
import stat
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from tests.clirig import Installation, end, is_alive, lines, read_until
from tests.peers.model import ModelPeer


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Installation]:
    here = Installation(tmp_path / "home")
    yield here
    await here.aclose()


async def test_it_is_ready_once_and_stops_when_asked(here: Installation) -> None:
    here.configure()
    daemon, ready = await here.run_daemon()
    assert ready.startswith("ready http://127.0.0.1:")
    status = await here.status()
    assert status["running"] is True
    assert status["pid"] == daemon.pid
    assert status["platforms"] == {}
    done = await end(daemon)
    assert done.code == 0
    assert lines(done.err, "ready ") == []
    assert "Traceback" not in done.err
    assert (await here.run("status", "--json")).code == 3
    assert (await here.status())["running"] is False


async def test_a_detached_daemon_is_ready_when_the_command_returns(here: Installation) -> None:
    here.configure()
    done = await here.run("gateway", "run", "--daemon")
    assert (done.code, done.out) == (0, "")
    assert len(lines(done.err, "ready http://")) == 1
    status = await here.status()
    assert status["ready"] is True
    assert os.getsid(status["pid"]) == status["pid"]  # no terminal's end reaches it
    assert stat.S_IMODE((here.root / "logs" / "daemon.log").stat().st_mode) == 0o600
    stopped = await here.run("gateway", "stop")
    assert stopped.code == 0
    assert not is_alive(status["pid"])
    assert (await here.run("gateway", "stop")).code == 3


async def test_a_detached_daemon_that_fails_gives_its_code_and_sentence(here: Installation) -> None:
    here.configure(gateway={"htpp": {"port": 1}})
    done = await here.run("gateway", "run", "--daemon")
    assert done.code == 78
    assert "config.yaml, line 3: gateway.htpp" in done.err
    assert 'did you mean "http"?' in done.err
    assert "Traceback" not in done.err


async def test_a_taken_port_is_69_and_names_it(here: Installation) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        here.configure(gateway={"http": {"port": port}})
        done = await here.run("gateway", "run")
    assert done.code == 69
    assert str(port) in done.err


async def test_PR_09_a_second_daemon_is_refused_and_the_first_unaffected(here: Installation) -> None:
    here.configure()
    daemon, _ = await here.run_daemon()
    began = time.monotonic()
    done = await here.run("gateway", "run")
    assert time.monotonic() - began < 3 + 2  # the interpreter's own start on a busy machine
    assert done.code == 73
    assert str(daemon.pid) in done.err
    assert lines(done.err, "ready ") == []
    assert (await here.status())["pid"] == daemon.pid
    assert (await end(daemon)).code == 0


@pytest.mark.parametrize("text", ["999999\n", "", "abc"])
async def test_PR_07_a_stale_pid_file_stops_no_start(here: Installation, text: str) -> None:
    here.configure()
    for name in ("hermes.pid", "hermes.lock"):
        (here.root / name).write_text(text)
    daemon, _ = await here.run_daemon()
    assert int((here.root / "hermes.pid").read_text()) == daemon.pid
    assert (await end(daemon)).code == 0


async def test_restart_drains_and_comes_back(here: Installation, model_peer: ModelPeer) -> None:
    here.configure_model(model_peer.url)
    assert (await here.run("gateway", "run", "--daemon")).code == 0
    before = await here.status()
    asking = asyncio.create_task(here.run("chat", "-q", "slow [[delay=1500]]"))
    await model_peer.wait_for(lambda: model_peer.in_flight.total() == 1, 30)
    restarted = await here.run("gateway", "restart")
    assert restarted.code == 0, restarted.err
    assert (await asking).out == "echo: slow\n"
    after = await here.status()
    assert after["ready"] is True
    assert (after["url"], after["uptime"] > 60) != (before["url"], True)
    assert (await here.run("chat", "-q", "and now")).out == "echo: and now\n"
    assert (await here.run("gateway", "stop")).code == 0
    assert (await here.run("gateway", "restart")).code == 3


async def test_a_restart_onto_a_broken_or_missing_configuration_is_refused(here: Installation) -> None:
    here.configure()
    up = await here.run("gateway", "run", "--daemon")
    assert "No platform is switched on" in up.err
    config = (here.root / "config.yaml").read_text()
    here.configure(agent={"budget": "many"})
    refused = await here.run("gateway", "restart")
    assert (refused.code, "agent.budget" in refused.err) == (1, True), refused.err
    assert "not restarted" in refused.err
    assert (await here.status())["running"] is True
    assert (await here.run("status")).out.count("not reloaded") == 1
    (here.root / "config.yaml").unlink()  # which would start, with no platform and another port
    for command in ("restart", "reload"):
        refused = await here.run("gateway", command, "--json")
        assert (refused.code, refused.out) == (1, ""), refused
        assert "config.yaml is missing or empty" in refused.err
    assert (await here.status())["ready"] is True
    (here.root / "config.yaml").write_text(config)
    assert (await here.run("gateway", "restart")).code == 0
    assert (await here.run("gateway", "stop")).code == 0


async def test_PR_01_a_turn_ends_before_the_daemon_does(here: Installation, model_peer: ModelPeer) -> None:
    here.configure_model(model_peer.url)
    daemon, _ = await here.run_daemon()
    asking = asyncio.create_task(here.run("chat", "-q", "slow [[delay=2000]]"))
    await model_peer.wait_for(lambda: model_peer.in_flight.total() == 1, 30)
    done = await end(daemon)
    assert done.code == 0
    answer = await asking
    assert (answer.code, answer.out) == (0, "echo: slow\n")


async def test_PR_01_a_second_signal_ends_it_at_once_without_a_traceback(
    here: Installation, model_peer: ModelPeer
) -> None:
    here.configure_model(model_peer.url)
    daemon, _ = await here.run_daemon()
    asking = await here.start("chat", "-q", "never [[hang]]")
    await model_peer.wait_for(lambda: model_peer.in_flight.total() == 1, 30)
    daemon.send_signal(signal.SIGTERM)
    await read_until(daemon.stderr, "stopping")
    began = time.monotonic()
    done = await end(daemon)
    assert time.monotonic() - began < 10
    assert done.code == 1
    assert "Traceback" not in done.err
    asking.kill()


async def test_PR_13_the_service_manager_is_told(here: Installation, tmp_path: Path) -> None:
    here.configure()
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    manager.setblocking(False)
    here.environ = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "1000000"}
    daemon, _ = await here.run_daemon()
    heard: list[tuple[float, str]] = []
    loop = asyncio.get_running_loop()
    while sum("WATCHDOG=1" in text for _, text in heard) < 6:
        text = (await asyncio.wait_for(loop.sock_recv(manager, 4096), 10)).decode()
        heard.append((time.monotonic(), text))
    assert (await end(daemon)).code == 0
    rest = []
    with suppress(BlockingIOError):
        while text := manager.recv(4096).decode():
            rest.append(text)
    manager.close()
    assert sum("READY=1" in text for text in [t for _, t in heard] + rest) == 1
    assert any("STOPPING=1" in text for text in rest)
    pings = [at for at, text in heard if "WATCHDOG=1" in text]
    assert sorted(b - a for a, b in pairwise(pings))[2] <= 0.5


async def test_a_home_of_200_characters_works(tmp_path: Path) -> None:
    here = Installation(tmp_path / ("h" * max(1, 200 - len(str(tmp_path)))))
    here.configure()
    daemon, _ = await here.run_daemon()
    assert len(str(here.root)) > 200
    assert (await here.status())["pid"] == daemon.pid
    assert (await end(daemon)).code == 0
    await here.aclose()


async def test_a_hangup_reloads_where_no_terminal_is(here: Installation) -> None:
    here.configure()
    daemon, _ = await here.run_daemon()
    (here.root / "logs" / "hermes.log").rename(here.root / "logs" / "old.log")
    here.configure(logging={"level": "debug"})
    daemon.send_signal(signal.SIGHUP)
    await read_until(daemon.stderr, "settings.reloaded")
    assert (await here.status())["settings"]["number"] == 2
    assert (here.root / "logs" / "hermes.log").exists()
    assert (await end(daemon)).code == 0


async def test_only_one_platform_runs_when_asked_so(here: Installation) -> None:
    here.configure(platforms={"api": {"key": "a-long-key"}, "webhook": {"routes": {}}})
    unknown = await here.run("gateway", "run", "--gateway", "apo")
    assert unknown.code == 78
    assert "platforms.apo" in unknown.err
    daemon, _ = await here.run_daemon("--gateway", "api")
    assert list((await here.status())["platforms"]) == ["api"]
    listed = await here.run("gateway", "list")
    assert "connected" in listed.out
    assert "webhook" in listed.out
    assert (await end(daemon)).code == 0
