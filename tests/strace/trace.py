"""Reads what `strace -f -yy` wrote, and decides whether each event was on disk before somebody was told so. Pure.

A line is `PID CALL(FD<NAME>, ...) = RESULT`; a call that another thread's call cuts in two comes as
`PID CALL(... <unfinished ...>` and `PID <... CALL resumed>...`. What a read has brought stands in its second half, so
a read counts where it ends; a write to a socket counts where it begins, since its bytes may be gone before it returns;
a write to a file counts where it ends. A sync saves what was written before it began, and has done so when it ended.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["read", "write", "store", "syncing", "sync"]

_LINE = re.compile(r"^(?P<pid>\d+)\s+(?:[\d:.]+\s+)?(?P<rest>.*)$")
_RESUMED = re.compile(r"^<\.\.\. (?P<call>\w+) resumed>(?P<rest>.*)$", re.DOTALL)
_CALL = re.compile(r"^(?P<call>\w+)\((?P<rest>.*)$", re.DOTALL)
_FD = re.compile(r"^\d+<(?P<name>(?:TCP(?:v6)?:)?\[[^\]]*\]|[^>]*(?:->[^>]*)*)>")
_RESULT = re.compile(r"\)\s+= (?P<result>-?\d+)")
_UNFINISHED = "<unfinished ...>"
_READS = frozenset({"read", "recvfrom", "recvmsg"})
_WRITES = frozenset({"write", "writev", "sendto", "sendmsg"})
_SYNCS = frozenset({"fsync", "fdatasync"})


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened, in order. `file`: what the descriptor is; `data`: what strace shows of the bytes.

    store: a write to a file. syncing, sync: begin and successful end of an fsync or fdatasync.
    """

    kind: Kind
    file: str
    data: str


def steps(lines: Iterable[str]) -> Iterator[Step]:
    """What happened, in order; calls that failed or brought nothing are left out."""
    begun: dict[str, tuple[str, str]] = {}
    for line in lines:
        found = _LINE.match(line.rstrip("\n"))
        if found is None:
            continue
        pid, rest = found["pid"], found["rest"]
        if (resumed := _RESUMED.match(rest)) is not None:
            call, first = begun.pop(pid, ("", ""))
            if call == resumed["call"]:
                yield from _ended(call, first + resumed["rest"])
        elif (whole := _CALL.match(rest)) is not None:
            call, text = whole["call"], whole["rest"]
            if text.endswith(_UNFINISHED):
                text = text.removesuffix(_UNFINISHED)
                begun[pid] = (call, text)
                yield from _began(call, text)
            else:
                yield from _began(call, text)
                yield from _ended(call, text)


def _began(call: str, text: str) -> Iterator[Step]:
    if call in _WRITES:
        yield Step("write", _file(text), text)
    elif call in _SYNCS:
        yield Step("syncing", _file(text), "")


def _ended(call: str, text: str) -> Iterator[Step]:
    result = next((int(m["result"]) for m in reversed(list(_RESULT.finditer(text)))), -1)
    if call in _READS and result > 0:
        yield Step("read", _file(text), text)
    elif call == "pwrite64" and result > 0:
        yield Step("store", _file(text), text)
    elif call in _SYNCS and result == 0:
        yield Step("sync", _file(text), "")


def _file(text: str) -> str:
    found = _FD.match(text)
    return found["name"] if found else ""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """synced: events that were on disk before they were acknowledged. early: those that were not, with what they were."""

    synced: tuple[str, ...]
    early: tuple[str, ...]


@dataclass(slots=True)
class _Event:
    """`at`: how far it is: read, stored in the WAL, being synced, synced."""

    file: str
    at: Literal["read", "stored", "syncing", "synced"] = "read"


def judge(found: Iterable[Step], arrival: str, acknowledgement: str, *, same_file: bool) -> Verdicts:
    """Follow each event from its arrival into the WAL, over a sync that began after that, to its acknowledgement.

    arrival: a pattern whose first group is the event's name, in what is read; one read may bring many, and the name
    stands in what is stored of it. acknowledgement: a pattern in what is written. same_file: on the very connection
    that the event came over.
    """
    waiting: dict[str, _Event] = {}
    synced: list[str] = []
    early: list[str] = []
    seen: set[str] = set()
    for step in found:
        match step.kind:
            case "read":
                fresh = [n for n in re.findall(arrival, step.data) if n not in seen]
                seen.update(fresh)
                waiting |= {name: _Event(step.file) for name in fresh}
            case "write" if re.search(acknowledgement, step.data):
                told = [n for n, e in waiting.items() if not same_file or e.file == step.file]
                for name in told:
                    at = waiting.pop(name).at
                    synced.append(name) if at == "synced" else early.append(f"{name} ({at})")
            case "store" | "syncing" | "sync" if step.file.endswith("-wal"):
                _move(waiting, step)
            case _:
                pass
    early += [f"{name} (never acknowledged)" for name in waiting]
    return Verdicts(tuple(synced), tuple(early))


def _move(waiting: dict[str, _Event], step: Step) -> None:
    for name, event in waiting.items():
        if step.kind == "store" and event.at == "read" and re.search(rf"{re.escape(name)}(?!\d)", step.data):
            event.at = "stored"
        elif step.kind == "syncing" and event.at == "stored":
            event.at = "syncing"
        elif step.kind == "sync" and event.at == "syncing":
            event.at = "synced"
