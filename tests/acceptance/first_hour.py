"""The first hour of somebody new, walked through in a real terminal; docs/first-hour.md is what they saw.

`python -m tests.acceptance.first_hour` writes that page anew.
"""

import argparse
import asyncio
import os
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from tests.acceptance.house import eventually
from tests.clirig import HERMES
from tests.peers.model import ModelPeer
from tests.peers.model.script import says
from tests.peers.telegram import TelegramPeer
from tests.ports import free_port
from tests.tmux import Tmux, in_tmux

PAGE = Path(__file__).parents[2] / "docs" / "first-hour.md"
CHAT = 1001
NEW_TOKEN = "424242:the-new-token"
_OTHER_EACH_TIME = (
    (r"process \d+", "process 4711"),
    (r"^\d{8}-\d{6}-[0-9a-f]{12}", "20260101-120000-0123456789ab"),
    (r"\d{4}-\d\d-\d\d([ T])\d\d:\d\d(:\d\d(\.\d+)?Z)?", r"2026-01-01\g<1>12:00"),
    (r"[\d.]+ GB of [\d.]+ GB", "80 GB of 200 GB"),
    (r"\d+ ms", "1 ms"),
    (r"up [\d.]+ s", "up 1 s"),
    (r"^[\d.]+ s · ", "1.0 s · "),
    (r"(database|wal|transcripts|logs)(\s+)[\d.,]+(\s+)(MB|kB|bytes)", r"\1\g<2>100\g<3>kB"),
    (r"\([\d,]+ bytes", "(10,000 bytes"),
)
INTRODUCTION = """\
# The first hour

What somebody new sees, from the first command to a home that was lost and came back. It is a recording: a test types these
commands into a real terminal, beside a model and a Telegram of its own (therefore `--base-url`), and
`python -m tests.acceptance.first_hour` writes this page from what stood on the screen. Addresses, process numbers, codes and
times are made alike. The port was set before, so that nothing else on the machine is disturbed.
"""


class Walk:
    """Types into a shell, and keeps what the screen shows, step by step."""

    def __init__(self, tmux: Tmux, home: Path, model: ModelPeer, telegram: TelegramPeer) -> None:
        self.tmux = tmux
        self.home = home
        self.model = model
        self.telegram = telegram
        self.port = free_port()
        self.code = ""
        self.steps: list[tuple[str, str]] = []

    async def command(self, line: str) -> None:
        """Type a command and wait for its end."""
        await self.begin(line)
        await self.ended()

    async def begin(self, line: str) -> None:
        """Type a command that goes on to ask, or to talk."""
        await self.tmux.type(line)
        await self.tmux.says(line[-40:])
        await self.tmux.press("Enter")

    async def ended(self) -> None:
        """The shell's prompt is there again."""
        await self.tmux.shows(lambda lines: [x for x in lines if x][-1:] == ["$"], "the prompt", 90)

    async def answer(self, question: str, text: str) -> None:
        """Answer what a command asks."""
        await self.tmux.says(question)
        await self.tmux.type(text, "Enter")

    async def secret(self, question: str, text: str) -> None:
        """Answer what a command asks without showing it: what is typed before it listens is thrown away."""
        await self.tmux.says(question)
        await eventually(self._is_hidden)
        await self.tmux.type(text, "Enter")

    async def _is_hidden(self) -> bool:
        return not await self.tmux.echoes()

    async def seen(self, text: str, *parts: str) -> None:
        """End a step: keep `text` and the screen, which must hold `parts`."""
        screen = "\n".join(await self.tmux.everything()).removesuffix("\n$")
        for part in parts:
            assert part in screen, f"no {part!r} in:\n{screen}"
        self.steps.append((text, screen))
        await self.tmux.clear()

    async def said(self, words: str) -> str:
        """The text on Telegram with these words, once it is there."""
        return await self.telegram.wait_text(CHAT, words, timeout=30)

    def note(self, text: str) -> None:
        """A step that happens somewhere else."""
        self.steps.append((text, ""))

    async def daemon_gone(self, process: int) -> None:
        """Wait until that process is no more."""

        async def is_gone() -> bool:
            return not psutil.pid_exists(process)

        await eventually(is_gone, 30)

    @property
    def daemon(self) -> int:
        """The running daemon's process."""
        return int((self.home / ".hermes" / "hermes.pid").read_text())


async def _look_around(walk: Walk) -> None:
    await walk.command("hermes --help")
    await walk.seen("What can it do?", "chat ", "doctor ")
    await walk.command("hermes status")
    await walk.seen("How is it?", "No daemon runs; start one with")


def _asks(lines: list[str]) -> bool:
    return any("Which provider" in line for line in lines)


async def _choose_a_model(walk: Walk) -> None:
    await walk.begin("hermes model")
    (choice,) = [line for line in await walk.tmux.shows(_asks, "the question") if ". custom" in line]
    await walk.answer("Which provider", choice.partition(".")[0])
    await walk.answer("The address of custom", walk.model.url)
    await walk.answer("Which model", "1")
    await walk.ended()
    await walk.seen(
        "A model: here a server that speaks OpenAI's protocol.", "custom/peer-model answers from now on."
    )


async def _talk(walk: Walk) -> None:
    walk.model.script.add(
        says(
            "Nice to meet you, **Ada**. I keep that in mind.\n\n- Ask me anything.\n- `/help` lists commands.",
            every=0.1,
        ),
        text="My name is Ada",
    )
    await walk.begin("hermes chat")
    await walk.tmux.says("Ctrl-D leaves")
    await walk.answer(">", "My name is Ada.")
    await walk.tmux.says("tokens")
    await walk.tmux.press("C-d")
    await walk.ended()
    await walk.seen("The first chat. Ctrl-D leaves.", "Nice to meet you, Ada.", "• /help lists commands.")


async def _add_telegram(walk: Walk) -> None:
    add = f"hermes gateway add telegram --base-url {walk.telegram.base_url}"
    await walk.begin(add)
    await walk.secret("The bot's token", "1:mistyped")
    await walk.ended()
    await walk.begin(add)
    await walk.secret("The bot's token", walk.telegram.token)
    await walk.ended()
    await walk.seen(
        "Telegram. A mistyped token is noticed at once.", "refused the bot's token", "@peer_bot on telegram"
    )
    await walk.command("hermes gateway run --daemon")
    await walk.command("hermes status")
    await walk.seen("Start it, for good.", "telegram:connected", "telegram  connected")


async def _admit(walk: Walk) -> None:
    walk.telegram.push_text("Hello, is somebody there?", chat=CHAT)
    reply = await walk.said("I do not know you yet")
    walk.note(f"Ada writes to the bot from her phone: *Hello, is somebody there?* It answers:\n\n> {reply}")
    walk.code = code = reply.partition("owner: ")[2].split()[0]
    await walk.command("hermes pairing list")
    await walk.command(f"hermes pairing approve {code}")
    await walk.seen("She admits herself.", code, "is admitted.")
    walk.telegram.push_text("And now?", chat=CHAT)
    await walk.said("echo: And now?")
    walk.note("*And now?* is answered.")


async def _lose_the_token(walk: Walk) -> None:
    walk.telegram.token = NEW_TOKEN
    walk.telegram.push_text("Still there?", chat=CHAT)

    async def has_failed() -> bool:
        await walk.command("hermes status")
        failed = any("failed: unauthorized" in line for line in await walk.tmux.lines())
        if not failed:
            await walk.tmux.clear()
        return failed

    await eventually(has_failed, 60)
    await walk.command("hermes logs --level warning -n 1")
    await walk.command("hermes doctor")
    await walk.seen(
        "Then the token is revoked at @BotFather, and nobody answers *Still there?* What is wrong?",
        "hermes config set platforms.telegram.",
        "check it with @BotFather",
        "adapter.unauthorized",
        "BAD  daemon: telegram has failed",
    )
    assert walk.telegram.chats[CHAT].texts()[-1] == "echo: And now?"


async def _mend_the_token(walk: Walk) -> None:
    await walk.begin("hermes config set platforms.telegram.token")
    await walk.secret("(not shown)", NEW_TOKEN)
    await walk.ended()
    await walk.command("hermes gateway restart")
    await walk.command("hermes status")
    await walk.seen("A new token.", "hermes gateway restart", "Restarted", "telegram  connected")
    await walk.said("echo: Still there?")
    walk.note("*Still there?* is answered now: the answer had waited.")


async def _lose_the_home(walk: Walk) -> None:
    await walk.command("hermes backup -o ~/hermes-backup.tar.gz")
    await walk.seen("A backup, just in case.", "hermes-backup.tar.gz (")
    lost = walk.daemon
    await walk.command("rm -r ~/.hermes")
    await walk.command("hermes status")
    await walk.seen("The case comes: everything is gone, under the running daemon.", "No daemon runs")
    await walk.command("hermes restore ~/hermes-backup.tar.gz")
    await walk.daemon_gone(lost)  # it sees that its place is taken
    await walk.command("hermes gateway run --daemon")
    await walk.command("hermes doctor")
    await walk.seen(
        "Back to the backup.", ".hermes is as it was at", "telegram:connected", "It runs and takes messages."
    )


async def _go_on(walk: Walk) -> None:
    walk.model.script.add(says("Your name is Ada.", every=0.1), text="What is my name?")
    await walk.command('hermes chat -q "What is my name?"')
    await walk.command("hermes sessions list")
    await walk.seen("The conversation goes on where it was.", "Your name is Ada.", "terminal:main")
    body = walk.model.requests[-1].body
    assert body is not None
    assert "My name is Ada." in str(body["messages"]), "the restored conversation is what the model gets"
    walk.telegram.push_text("Are you back?", chat=CHAT)
    await walk.said("echo: Are you back?")
    walk.note("So it does on Telegram: *Are you back?* is answered, and no new code is asked for.")
    await walk.command("hermes gateway stop")
    await walk.seen("Enough for today.", "Stopped")


STEPS = (
    _look_around,
    _choose_a_model,
    _talk,
    _add_telegram,
    _admit,
    _lose_the_token,
    _mend_the_token,
    _lose_the_home,
    _go_on,
)


@asynccontextmanager
async def _house_of_ada(folder: Path) -> AsyncIterator[tuple[Tmux, Path]]:
    """A shell in a person's own folder; a daemon that is left there is ended."""
    home = folder / "ada"
    home.mkdir()
    path = f"{HERMES.parent}{os.pathsep}{os.environ['PATH']}"
    environ = {
        "HOME": str(home),
        "PATH": path,
        "PS1": "$ ",
        "LANG": "C.UTF-8",
        "HISTFILE": os.devnull,
    }
    async with in_tmux("bash", "--norc", "--noprofile", environ=environ) as tmux:
        try:
            await tmux.says("$")
            yield tmux, home
        finally:
            await _end(home)


async def _end(home: Path) -> None:
    for process in psutil.process_iter(["cmdline", "environ"]):
        try:
            if process.environ().get("HOME") == str(home) and "gateway.cli" in process.cmdline():
                process.kill()
        except psutil.Error:
            continue


async def walk(folder: Path, model: ModelPeer, telegram: TelegramPeer) -> list[tuple[str, str]]:
    """The whole hour; each step's sentence and its screen. Raises `AssertionError` where it goes wrong."""
    async with _house_of_ada(folder) as (tmux, home):
        walk = Walk(tmux, home, model, telegram)
        await walk.command(f"hermes config set gateway.http.port {walk.port}")
        await tmux.clear()
        for step in STEPS:
            await step(walk)
    return [(_alike(text, walk), _alike(screen, walk)) for text, screen in walk.steps]


def _alike(text: str, walk: Walk) -> str:
    """The text without what is another each time."""
    for found, put in (
        (str(walk.home), "/home/ada"),
        (walk.model.url, "http://127.0.0.1:9000/v1"),
        (walk.telegram.base_url, "http://127.0.0.1:8081/bot"),
        (f"127.0.0.1:{walk.port}", "127.0.0.1:8642"),
        (walk.code, "ABCD2345"),
    ):
        text = text.replace(found, put)
    for pattern, put in _OTHER_EACH_TIME:
        text = re.sub(pattern, put, text, flags=re.MULTILINE)
    return text


def as_page(steps: list[tuple[str, str]]) -> str:
    """The page in docs/."""
    parts = [INTRODUCTION]
    for text, screen in steps:
        parts.append(f"\n{text}\n")
        if screen:
            parts.append(f"\n```text\n{screen}\n```\n")
    return "".join(parts)


def commands(page: str) -> list[str]:
    """What is typed on the page, without what is made alike."""
    return [line for line in page.splitlines() if line.startswith("$ ")]


async def main() -> None:
    """Write the page."""
    async with ModelPeer() as model, TelegramPeer() as telegram:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            steps = await walk(Path(folder), model, telegram)
    await asyncio.to_thread(PAGE.write_text, as_page(steps), encoding="utf-8")


if __name__ == "__main__":
    argparse.ArgumentParser(
        description=f"Walk through {PAGE.name} in a real terminal, and write it anew."
    ).parse_args()
    asyncio.run(main())
