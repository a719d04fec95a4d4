"""The home: made, claimed, locked; files replaced as a whole."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gateway.home import FOREIGN_KEYS, HomeLock, atomic_write, check_ours, file_lock, prepare, read_pid
from hermes.errors import EXIT_CONFIG, EXIT_HELD, HomeError, HomeHeld
from hermes.home import APPLICATION_ID, Home

HOLDER = """
import sys
from pathlib import Path
from gateway.home import HomeLock
from hermes.home import Home
HomeLock(Home(Path(sys.argv[1]))).acquire()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def listing(path: Path) -> dict[str, tuple[int, float]]:
    return {p.name: (p.stat().st_size, p.stat().st_mtime_ns) for p in path.iterdir()}


def test_a_home_is_made_for_our_eyes_only(home: Home) -> None:
    old = os.umask(0)
    try:
        assert prepare(home) is None
    finally:
        os.umask(old)
    assert mode(home.root) == 0o700


def test_a_wider_mode_is_narrowed_and_told(home: Home) -> None:
    home.root.mkdir()
    home.root.chmod(0o755)
    note = prepare(home)
    assert note is not None
    assert "0755" in note
    assert mode(home.root) == 0o700
    assert prepare(home) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a folder away")
def test_a_home_of_another_user_is_refused_untouched(home: Home) -> None:
    home.root.mkdir(mode=0o755)
    os.chown(home.root, 12345, 12345)
    with pytest.raises(HomeError, match="uid 12345") as raised:
        prepare(home)
    assert raised.value.exit_code == EXIT_CONFIG
    assert list(home.root.iterdir()) == []
    assert mode(home.root) == 0o755


def test_a_home_that_is_a_file_is_refused(home: Home) -> None:
    home.root.write_text("x")
    with pytest.raises(HomeError, match="no folder"):
        prepare(home)
    with pytest.raises(HomeError, match="cannot be used"):
        prepare(Home(home.root / "inner"))


def test_a_home_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(HomeError, match="HERMES_HOME"):
        prepare(Home(Path("/proc/hermes-home")))


@pytest.mark.parametrize("key", ["model", "security", "_config_version"])
def test_a_config_of_hermes_agent_is_refused_untouched(home: Home, key: str) -> None:
    home.root.mkdir(mode=0o755)
    home.config.write_text(f"# theirs\n{key}:\n  x: 1\n")
    before = listing(home.root)
    with pytest.raises(HomeError, match="HERMES_HOME") as raised:
        prepare(home)
    assert key in str(raised.value)
    assert listing(home.root) == before
    assert mode(home.root) == 0o755


def test_a_config_written_by_hand_is_ours(home: Home) -> None:
    home.root.mkdir(mode=0o700)
    home.config.write_text("\ufeffllm:\n  model: x\n  security: y\n# model: old\n")
    assert prepare(home) is None


def test_foreign_keys_are_none_of_ours() -> None:
    ours = (
        "llm gateway platforms agents bindings people media mcp agent tools approvals memory skills"
        " compression delegation cron heartbeat hooks limits display retention network logging timezone"
        " language"
    )
    assert not FOREIGN_KEYS.intersection(ours.split())


def database(path: Path, application_id: int, *, tables: bool = True) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id={application_id}")
    connection.execute("PRAGMA journal_mode=WAL")
    if tables:
        connection.execute("CREATE TABLE sessions(id)")
    connection.close()


def test_a_database_of_another_program_is_refused_untouched(home: Home) -> None:
    home.root.mkdir(mode=0o700)
    database(home.state, 0)
    before = listing(home.root)
    with pytest.raises(HomeError, match="HERMES_HOME"):
        check_ours(home)
    assert listing(home.root) == before


def test_a_file_that_is_no_database_is_refused(home: Home) -> None:
    home.root.mkdir(mode=0o700)
    home.state.write_bytes(b"something else, long enough to be read" * 5)
    with pytest.raises(HomeError):
        prepare(home)


def test_our_database_and_an_empty_one_are_ours(home: Home) -> None:
    home.root.mkdir(mode=0o700)
    database(home.state, APPLICATION_ID)
    prepare(home)
    home.state.write_bytes(b"")
    prepare(home)
    home.state.unlink()
    database(home.state, 0, tables=False)
    prepare(home)


# --- the lock


def hold(home: Home) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(home.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_PR_09_a_second_daemon_is_refused_with_the_pid_of_the_first(home: Home) -> None:
    prepare(home)
    with hold(home) as first:
        began = time.monotonic()
        with pytest.raises(HomeHeld) as raised:
            HomeLock(home).acquire()
        assert time.monotonic() - began < 3
        assert raised.value.pid == first.pid
        assert str(first.pid) in str(raised.value)
        assert raised.value.exit_code == EXIT_HELD
        assert read_pid(home.pid) == first.pid
        first.communicate()


def test_PR_09_the_kernel_frees_the_lock_of_a_killed_daemon(home: Home) -> None:
    prepare(home)
    with hold(home) as first:
        first.send_signal(signal.SIGKILL)
        first.wait()
    assert read_pid(home.pid) == first.pid
    with HomeLock(home) as lock:
        assert lock.held
        assert read_pid(home.pid) == os.getpid()


@pytest.mark.parametrize("stale", [b"", b"abc", b"999999\n", b"-1", b"\xff\xfe", b"1\n"])
def test_PR_07_a_stale_pid_file_stops_no_start(home: Home, stale: bytes) -> None:
    prepare(home)
    home.pid.write_bytes(stale)
    home.lock.write_bytes(stale)
    with HomeLock(home):
        assert home.pid.read_text() == f"{os.getpid()}\n"
        assert mode(home.pid) == mode(home.lock) == 0o600
    assert not home.pid.exists()


def test_the_lock_goes_to_no_child(home: Home) -> None:
    prepare(home)
    with HomeLock(home):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    with child:
        HomeLock(home).acquire()
        child.communicate(b"\n")


def test_releasing_leaves_the_pid_file_of_another(home: Home) -> None:
    prepare(home)
    with HomeLock(home) as lock:
        home.pid.write_text("1\n")
    assert not lock.held
    assert home.pid.read_text() == "1\n"


def test_a_pid_that_is_none_is_none(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    assert read_pid(file) is None
    for text, pid in [("12\n", 12), ("0", None), ("1.5", None), ("99999999999", None)]:
        file.write_text(text)
        assert read_pid(file) == pid


# --- files


def test_a_file_is_replaced_whole_and_private(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("old")
    file.chmod(0o644)
    with file.open() as reader:
        atomic_write(file, b"new")
        assert reader.read() == "old"
    assert file.read_bytes() == b"new"
    assert mode(file) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_linked_file_stays_linked(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "f"
    link.symlink_to(tmp_path / "there" / "real")
    atomic_write(link, b"x")
    assert link.is_symlink()
    assert (tmp_path / "there" / "real").read_bytes() == b"x"


def test_a_failed_replacement_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    (target / "full").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        atomic_write(target, b"x")
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_lock_keeps_others_out(tmp_path: Path) -> None:
    """Four processes count in one file and none of their steps is lost."""
    file = tmp_path / "n"
    file.write_text("0")
    program = (
        "import sys; from pathlib import Path; from gateway.home import *\n"
        "f = Path(sys.argv[1])\n"
        "for _ in range(20):\n"
        "    with file_lock(f): atomic_write(f, str(int(f.read_text()) + 1).encode())\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, str(file)]) for _ in range(4)]
    assert [p.wait() for p in processes] == [0, 0, 0, 0]
    with file_lock(file):
        assert file.read_text() == "80"
