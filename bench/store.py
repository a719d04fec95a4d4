"""Figures of the store: durable accepts, indexed appends, search, file size. One JSON line each.

Run: `python -m bench.store [--quick]`; `--quick` takes a tenth of the rows. Each line has the figure, its
bound and whether it holds; beside `accepts` stands one commit after the other on the same disk.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from agent_core.store import index, sessions, transcript
from agent_core.store.database import SqliteStore
from agent_core.store.schema import PART
from agent_core.store.search import search
from hermes.agent import SessionSpec
from hermes.messages import Message
from hermes.store import Job

WAITING = 128
BATCH = 200
SESSIONS = 2_000

WORDS = """
the a to of and in deploy staging server config error time build test user file path log
run start stop retry timeout cache index search session message model token budget limit
queue worker thread loop disk memory network socket proxy route hook cron schedule alert
metric dashboard release branch merge commit
""".split()  # noqa: SIM905  a page of quotes would not be read
CJK = "今天部署失败了请检查日志服务器配置错误重新启动测试数据库连接超时用户文件路径缓存搜索会话消息模型"
QUERIES = (
    *(
        "deploy staging",
        "the server",
        "build-42",
        "config.yaml",
        "timeout",
        "部署",
        "部署失败",
        "请",
        "日志",
        "error log",
    ),
    *(
        "the a",
        "w00042",
        "w01999 deploy",
        "🚀",
        "alert OR metric",
        "100%",
        "用户文件",
        "worker thread loop",
        "nothinghere",
    ),
    "release branch merge commit",
)


def report(name: str, value: float, bound: float, *, at_most: bool, **more: float) -> None:
    holds = value <= bound if at_most else value >= bound
    print(
        json.dumps({"bench": name, "value": round(value, 3), "bound": bound, "holds": holds, **more}),
        flush=True,
    )


def texts(count: int) -> Iterator[str]:
    rng = random.Random(7)
    rare = [f"w{n:05d}" for n in range(5_000)]
    for number in range(count):
        words = rng.choices(WORDS, k=rng.randint(8, 60)) + rng.choices(rare, k=rng.randint(2, 12))
        rng.shuffle(words)
        if number % 10 == 0:
            words.append("".join(rng.choices(CJK, k=rng.randint(10, 60))))
        if number % 97 == 0:
            words.append("🚀")
        yield " ".join(words)


def spec(number: int) -> SessionSpec:
    return SessionSpec(
        f"agent:main:b:telegram:dm:{number}", "main", "telegram", "telegram", "direct", str(number)
    )


def accept(number: int) -> Job:
    body = json.dumps({"text": "x" * 400, "n": number})

    def job(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO kv(key, value) VALUES(?, ?)", (f"accept-{number}", body))

    return job


async def bench_accepts(store: SqliteStore, count: int) -> None:
    numbers = iter(range(count))

    async def waiter() -> None:
        for number in numbers:
            await store.write(accept(number))

    began = time.perf_counter()
    await asyncio.gather(*(waiter() for _ in range(WAITING)))
    rate = count / (time.perf_counter() - began)
    single = time.perf_counter()
    for number in range(count, count + 200):
        await store.write(accept(number))
    alone = 200 / (time.perf_counter() - single)
    report("store.accepts_per_s", rate, 2_000, at_most=False, one_after_the_other=round(alone))


async def fill(store: SqliteStore, bodies: list[str]) -> None:
    await store.write(*(sessions.ensure_session(spec(n), f"s{n}", 1.0) for n in range(SESSIONS)))
    for chunk in chunks(bodies, 0):
        await store.write(*chunk)


def chunks(bodies: list[str], first: int) -> Iterator[list[Job]]:
    for start in range(0, len(bodies), BATCH):
        yield [
            transcript.append_messages(f"s{(first + n) % SESSIONS}", None, [Message("user", text)], float(n))
            for n, text in enumerate(bodies[start : start + BATCH], start)
        ]


async def bench_append(store: SqliteStore, bodies: list[str]) -> None:
    stalls: list[float] = []
    began = time.perf_counter()
    for chunk in chunks(bodies, 0):
        one = time.perf_counter()
        await store.write(*chunk)
        stalls.append(time.perf_counter() - one)
    rate = len(bodies) / (time.perf_counter() - began)
    report("store.append_per_s", rate, 5_000, at_most=False)
    report("store.append_stall_ms", max(stalls) * 1_000, 100, at_most=True)


async def bench_search(store: SqliteStore, rounds: int) -> None:
    for query in QUERIES:
        await search(store, query)
    taken: list[float] = []
    slowest = ("", 0.0)
    for _ in range(rounds):
        for query in QUERIES:
            one = time.perf_counter()
            await search(store, query)
            taken.append((time.perf_counter() - one) * 1_000)
            slowest = max(slowest, (query, taken[-1]), key=lambda pair: pair[1])
    p95 = statistics.quantiles(taken, n=20)[-1]
    report(
        "store.search_p95_ms",
        p95,
        10,
        at_most=True,
        median=round(statistics.median(taken), 2),
        worst=slowest[1],
    )


def bench_size(path: Path, bodies: list[str]) -> None:
    text = sum(len(body.encode()) for body in bodies)
    report("store.size_over_text", path.stat().st_size / text, 3, at_most=True, text_mb=round(text / 1e6, 1))


async def run(*, quick: bool) -> None:
    count = 10_000 if quick else 100_000
    bodies = list(texts(count))
    with tempfile.TemporaryDirectory() as folder:
        accepts = await SqliteStore.open(Path(folder) / "accepts.db", [PART])
        await bench_accepts(accepts, count // 5)
        await accepts.aclose()
        store = await SqliteStore.open(Path(folder) / "state.db", [PART])
        await fill(store, bodies)
        await store.aclose()
        bench_size(Path(folder) / "state.db", bodies)
        store = await SqliteStore.open(Path(folder) / "state.db", [PART])
        await bench_search(store, 5)
        await bench_append(store, list(texts(count // 5)))
        if (await store.write(index.check_index))[0] is not None:
            raise SystemExit("the index is damaged after the run")
        await store.aclose()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="a tenth of the rows")
    asyncio.run(run(quick=options.parse_args().quick))


if __name__ == "__main__":
    main()
