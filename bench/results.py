"""The table of results: ours beside bound, floor and peer; and bench/results.md."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.figure import Figure
from bench.machine import describe

__all__ = ["table", "write", "write_soak"]

_HERE = Path(__file__).parent
_SOAK_FILE = _HERE / "soak.json"
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
    (_HERE / "results.md").write_text(f"{head}{table(figures)}\n{tail}{_soak()}", encoding="utf-8")


def write_soak(record: dict[str, Any]) -> None:
    """Keep what a soak came to, and show it in bench/results.md."""
    _SOAK_FILE.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    results = _HERE / "results.md"
    before = results.read_text(encoding="utf-8").partition("\n## Soak\n")[0]
    results.write_text(f"{before.rstrip()}\n{_soak()}", encoding="utf-8")


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
