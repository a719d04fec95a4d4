"""A small IMAP server that does what a real one does only on a bad day. It knows the commands that the adapter uses.

Each mail is `(uid, bytes)`. Knobs: what IDLE is answered with, how FETCH puts its answer, how many mails there seem
to be, whether anything is answered at all. `sections` are the parts of mails by UID and number; of one at most `most`
bytes are given at once, `says_where` they lie, or all of it (`ends` "whole"); after `cut_after` of them the connection is
cut, once. `commands` holds every line that came, without tags and passwords.
"""

import asyncio
import base64
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from tests.peers.journal import Changes

TOKEN = "a-token"
FetchShape = Literal["plain", "no literal once", "no literal", "flags inside", "uid behind", "refused"]


@dataclass
class ScriptedImap:
    """One server; `port` once started."""

    mails: list[tuple[int, bytes]] = field(default_factory=list)
    validity: int = 100
    uid_next: int | None = None
    capabilities: str = "IMAP4rev1 IDLE AUTH=XOAUTH2"
    greeting: str = "* OK hello"
    idle: Literal["quiet", "bye", "no"] = "quiet"
    fetch: FetchShape = "plain"
    deaf: bool = False
    size: int | None = None
    password: str = "pw"
    repeats: bool = False
    sections: dict[tuple[int, str], bytes] = field(default_factory=dict)
    ends: Literal["empty", "NIL", "quoted", "whole"] = "empty"
    says_where: bool = True
    most: int | None = None
    cut_after: int | None = None
    pieces: int = 0
    commands: list[str] = field(default_factory=list)
    logins: int = 0
    hours_apart: bool = False  # each mail came an hour after the one of the number before
    port: int = 0

    def __post_init__(self) -> None:
        self.changes = Changes()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._idling: dict[asyncio.StreamWriter, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._refusal = ""

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Cut everything."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def add(self, uid: int, content: bytes, *, tell: bool = True) -> None:
        """A mail comes in; who waits in IDLE is told."""
        self.mails.append((uid, content))
        if tell:
            for writer in self._idling:
                writer.write(f"* {len(self.mails)} EXISTS\r\n".encode())

    def say(self, lines: str) -> None:
        """Tell who waits in IDLE something."""
        for writer in self._idling:
            writer.write(lines.encode())

    def cut(self) -> None:
        """Drop all connections."""
        for writer in self._writers:
            writer.transport.abort()

    def asked(self, word: str) -> list[str]:
        """The commands that begin with a word."""
        return [c for c in self.commands if c.startswith(word)]

    async def wait_for(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        """Return once `condition` holds. Raises `TimeoutError`."""
        await self.changes.wait_for(condition, timeout)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            writer.write(f"{self.greeting}\r\n".encode())
            while line := await reader.readline():
                await self._line(line.decode("utf-8", "replace").strip(), writer)
        except (ConnectionError, asyncio.CancelledError):
            return
        finally:
            writer.transport.abort()
            self._writers.discard(writer)
            self._idling.pop(writer, None)
            self._tasks.discard(task)

    async def _line(self, line: str, writer: asyncio.StreamWriter) -> None:
        if line == "DONE":
            tag = self._idling.pop(writer, None)
            self._note("DONE")
            if tag is not None and not self.deaf:
                writer.write(f"{tag} OK idled\r\n".encode())
            return
        tag, _, command = line.partition(" ")
        self._note("LOGIN" if command.startswith("LOGIN") else command)
        if self.deaf:
            return
        for answer in self._answers(tag, command, writer):
            writer.write(answer if isinstance(answer, bytes) else f"{answer}\r\n".encode())
        await writer.drain()

    def _note(self, command: str) -> None:
        self.commands.append(command)
        self.changes.notify()

    def _answers(self, tag: str, command: str, writer: asyncio.StreamWriter) -> list[str | bytes]:
        verb = command.partition(" ")[0].upper()
        done = f"{tag} OK done"
        match verb:
            case "CAPABILITY":
                return [f"* CAPABILITY {self.capabilities}", done]
            case "LOGIN" | "AUTHENTICATE" | "":
                return self._login(tag, command)
            case "SELECT":
                return [f"* {len(self.mails)} EXISTS", *self._status(), done]
            case "STATUS":
                return [f'* STATUS "INBOX" (MESSAGES {len(self.mails)})', done]
            case "UID":
                if self.fetch == "refused" and "BODY" in command:
                    done = f"{tag} NO [SERVERBUG] broken"
                return [*self._uid(command), done]
            case "IDLE":
                return self._idle(tag, writer)
            case _:
                return ["* BYE see you", done] if verb == "LOGOUT" else [done]

    def _login(self, tag: str, command: str) -> list[str | bytes]:
        verb, _, words = command.partition(" ")
        if verb == "LOGIN":
            self.logins += 1
            return [
                f"{tag} OK in" if f'"{self.password}"' in words else f"{tag} NO [AUTHENTICATIONFAILED] wrong"
            ]
        if not verb:
            return [f"{self._refusal} NO [AUTHENTICATIONFAILED] token"]
        if f"auth=Bearer {TOKEN}\1".encode() in base64.b64decode(words.split(" ")[1]):
            self.logins += 1
            return [f"{tag} OK in"]
        self._refusal = tag
        return ["+ eyJzdGF0dXMiOiI0MDAifQ=="]

    def _uid(self, command: str) -> list[str | bytes]:
        match command.split(" ")[1].upper():
            case "SEARCH":
                again = [f"* {len(self.mails)} EXISTS"] if self.repeats else []
                return [*again, f"* SEARCH {' '.join(map(str, self._search(command)))}".rstrip()]
            case "FETCH":
                return self._fetch(command)
            case _:
                return []

    def _status(self) -> list[str]:
        following = self.uid_next or max([uid for uid, _ in self.mails], default=0) + 1
        return [f"* OK [UIDVALIDITY {self.validity}] valid", f"* OK [UIDNEXT {following}] next"]

    def _search(self, command: str) -> list[int]:
        if "HEADER" in command:
            wanted = command.partition('Message-ID "')[2].rstrip('"').encode()
            return [uid for uid, content in self.mails if wanted in content]
        found = re.search(r"UID (\d+):(\d+|\*)", command)
        uids = sorted(uid for uid, _ in self.mails)
        if found is None or not uids:
            return uids
        last = uids[-1] if found[2] == "*" else int(found[2])
        low, high = sorted((int(found[1]), last))
        return [uid for uid in uids if low <= uid <= high]

    def _fetch(self, command: str) -> list[str | bytes]:
        words = command.split(" ")
        wanted = {int(n) for n in words[2].split(",")}
        out: list[str | bytes] = []
        for number, (uid, content) in enumerate(self.mails, 1):
            if uid not in wanted:
                continue
            if ".MIME]" in command:
                out.append(f"* {number} FETCH (UID {uid} BODY[1.MIME] NIL)")
                continue
            asked = re.search(r"BODY\.PEEK\[([\d.]*)\](?:<(\d+)\.(\d+)>)?", command)
            if asked is not None and asked[1]:
                out += self._section(number, uid, asked)
                continue
            body = content if asked is None or asked[3] is None else content[: int(asked[3])]
            out += self._one(number, uid, body, with_body=asked is not None)
        return out

    def _section(self, number: int, uid: int, asked: re.Match[str]) -> list[str | bytes]:
        """A piece of a part, its end in one of the ways that servers have."""
        if self.cut_after is not None and self.pieces >= self.cut_after:
            self.cut_after = None
            self.cut()
            return []
        self.pieces += 1
        start, length = int(asked[2] or 0), int(asked[3] or 0)
        content = self.sections.get((uid, asked[1]))
        piece = (content or b"")[start : start + min(length, self.most or length)]
        if self.ends == "whole":
            piece = content or b""
        where = f"<{start}>" if self.says_where else ""
        head = f"* {number} FETCH (UID {uid} BODY[{asked[1]}]{where} ".encode()
        if not piece and self.ends == "NIL":
            return [head, b"NIL)\r\n"]
        if b"\n" not in piece and self.ends == "quoted":
            escaped = piece.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
            return [head, b'"' + escaped + b'")\r\n']
        return [head, f"{{{len(piece)}}}\r\n".encode(), piece, b")\r\n"]

    def _one(self, number: int, uid: int, content: bytes, *, with_body: bool) -> list[str | bytes]:
        if not with_body:
            size = self.size or len(content)
            came = f"{1 + uid // 24:2}-Dec-2026 {uid % 24:02}" if self.hours_apart else " 1-Dec-2026 10"
            return [f'* {number} FETCH (UID {uid} RFC822.SIZE {size} INTERNALDATE "{came}:00:00 +0000")']
        literal = [f"{{{len(content)}}}\r\n".encode(), content]
        match self.fetch:
            case "no literal once":
                self.fetch = "plain"
                return [f"* {number} FETCH (UID {uid})"]
            case "no literal" | "refused":
                return [f"* {number} FETCH (UID {uid})"]
            case "flags inside":
                head = f"* {number} FETCH (UID {uid} BODY[] ".encode()
                return [head, *literal, f"\r\n* {number} FETCH (FLAGS (\\Recent))\r\n)\r\n".encode()]
            case "uid behind":
                return [f"* {number} FETCH (BODY[] ".encode(), *literal, f" UID {uid})\r\n".encode()]
            case _:
                return [f"* {number} FETCH (UID {uid} BODY[] ".encode(), *literal, b")\r\n"]

    def _idle(self, tag: str, writer: asyncio.StreamWriter) -> list[str | bytes]:
        if self.idle == "bye":
            self.idle = "quiet"
            asyncio.get_running_loop().call_soon(writer.transport.close)
            return ["* BYE timeout"]
        if self.idle == "no":
            return [f"{tag} NO not today"]
        self._idling[writer] = tag
        return ["+ idling"]
