"""A home with its daemon, both peers, and senders that behave as real ones do.

Telegram keeps updates until a poll confirms them; the webhook's sender repeats a delivery with the same id until
it got a 2xx; the API's client repeats a request with the same Idempotency-Key until it got an answer.
"""

import asyncio
import hashlib
import hmac
import json
import re
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.crash.daemon import Daemon
from tests.peers.model import ModelPeer
from tests.peers.telegram import TelegramPeer
from tests.ports import free_port

WEBHOOK_CHAT = 777
AGAIN = "↻ "
SECRET = "s3cret"
_ANSWER = re.compile(r"done (m-[a-z]+-[0-9]+)\.")
_PAUSE = 0.05  # seconds between two tries against a daemon that is not there

# A tool with an effect that can be counted, and that may not run twice by itself.
NOTE_TOOL = """
import os
from pathlib import Path

from hermes.tools import Tool, ToolResult

FILE = Path(__file__).with_name("notes.txt")


def note(arguments, context):
    handle = os.open(FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(handle, (arguments["text"] + "\\n").encode())
    os.close(handle)
    return ToolResult("noted")


TOOLS = (
    Tool(
        name="note",
        description="Write a note.",
        parameters={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        handler=note,
    ),
)
"""


@dataclass(slots=True)
class Sent:
    """A message on its way. `answer` of the API: its text; `statuses`: what the webhook's sender saw."""

    kind: str
    token: str
    chat: int
    text: str
    answer: str | None = None
    answer_id: str | None = None
    statuses: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the outbox."""

    id: int
    chat: str
    text: str
    state: str
    kind: str
    edits: str | None
    """The message that it changes."""


def asks_tools(token: str) -> str:
    """A message that causes two tool calls, and then one answer with `token`."""
    todo = json.dumps({"items": [{"text": token}]})
    note = json.dumps({"text": token})
    return f"{token} [[tool=todo {todo}]] [[tool=note {note}]] [[text=done {token}.]]"


def asks(token: str, more: str = "") -> str:
    """A message that is answered at once."""
    return f"{token} {more}[[text=done {token}.]]"


def asks_slowly(token: str) -> str:
    """A message whose answer grows in its chat: each part of it but the first is without the token."""
    text = f"{token} is what was asked, and this is an answer that takes its time, " * 2 + f"done {token}."
    return f"{token} [[chunks=8]][[every=150]][[text={text}]]"


class House:
    """Everything of one scene. `port` stays the same through all lives of the daemon."""

    def __init__(self, folder: Path, model: ModelPeer, telegram: TelegramPeer, **gateway: Any) -> None:
        self.home = folder / "home"
        self.model = model
        self.telegram = telegram
        self.port = free_port()
        self.daemon: Daemon | None = None
        self.log: list[str] = []
        self.sent: dict[str, Sent] = {}
        self.excused: Counter[str] = Counter()
        self.left_over: Counter[str] = Counter()
        self._live: set[int] = set()
        self.kills = 0
        self._senders: set[asyncio.Task[None]] = set()
        self._client = httpx.AsyncClient(
            trust_env=False,
            timeout=60.0,
            limits=httpx.Limits(max_connections=200),
            base_url=f"http://127.0.0.1:{self.port}",
        )
        telegram.add_chat(WEBHOOK_CHAT)
        self._write_home(gateway)

    def _write_home(self, gateway: dict[str, Any]) -> None:
        (self.home / "tools").mkdir(mode=0o700, parents=True)
        self.home.chmod(0o700)
        route = {
            "secret": SECRET,
            "scheme": "github",
            "prompt": "{{ payload.text }}",
            "deliver": f"telegram:{WEBHOOK_CHAT}",
        }
        config = {
            "llm": {
                "provider": "custom",
                "model": "peer-model",
                "custom": {"base_url": self.model.url, "api_key": "k"},
            },
            "gateway": {
                "http": {"host": "127.0.0.1", "port": self.port},
                "limits": {"rate": "off"},
                **gateway,
            },
            "platforms": {
                "telegram": {
                    "token": self.telegram.token,
                    "base_url": self.telegram.base_url,
                    "allow_from": ["*"],
                    "rate": "off",
                },
                "api": {"key": "secret"},
                "webhook": {"routes": {"build": route}},
            },
        }
        (self.home / "config.yaml").write_text(json.dumps(config))  # JSON is YAML
        self.add_tool("note", NOTE_TOOL)

    def add_tool(self, name: str, source: str) -> None:
        """A tool of the user's own."""
        (self.home / "tools" / f"{name}.py").write_text(source)

    # -- the daemon's lives ------------------------------------------------------------------------

    async def start(self, *, failpoint: str | None = None, under: Sequence[str] = ()) -> Daemon:
        """Begin a life; returns at once."""
        self.daemon = await Daemon.start(self.home, failpoint=failpoint, under=under)
        return self.daemon

    async def ended(self) -> int:
        """Wait for the end of this life; the exit code."""
        assert self.daemon is not None
        code = await self.daemon.wait(60.0)
        self.log.append(self.daemon.stderr)
        return code

    async def kill(self) -> None:
        """Kill it, and note which rows stood at `sending`."""
        assert self.daemon is not None
        await self.daemon.kill()
        self.log.append(self.daemon.stderr)
        self.note_kill()

    def note_kill(self) -> None:
        """The daemon was killed: each message whose row stands at `sending` is excused once.

        Where that row began a growing answer, its message may be left over beside the answer, reported. Where it
        changes a message nothing is excused: to change it twice is to change it once.
        """
        self.kills += 1
        for row in self.outbox():
            if row.state == "sending" and row.kind == "live":
                if (
                    row.id not in self._live
                ):  # a life that is cut before its recovery leaves the row as it was
                    self.left_over[token_of(row.text)] += 1
                self._live.add(row.id)
            elif row.state == "sending" and row.edits is None:
                self.excused[token_of(row.text)] += 1

    async def stop(self) -> int:
        """Stop it as a person does; the exit code."""
        assert self.daemon is not None
        code = await self.daemon.stop()
        self.log.append(self.daemon.stderr)
        return code

    async def aclose(self) -> None:
        """End what is left."""
        for task in self._senders:
            task.cancel()
        await asyncio.gather(*self._senders, return_exceptions=True)
        if self.daemon is not None:
            await self.daemon.kill()
        await self._client.aclose()

    # -- senders -----------------------------------------------------------------------------------

    def send_telegram(self, token: str, text: str, chat: int) -> Sent:
        """A person writes."""
        sent = self.sent[token] = Sent("telegram", token, chat, text)
        self.telegram.push_text(text, chat=chat)
        return sent

    def send_webhook(self, token: str, text: str) -> Sent:
        """A system reports; it repeats until it is told 2xx."""
        sent = self.sent[token] = Sent("webhook", token, WEBHOOK_CHAT, text)
        self._spawn(self._deliver(sent))
        return sent

    def send_api(self, token: str, text: str) -> Sent:
        """A program asks; it repeats until it has an answer."""
        sent = self.sent[token] = Sent("api", token, 0, text)
        self._spawn(self._ask(sent))
        return sent

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._senders.add(task)

    async def senders_done(self, timeout: float = 60.0) -> None:
        """Wait until every sender has what it wants."""
        if self._senders:
            _, late = await asyncio.wait(self._senders, timeout=timeout)
            assert not late, f"{len(late)} senders still wait: {self.tail()}"
            for task in self._senders:
                task.result()
            self._senders.clear()

    async def _deliver(self, sent: Sent) -> None:
        while not (sent.statuses and sent.statuses[-1] in (200, 202)):
            with suppress(httpx.TransportError):
                sent.statuses.append((await self.deliver_once(sent)).status_code)
                continue
            await asyncio.sleep(_PAUSE)

    async def deliver_once(self, sent: Sent) -> httpx.Response:
        """One delivery of a webhook. Raises `httpx.TransportError`."""
        body = json.dumps({"text": sent.text}).encode()
        signature = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Delivery": sent.token,
            "X-Hub-Signature-256": signature,
        }
        return await self._client.post("/webhooks/build", content=body, headers=headers)

    async def _ask(self, sent: Sent) -> None:
        while True:
            with suppress(httpx.TransportError):
                response = await self.ask_once(sent)
                if response.status_code == 200:
                    answer = response.json()
                    sent.answer = answer["choices"][0]["message"]["content"]
                    sent.answer_id = answer["id"]
                    return
                assert response.status_code >= 500, response.text
                if response.status_code == 502:  # final: the turn failed
                    sent.answer = response.json()["error"]["message"]
                    return
            await asyncio.sleep(_PAUSE)

    async def ask_once(self, sent: Sent) -> httpx.Response:
        """One request to the API. Raises `httpx.TransportError`."""
        body = {"model": "hermes", "messages": [{"role": "user", "content": sent.text}]}
        headers = {"Authorization": "Bearer secret", "Idempotency-Key": sent.token}
        return await self._client.post("/v1/chat/completions", json=body, headers=headers)

    # -- what is there at the end ------------------------------------------------------------------

    def answers(self) -> dict[str, list[str]]:
        """The bot's answers in all chats, by the token in them."""
        found: dict[str, list[str]] = {}
        for chat in self.telegram.chats.values():
            for text in chat.texts():
                if match := _ANSWER.search(text):
                    found.setdefault(match[1], []).append(text)
        return found

    def shown(self, token: str) -> list[str]:
        """The bot's answers to one message."""
        return self.answers().get(token, [])

    async def answered(self, tokens: Sequence[str], timeout: float = 30.0) -> None:
        """Wait until each of the messages is answered at the peer (not the API's)."""
        missing = {t for t in tokens if self.sent[t].kind != "api"}

        def nothing_is_missing() -> bool:
            missing.difference_update(self.answers())
            return not missing

        try:
            await self.telegram.wait_for(nothing_is_missing, timeout)
        except TimeoutError:
            raise AssertionError(f"not answered: {sorted(missing)}\n{self.tail()}") from None

    def requests(self, token: str) -> int:
        """Model calls for the message."""
        return sum(token_of(r.last_text) == token for r in self.model.requests)

    def notes(self) -> Counter[str]:
        """How often each message's tool ran."""
        path = self.home / "tools" / "notes.txt"
        return Counter(path.read_text().split()) if path.exists() else Counter()

    def outbox(self) -> list[Row]:
        """The outbox of a daemon that is dead."""
        return [Row(*r) for r in self.query("SELECT id, chat, text, state, kind, edits FROM outbox")]

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a copy of the database, whose daemon is dead: the file itself is not touched."""
        if not (self.home / "state.db").exists():
            return []
        with tempfile.TemporaryDirectory() as folder:
            for name in ("state.db", "state.db-wal"):
                if (self.home / name).exists():
                    shutil.copy(self.home / name, folder)
            with closing(sqlite3.connect(Path(folder, "state.db"))) as connection:
                exists = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'outbox'").fetchone()
                return connection.execute(sql).fetchall() if exists else []

    def check(self, mode: str) -> dict[str, int]:
        """Every message has exactly one answer, but for what a kill at `sending` excuses; the figures."""
        wrong: list[str] = []
        figures = Counter({"messages": len(self.sent), "lost": 0, "doubled": 0, "excused": 0})
        figures["excused"] = self.excused.total()
        dropped = {token_of(r.text) for r in self.outbox() if r.state == "dropped" and r.kind != "live"}
        answers = self.answers()
        for token, sent in self.sent.items():
            shown = without_left_over(answers.get(token, []), self.left_over[token])
            if sent.kind == "api":
                if sent.answer != f"done {token}." or shown:
                    wrong.append(f"{token}: the API said {sent.answer!r}; shown {shown}")
                continue
            figures["doubled"] += len(shown) > 1
            figures["lost"] += not shown
            if problem := problem_of(shown, self.excused[token], mode, dropped=token in dropped):
                wrong.append(f"{token}: {problem}: {shown}, excused {self.excused[token]}")
        books = self.query("SELECT state, count(*) FROM inbox GROUP BY state")
        if dict(books) != {"answered": len(self.sent)}:
            wrong.append(f"the inbox says {books}")
        open_rows = [r for r in self.outbox() if r.state not in ("sent", "dropped")]
        if open_rows:
            wrong.append(f"the outbox still has {open_rows}")
        said = "".join(self.log)
        if dropped and "state=dropped" not in said:
            wrong.append("a loss was not reported in the log")
        if self.left_over and "live.left_over" not in said:
            wrong.append("a message that was left over was not reported in the log")
        twice = {t: n for t, n in self.notes().items() if n > 1}
        if twice:
            wrong.append(f"tools ran twice: {twice}")
        wrong += self._history_faults()
        assert not wrong, "\n".join([*wrong, self.tail()])
        return dict(figures)

    def _history_faults(self) -> list[str]:
        """Each turn is written down once: one question, one answer at its end, and the same in the transcript."""
        rows = self.query("SELECT id, turn_id, role FROM messages ORDER BY id")
        turns: dict[str, list[str]] = {}
        for _, turn, role in rows:
            turns.setdefault(turn, []).append(role)
        faults = [
            f"turn {t} is {r}"
            for t, r in turns.items()
            if r.count("user") != 1 or r[0] != "user" or r[-1] != "assistant" or r.count("tool") not in (0, 2)
        ]
        if len(turns) != len(self.sent):
            faults.append(f"{len(turns)} turns for {len(self.sent)} messages")
        files = self.home.glob("agents/*/sessions/*.jsonl")
        lines = [json.loads(line) for file in files for line in file.read_text().split("\n") if line]
        if sorted(line["id"] for line in lines) != [number for number, _, _ in rows]:
            faults.append(f"transcripts have {len(lines)} lines for {len(rows)} rows")
        return faults

    def tail(self) -> str:
        """The end of what the daemons said."""
        now = [self.daemon.stderr] if self.daemon is not None else []
        return "\n".join(part[-3000:] for part in [*self.log[-2:], *now])


def without_left_over(shown: list[str], left_over: int) -> list[str]:
    """The answers without the messages in which one began to grow, as far as an answer stands beside them."""
    rest = list(shown)
    for _ in range(left_over):
        unmarked = [t for t in rest if not t.startswith(AGAIN)]
        if len(rest) > 1 and unmarked:
            rest.remove(unmarked[0])
    return rest


def problem_of(shown: list[str], excused: int, mode: str = "resend", *, dropped: bool = False) -> str | None:
    """What is wrong with the answers of one message."""
    marked = sum(t.startswith(AGAIN) for t in shown)
    if not excused:
        return None if len(shown) == 1 and not marked else "not exactly one unmarked answer"
    if mode == "drop":
        if len(shown) > 1 or marked:
            return "doubled"
        return None if shown or dropped else "lost and not reported"
    if not shown:
        return "lost"
    if len(shown) > 1 + excused:
        return "more doubles than unknown outcomes"
    return "a double that is not marked" if len(shown) - marked > 1 or not marked else None


def token_of(text: str) -> str:
    """The message's token in a text, question or answer."""
    found = re.search(r"m-[a-z]+-[0-9]+", text)
    return found[0] if found else ""


MakeHouse = Callable[..., Awaitable[House]]
