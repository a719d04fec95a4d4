"""The table of results: ours beside bound, floor and peer; and bench/results.md."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.figure import Figure
from bench.machine import describe

__all__ = ["table", "write", "write_soak", "write_storm"]

_HERE = Path(__file__).parent
_SOAK_FILE = _HERE / "soak.json"
_STORM_FILE = _HERE / "storm.json"
_PACKAGES = ("aiohttp", "httpx", "uvloop", "python-telegram-bot", "pydantic")
_HEAD = """# Figures

Measured by `{command}` on {date}: {machine}; Python {python}; {packages}.

Each figure is the median (smallest to largest) over repetitions, measured against the installed `hermes
gateway run` as a process of its own; the model and the Bot API are small servers in processes of their own on
the same cores. *Floor* is what cannot be undercut, measured in the same run. *Others* is how many cores other
programs took meanwhile: above about 0.3 the figures are noisy. *Peer* is {peer}.

"""
_TAIL = """
## The peer's figures

{text}

| figure | peer | how | others |
|---|---|---|---|
{rows}
"""
_SOAK = """
## Soak

Measured by `python -m bench.soak --write` on {date}: {machine}; Python {python}. {turns:,} turns over {sessions:,}
sessions (nine in ten by the API, one in ten a Telegram chat, one a webhook), each visited once a round in another
order, idle agents closed after {idle:g} s; sampled at rest. {wrong} messages without exactly one answer. Memory at
the end is {growth:.3f} times that after each session was visited once (bound: 1.15). Others took {others} cores.

| turns | s | RSS, MB | fds | threads | tasks | children | state.db, MB | WAL, MB | transcripts, MB | list, MB | logs, kB |
|---|---|---|---|---|---|---|---|---|---|---|---|
{rows}
"""
_STORM = """
## Storm

Measured by `python -m bench.storm --write` on {date}: {machine}; Python {python}. Messages over all platforms at once
({asked}), all peers in one process beside the daemon; one message in twenty meets a fault: {troubles}. *Unheard* are calls
that the platform carried out without our hearing of it: their messages are sent again and marked (`resend`), or given up and
reported (`drop`).

| mode | messages | s | RSS, MB | at the end | unheard | marked | doubled | lost | not reported | wrong | others |
|---|---|---|---|---|---|---|---|---|---|---|---|
{rows}
"""


def table(figures: Sequence[Figure]) -> str:
    """The figures as a table for people."""
    peer = _peer()["figures"]
    rows = ["| what | bound | ours | | floor | peer | others |", "|---|---|---|---|---|---|---|"]
    rows += [_row(figure, peer.get(figure.name, {})) for figure in figures]
    return "\n".join(rows)


def write(figures: Sequence[Figure]) -> None:
    """Write bench/results.md."""
    facts = describe([f"{name} {version(name)}" for name in _PACKAGES])
    peer = _peer()
    head = _HEAD.format(command="python -m bench.run --all --write", peer=peer["name"], **facts)
    rows = [
        f"| {name} | {entry['shown']} | {entry['how']} | {entry.get('others_cores', '')} |"
        for name, entry in peer["figures"].items()
    ]
    tail = _TAIL.format(text=peer["text"], rows="\n".join(rows))
    (_HERE / "results.md").write_text(f"{head}{table(figures)}\n{tail}{_soak()}{_storm()}", encoding="utf-8")


def write_soak(record: dict[str, Any]) -> None:
    """Keep what a soak came to, and show it in bench/results.md."""
    _keep(_SOAK_FILE, record)


def write_storm(record: dict[str, Any]) -> None:
    """Keep what a storm came to, and show it in bench/results.md."""
    _keep(_STORM_FILE, record)


def _keep(file: Path, record: dict[str, Any]) -> None:
    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    results = _HERE / "results.md"
    before = re.split(r"\n## (?:Soak|Storm)\n", results.read_text(encoding="utf-8"))[0]
    results.write_text(f"{before.rstrip()}\n{_soak()}{_storm()}", encoding="utf-8")


def _soak() -> str:
    if not _SOAK_FILE.exists():
        return ""
    record: dict[str, Any] = json.loads(_SOAK_FILE.read_text(encoding="utf-8"))
    load = record["load"]
    return _SOAK.format(
        **record["machine"],
        turns=record["samples"][-1]["turns"],
        sessions=load["sessions"],
        idle=load["idle_ttl"],
        wrong=len(record["wrong"]) or "No",
        growth=record["growth"],
        others=record["others_cores"],
        rows="\n".join(_soak_row(sample) for sample in record["samples"]),
    )


def _soak_row(sample: dict[str, Any]) -> str:
    cells = [f"{sample['turns']:,}", f"{sample['seconds']:.0f}", sample["rss"]]
    cells += [sample[name] for name in ("fds", "threads", "tasks", "children")]
    cells += [f"{sample[name] / 1e6:.1f}" for name in ("database", "wal", "transcripts", "index")]
    return f"| {' | '.join(str(cell) for cell in [*cells, round(sample['logs'] / 1000)])} |"


def _storm() -> str:
    if not _STORM_FILE.exists():
        return ""
    record: dict[str, Any] = json.loads(_STORM_FILE.read_text(encoding="utf-8"))
    first = record["runs"][0]
    kinds: Counter[str] = Counter()
    for name, number in first["troubles"].items():
        kinds[name.split()[1]] += number
    return _STORM.format(
        **record["machine"],
        asked=_counted(first["asked"]),
        troubles=_counted(kinds),
        rows="\n".join(_storm_row(run) for run in record["runs"]),
    )


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.items())


def _storm_row(run: dict[str, Any]) -> str:
    samples = run["samples"]
    cells = [
        f"`{run['load']['mode']}`",
        f"{sum(run['asked'].values()):,}",
        f"{samples[-1]['seconds']:.0f}",
        f"{max(sample['rss'] for sample in samples)}",
        f"{samples[-1]['rss']}",
        *(run[name] for name in ("unheard", "marked", "doubled", "lost", "unreported")),
        len(run["wrong"]),
        run["others_cores"],
    ]
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _peer() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((_HERE / "peer.json").read_text(encoding="utf-8"))
    return found


def _row(figure: Figure, peer: dict[str, Any]) -> str:
    sign = "<=" if figure.at_most else ">="
    rule = figure.rule if _is_plain(figure) else f"{figure.rule} ({_number(figure.bound)})"
    spread = f" ({_number(min(figure.runs))} to {_number(max(figure.runs))})" if len(figure.runs) > 1 else ""
    floor = "" if figure.floor is None else f"{_number(figure.floor)} ({figure.floor_what})"
    what = f"{figure.what} [{figure.note}]" if figure.note else figure.what
    cells = [
        what,
        f"{sign} {rule}",
        f"{_number(figure.value)} {figure.unit}{spread}",
        "holds" if figure.holds() else "BROKEN",
        floor,
        str(peer.get("shown", "-")),
        f"{figure.others_cores:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def _is_plain(figure: Figure) -> bool:
    """Whether the rule is a number already."""
    return figure.rule.replace(",", "").startswith(f"{figure.bound:g}")


def _number(value: float) -> str:
    if value == float("inf"):
        return "refused"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
