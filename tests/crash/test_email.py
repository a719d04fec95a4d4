"""The daemon is killed all along the way of two mails of one thread; each gets one answer, the first one first.

What may have gone out twice has one name.

SMTP cannot be asked whether a mail was taken: a kill at that moment costs one marked copy under the same Message-ID
(`resend`), or one reported loss (`drop`).
"""

import asyncio
import json
import signal
import socket
import sqlite3
from collections import Counter
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

from tests.acceptance.house import eventually
from tests.crash.daemon import Daemon
from tests.crash.house import asks, problem_of, token_of
from tests.integration.mail_desk import Post, mail
from tests.peers.mail import Dovecot, SentMail, SmtpPeer
from tests.peers.model import ModelPeer

WAY = ("intake.parsed", "ledger.accepted", "outbox.claimed", "outbox.sent")


class Home:
    """A home with a mailbox alone, and its daemon's lives."""

    def __init__(self, folder: Path, model: ModelPeer, post: Post, on_unknown: str) -> None:
        self.folder = folder
        self.post = post
        self.mode = on_unknown
        self.said: list[str] = []
        self.excused: Counter[str] = Counter()
        self.tokens: list[str] = []
        self.writers: dict[str, str] = {}
        self.daemon: Daemon | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        config: dict[str, Any] = {
            "llm": {
                "provider": "custom", "model": "peer-model", "custom": {"base_url": model.url, "api_key": "k"},
            },
            "gateway": {
                "http": {"host": "127.0.0.1", "port": port},
                "limits": {"rate": "off"},
                "delivery": {"on_unknown": on_unknown},
                "resume_max_starts": 1000,
            },
            "platforms": {"email": post.settings(rate="off")},
        }  # fmt: skip
        folder.mkdir(mode=0o700)
        (folder / "config.yaml").write_text(json.dumps(config))

    async def write(self) -> None:
        """Somebody writes two mails, the second at once behind the first, to which it belongs."""
        first, second = (f"m-mail-{len(self.tokens) + n}" for n in (1, 2))
        self.tokens += [first, second]
        self.writers |= dict.fromkeys((first, second), f"{first}@far.test")
        heads = {"Message_ID": f"<{first}@far.test>", "From": self.writers[first]}
        await self.post.deliver(mail(asks(first), **heads))
        heads |= {"Message_ID": f"<{second}@far.test>", "In_Reply_To": f"<{first}@far.test>"}
        await self.post.deliver(mail(asks(second), **heads))

    async def live(self, failpoint: str | None = None) -> Daemon:
        """Begin a life."""
        self.daemon = await Daemon.start(self.folder, failpoint=failpoint)
        return self.daemon

    async def killed(self, place: str) -> None:
        """The life ends at its place; each row that stands at `sending` then is excused once."""
        assert self.daemon is not None
        code = await self.daemon.wait(60.0)
        self.said.append(self.daemon.stderr)
        assert code == -signal.SIGKILL, f"{place} was never reached: {self.daemon.stderr[-3000:]}"
        for (text,) in self.rows("SELECT text FROM outbox WHERE state = 'sending'"):
            self.excused[token_of(text)] += 1

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

    def shown(self, token: str) -> list[str]:
        """The answers to that mail."""
        return [m.text for m in self.sent(token)]

    def sent(self, token: str) -> list[SentMail]:
        """The mails that answer it."""
        return [m for m in self.post.smtp.to(self.writers[token]) if token_of(m.text) == token]

    def check(self) -> None:
        """One answer for each mail, but for what a kill at `sending` excuses."""
        dropped = {token_of(text) for (text,) in self.rows("SELECT text FROM outbox WHERE state = 'dropped'")}
        wrong = {
            token: problem
            for token in self.tokens
            if (
                problem := problem_of(
                    self.shown(token), self.excused[token], self.mode, dropped=token in dropped
                )
            )
        }
        assert wrong == {}, self.said[-1][-3000:]
        assert dropped == (set(self.excused) if self.mode == "drop" else set())
        assert not dropped or "state=dropped" in "".join(self.said)
        for token in self.tokens:
            names = {m.mail["Message-ID"] for m in self.sent(token)}
            assert len(names) <= 1, f"{token}: {names}"
        for writer in set(self.writers.values()):
            answered = dict.fromkeys(token_of(m.text) for m in self.post.smtp.to(writer))
            wanted = [t for t in self.tokens if self.writers[t] == writer and t in answered]
            assert list(answered) == wanted, f"out of order: {answered}"
        assert self.rows("SELECT state, count(*) FROM inbox GROUP BY state") == [
            ("answered", len(self.tokens))
        ]
        assert self.rows("SELECT count(*) FROM turns") == [(len(self.tokens),)]


async def in_mode(mode: str, folder: Path, dovecot: Dovecot) -> Home:
    """One mail a life, each life killed at its place; then one that ends well."""
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ModelPeer())
        smtp = SmtpPeer(dovecot.cert, dovecot.key)
        await smtp.start()
        stack.push_async_callback(smtp.stop)
        home = Home(folder / mode, model, Post.open(dovecot, smtp), mode)
        try:
            for place in WAY:
                daemon = await home.live(place)
                if not home.tokens:
                    await daemon.until_ready()  # what lies there before the first start is not answered
                await home.write()
                await home.killed(place)
            await (await home.live()).until_ready()
            wanted = [t for t in home.tokens if not (mode == "drop" and home.excused[t])]
            await smtp.wait_for(lambda: all(home.shown(t) for t in wanted), 30)
            await home.stop()
        finally:
            if home.daemon is not None:
                await home.daemon.kill()
        home.check()
        assert smtp.violations == model.violations == []
        return home


async def test_EM_24_EM_35_killed_all_along_a_mails_way(tmp_path: Path, dovecot: Dovecot) -> None:
    modes = ("resend", "drop")
    homes = await asyncio.gather(*(in_mode(mode, tmp_path, dovecot) for mode in modes))
    assert all(home.excused.total() >= 2 for home in homes)
    # what may have gone out was sent once more, under the name of the first
    twice = [t for t in homes[0].tokens if len(homes[0].shown(t)) == 2]
    assert twice


async def test_a_mail_is_dead_of_a_kill_and_not_of_a_stop(tmp_path: Path, dovecot: Dovecot) -> None:
    notes = tmp_path / "home" / "platforms" / "email" / "reading.json"

    async def noted() -> bool:
        return notes.exists()

    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ModelPeer())
        smtp = SmtpPeer(dovecot.cert, dovecot.key)
        await smtp.start()
        stack.push_async_callback(smtp.stop)
        home = Home(tmp_path / "home", model, Post.open(dovecot, smtp), "resend")
        daemon = await home.live()
        stack.push_async_callback(daemon.kill)
        await daemon.until_ready()
        slow = "<p>one <b>long</b> <i>page</i>\n" * 32_000
        await home.post.deliver(mail(slow, Content_Type="text/html"))
        await eventually(noted, 45.0)
        await home.stop()
        assert not notes.exists()
        assert home.rows("SELECT count(*) FROM inbox") == [(0,)]

        daemon = await home.live()
        stack.push_async_callback(daemon.kill)
        await eventually(noted, 45.0)
        await daemon.kill()
        assert list(json.loads(notes.read_text()).values()) == [1]
