"""`hermes chat`: in scripts, at a terminal, and through everything that can happen to who answers."""

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import stat
import termios
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Self

import pytest

from tests.clirig import HERMES, Installation, end, read_until
from tests.peers.model import ModelPeer
from tests.peers.model.script import says


@pytest.fixture
async def here(tmp_path: Path, model_peer: ModelPeer) -> AsyncIterator[Installation]:
    here = Installation(tmp_path / "home")
    here.configure_model(model_peer.url)
    yield here
    await here.aclose()


async def asked(peer: ModelPeer, count: int = 1) -> None:
    """Return when the model works on so many requests."""
    await peer.wait_for(lambda: peer.in_flight.total() >= count, 30)


async def test_one_question_in_this_process(here: Installation) -> None:
    done = await here.run("chat", "-q", "hello")
    assert (done.code, done.out, done.err) == (0, "echo: hello\n", "")
    assert (await here.status())["running"] is False


async def test_one_question_to_the_daemon(here: Installation) -> None:
    daemon, _ = await here.run_daemon()
    done = await here.run("chat", "-q", "hello")
    assert (done.code, done.out) == (0, "echo: hello\n")
    assert (await here.status())["turns"]["finished"] == 1
    assert (await end(daemon)).code == 0


async def test_a_failed_turn_is_exit_1_and_a_sentence_apart(here: Installation) -> None:
    done = await here.run("chat", "-q", "no [[error=401]]")
    assert (done.code, done.out) == (1, "")
    assert "refused the key" in done.err


async def test_each_line_of_stdin_is_a_message(here: Installation) -> None:
    done = await here.run("chat", stdin="one [[delay=300]]\n\n  two\n/nonsense\nthree")
    assert done.code == 0
    first, second, third, fourth = done.out.splitlines()
    assert (first, second, fourth) == ("echo: one", "echo: two", "echo: three")
    assert "/nonsense" in third


async def test_sessions_are_kept_apart_and_listed(here: Installation) -> None:
    await here.run("chat", "-q", "the first")
    await here.run("chat", "--session", "work", "-q", "the second")
    listed = await here.run("sessions", "list")
    assert "terminal:main" in listed.out
    assert "terminal:work" in listed.out
    ident = re.findall(r"^(\S+) .*terminal:work", listed.out, re.MULTILINE)[0]
    shown = await here.run("sessions", "show", ident)
    assert "user: the second" in shown.out
    assert "assistant: echo: the second" in shown.out
    assert (await here.run("chat", "--session", "../x", "-q", "y")).code == 2
    gone = await here.run("sessions", "show", "none")
    assert (gone.code, "There is no session none" in gone.err) == (1, True)


async def test_without_a_provider_it_says_how_to_set_one(here: Installation) -> None:
    here.configure(llm={"local": {"automatic": False}})
    done = await here.run("chat", stdin="hello\n")
    assert done.code == 0
    assert "hermes model" in done.out
    assert (await here.run("chat", "-q", "hello")).code == 1


async def test_a_starting_daemon_takes_over_from_a_chat(here: Installation, model_peer: ModelPeer) -> None:
    chat = await here.start("chat")
    assert chat.stdin is not None
    assert chat.stdout is not None
    chat.stdin.write(b"one\n")
    await read_until(chat.stdout, "echo: one")
    chat.stdin.write(b"two [[delay=2000]]\n")
    await asked(model_peer)
    daemon, _ = await here.run_daemon()  # the chat ends its turn first
    assert await read_until(chat.stdout, "echo") == "echo: two\n"
    chat.stdin.write(b"three\n")
    assert await read_until(chat.stdout, "echo") == "echo: three\n"
    status = await here.status()
    assert status["pid"] == daemon.pid
    assert status["turns"]["finished"] == 1
    chat.stdin.close()
    assert await asyncio.wait_for(chat.wait(), 30) == 0
    assert (await end(daemon)).code == 0


async def test_a_daemon_that_is_killed_in_a_turn_answers_after_its_start(
    here: Installation, model_peer: ModelPeer
) -> None:
    daemon, _ = await here.run_daemon()
    chat = await here.start("chat", "-q", "slow [[delay=1500]]")
    await asked(model_peer)
    daemon.kill()
    await daemon.wait()
    again, _ = await here.run_daemon()
    out, _ = await asyncio.wait_for(chat.communicate(), 60)
    assert (chat.returncode, out) == (0, b"echo: slow\n")
    assert (await here.status())["turns"]["finished"] == 1
    listed = await here.run("sessions", "list", "--json")
    assert '"messages": 2' in listed.out
    assert (await end(again)).code == 0


async def test_two_chats_share_a_home_without_a_daemon(here: Installation) -> None:
    first = await here.start("chat")
    assert first.stdin is not None
    first.stdin.write(b"one\n")
    await read_until(first.stdout, "echo: one")
    second = await here.run("chat", "-q", "two")
    assert (second.code, second.out) == (0, "echo: two\n")
    first.stdin.close()
    assert await asyncio.wait_for(first.wait(), 30) == 0


async def test_ctrl_c_stops_the_turn(here: Installation, model_peer: ModelPeer) -> None:
    chat = await here.start("chat", "-q", "never [[hang]]")
    await asked(model_peer)
    done = await end(chat, signal.SIGINT)
    assert done.code == 130
    assert "Stopped." in done.out + done.err
    assert "Traceback" not in done.err


async def test_sigterm_ends_a_chat_at_once_and_the_next_one_goes_on_with_its_turn(
    here: Installation, model_peer: ModelPeer
) -> None:
    here.environ["HERMES_GATEWAY__DRAIN_TIMEOUT"] = "10m"
    model_peer.script.add(says("", hang="headers"), says("late but whole"), text="a question")
    chat = await here.start("chat", "-q", "a question")
    await asked(model_peer)
    done = await end(chat, signal.SIGTERM)
    assert (done.code, done.out, done.err) == (143, "", "")
    assert (await here.run("chat", "-q", "another")).code == 0
    (session,) = json.loads((await here.run("sessions", "list", "--json")).out)
    shown = (await here.run("sessions", "show", session["session_id"])).out
    assert [line.partition("] ")[2] for line in shown.splitlines()] == [
        "user: a question",
        "assistant: late but whole",
        "user: another",
        "assistant: echo: another",
    ]


class Terminal:
    """What a person sees and types, over a real pseudo-terminal."""

    def __init__(self, here: Installation) -> None:
        self._here = here
        self.seen = ""
        self.everything = ""

    async def __aenter__(self) -> Self:
        ours, theirs = pty.openpty()
        environ = {**os.environ, "HERMES_HOME": str(self._here.root), "TERM": "xterm", "COLUMNS": "80"}
        self.process = await asyncio.create_subprocess_exec(
            HERMES,
            "chat",
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environ,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C is a signal
        )
        self._here.running.append(self.process)
        os.close(theirs)
        os.set_blocking(ours, False)
        self._descriptor = ours
        self._more = asyncio.Event()
        asyncio.get_running_loop().add_reader(ours, self._read)
        return self

    async def __aexit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
        if b"\x1b[6n" in data:  # where is the cursor? A terminal answers.
            os.write(self._descriptor, b"\x1b[1;1R")
        self.seen += data.decode(errors="replace")
        self.everything += data.decode(errors="replace")
        self._more.set()

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    async def expect(self, pattern: str) -> None:
        """Wait for the pattern in what was written, and forget everything up to it."""
        while not (found := re.search(pattern, self.seen)):
            self._more.clear()
            try:
                await asyncio.wait_for(self._more.wait(), 30)
            except TimeoutError:
                raise AssertionError(f"no {pattern!r} in {self.seen!r}") from None
        self.seen = self.seen[found.end() :]

    async def prompt(self) -> None:
        """Wait until something can be typed (bracketed paste is switched on)."""
        await self.expect(r"\x1b\[\?2004h")


async def test_a_conversation_at_a_terminal(here: Installation, model_peer: ModelPeer) -> None:
    # A model must not be able to set the window's title.
    model_peer.script.add(says("**bold** and\n\n- a list\n\nevil \x1b]0;title\x07"), text="draw")
    async with Terminal(here) as terminal:
        await terminal.prompt()
        terminal.type("draw\r")
        await terminal.expect(r"bold\S* and")
        await terminal.expect(r"•.*a list")
        await terminal.prompt()
        terminal.type("/whoami\r")
        await terminal.expect("on terminal")
        await terminal.prompt()
        terminal.type("never [[hang]]\r")
        await asked(model_peer)
        terminal.type("\x03")
        await terminal.expect(r"Stopped\.")
        await terminal.prompt()
        terminal.type("/exit\r")
        assert await asyncio.wait_for(terminal.process.wait(), 30) == 0
    assert "]0;title" in terminal.everything
    assert "\x1b]0;" not in terminal.everything
    history = here.root / "chat_history"
    assert "+/whoami" in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


async def test_a_terminal_outlives_the_daemon(here: Installation) -> None:
    daemon, _ = await here.run_daemon()
    async with Terminal(here) as terminal:
        await terminal.prompt()
        terminal.type("one\r")
        await terminal.expect("echo: one")
        await terminal.prompt()
        assert (await end(daemon)).code == 0
        terminal.type("two\r")  # nobody is there any longer: it answers by itself
        await terminal.expect("echo: two")
        await terminal.prompt()
        terminal.type("\x04")
        with contextlib.suppress(TimeoutError):
            assert await asyncio.wait_for(terminal.process.wait(), 30) == 0
