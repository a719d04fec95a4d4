"""The daemon is killed all along a message's way from and to Slack: each message gets one answer, and none is marked.

Slack repeats what was not acknowledged, and a message whose outcome is unknown is found by its metadata: so nothing
is lost and nothing doubled, in either mode of `on_unknown`.
"""

import asyncio
import json
import signal
import sqlite3
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

from tests.crash.daemon import Daemon
from tests.peers.model import ModelPeer
from tests.peers.slack import USER, SlackPeer

WAY = (
    "intake.parsed",
    "ledger.accepted",
    "outbox.claimed",
    "outbox.sent",
    "outbox.sent",
)
OFFER = '[[tool=offer_choices {"choices": ["Yes", "No"]}]]'
GROWING = " ".join(f"word{n}" for n in range(30))


class Home:
    """A home with Slack alone, and its daemon's lives."""

    def __init__(
        self, folder: Path, model: ModelPeer, slack: SlackPeer, on_unknown: str, **platform: Any
    ) -> None:
        self.folder = folder
        self.slack = slack
        self.said: list[str] = []
        self.daemon: Daemon | None = None
        config: dict[str, Any] = {
            "llm": {
                "provider": "custom", "model": "peer-model", "custom": {"base_url": model.url, "api_key": "k"},
            },
            "gateway": {
                "http": {"host": "127.0.0.1", "port": 0},
                "limits": {"rate": "off"},
                "delivery": {"on_unknown": on_unknown},
                "resume_max_starts": 1000,
            },
            "platforms": {"slack": slack.settings(**platform)},
        }  # fmt: skip
        folder.mkdir(mode=0o700)
        (folder / "config.yaml").write_text(json.dumps(config))

    async def start(self, failpoint: str | None = None) -> Daemon:
        """Begin a life."""
        self.daemon = await Daemon.start(self.folder, failpoint=failpoint)
        return self.daemon

    async def killed(self, failpoint: str) -> None:
        """The life ends where it was to end."""
        assert self.daemon is not None
        code = await self.daemon.wait(60.0)
        self.said.append(self.daemon.stderr)
        assert code == -signal.SIGKILL, f"{failpoint} was never reached: {self.daemon.stderr[-3000:]}"

    async def stop(self) -> None:
        """A good end."""
        assert self.daemon is not None
        code = await self.daemon.stop()
        self.said.append(self.daemon.stderr)
        assert code == 0, self.daemon.stderr[-3000:]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of the dead daemon's database."""
        with closing(sqlite3.connect(f"file:{self.folder / 'state.db'}?mode=ro", uri=True)) as connection:
            return connection.execute(sql).fetchall()


async def in_mode(mode: str, folder: Path, places: tuple[str, ...]) -> None:
    """One message a life, in a direct conversation and in threads in turn; each life is killed at its place."""
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ModelPeer())
        slack = await stack.enter_async_context(SlackPeer())
        home = Home(folder / mode, model, slack, mode)
        try:
            await through(home, places)
        finally:
            if home.daemon is not None:
                await home.daemon.kill()
        assert (model.violations, slack.violations) == ([], [])
        check(home, len(places))


async def through(home: Home, places: tuple[str, ...]) -> None:
    for number, place in enumerate(places):
        await home.start(place)
        text = f"[[text=answer {number}.]]"
        if number % 2:
            await home.slack.push(f"<@{USER}> {text}", "C1")
        else:
            await home.slack.push(text, "D1")
        await home.killed(place)
    await (await home.start()).until_ready()
    channels = home.slack.channels
    await home.slack.wait_for(lambda: sum(len(c.texts()) for c in channels.values()) >= len(places), 40.0)
    await home.slack.acknowledged()
    await home.stop()


def check(home: Home, messages: int) -> None:
    shown = {name: channel.texts() for name, channel in home.slack.channels.items()}
    wanted = [f"answer {number}." for number in range(messages)]
    assert {name: sorted(texts) for name, texts in shown.items()} == {"D1": wanted[::2], "C1": wanted[1::2]}
    assert home.rows("SELECT DISTINCT state FROM inbox") == [("answered",)]
    assert home.rows("SELECT count(*) FROM inbox") == [(messages,)]
    assert home.rows("SELECT DISTINCT state FROM outbox") == [("sent",)]
    for message in home.slack.channels["C1"].messages:
        assert (message.thread_ts is not None) == (message.user == USER)


async def test_killed_along_the_way(tmp_path: Path) -> None:
    async with asyncio.TaskGroup() as both:
        for mode in ("resend", "drop"):
            both.create_task(in_mode(mode, tmp_path, WAY))


async def test_killed_while_an_answer_grows(
    tmp_path: Path, model_peer: ModelPeer, slack_peer: SlackPeer
) -> None:
    home = Home(tmp_path / "home", model_peer, slack_peer, "drop")
    try:
        await home.start("live.edited")
        await slack_peer.push(f"{OFFER}[[chunks=30]][[every=150]][[text={GROWING}]]", "D1")
        await home.killed("live.edited")
        (part,) = slack_peer.texts("D1")
        assert GROWING.startswith(part.rpartition("\n\n")[2])
        assert part != GROWING
        await home.start("outbox.claimed")  # the last edit, which brings the buttons
        await home.killed("outbox.claimed")
        assert slack_peer.channels["D1"].messages[-1].buttons == []
        await (await home.start()).until_ready()
        await slack_peer.wait_for(lambda: bool(slack_peer.channels["D1"].messages[-1].buttons), 30.0)
        await home.stop()
    finally:
        if home.daemon is not None:
            await home.daemon.kill()
    assert slack_peer.texts("D1") == [GROWING]
    assert slack_peer.channels["D1"].messages[-1].buttons == ["Yes", "No"]
    assert "live.left_over" not in "".join(home.said)


async def test_killed_while_a_file_goes_out(
    tmp_path: Path, model_peer: ModelPeer, slack_peer: SlackPeer
) -> None:
    home = Home(tmp_path / "home", model_peer, slack_peer, "drop", allow_from=["U1"])
    (home.folder / "workspace").mkdir()
    (home.folder / "workspace" / "a.txt").write_bytes(b"words")
    try:
        # the words come first, and in the second life what the first one left over
        for number, place in enumerate(("outbox.claimed:2", "outbox.sent:3")):
            await home.start(place)
            asked = f'[[tool=send_file {{"path": "a.txt"}}]] [[text=answer {number}.]]'
            await slack_peer.push(asked, "D1")
            await home.killed(place)
        await (await home.start()).until_ready()
        await slack_peer.wait_for(lambda: len(slack_peer.texts("D1")) >= 4, 40.0)
        await slack_peer.acknowledged()
        await home.stop()
    finally:
        if home.daemon is not None:
            await home.daemon.kill()
    shown = [m for m in slack_peer.channels["D1"].messages if m.user == USER]
    assert [(m.text, [file.content for file in m.files]) for m in shown] == [
        ("answer 0.", []), ("", [b"words"]), ("answer 1.", []), ("", [b"words"]),
    ]  # fmt: skip
    assert (
        home.rows("SELECT kind, state FROM outbox ORDER BY id") == [("reply", "sent"), ("file", "sent")] * 2
    )
