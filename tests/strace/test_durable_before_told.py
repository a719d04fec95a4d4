"""An fsync lies between taking an event and saying so. SIGKILL cannot see a missing one: the kernel still has the data."""

import asyncio
import shutil
from pathlib import Path

import pytest

from tests.crash.house import House, MakeHouse, Sent, asks
from tests.strace.trace import Verdicts, judge, steps

EVENTS = 100
_CALLS = "read,recvfrom,recvmsg,write,writev,sendto,sendmsg,fdatasync,fsync,pwrite64"


@pytest.fixture
def strace() -> str:
    found = shutil.which("strace")
    if found is None:
        pytest.skip("needs strace; scripts/test installs it")
    return found


def _under(strace: str, trace: Path) -> list[str]:
    # -D: the daemon is our child and gets our signals; the tracer holds its stderr open until the trace is whole.
    return [strace, "-D", "-f", "-yy", "-s", "20000", "-o", str(trace), "-e", f"trace={_CALLS}"]


async def _traced(house: House, strace: str, trace: Path) -> None:
    daemon = await house.start(under=_under(strace, trace))
    await daemon.until_ready()


def _verdicts(trace: Path, arrival: str, told: str, *, same_file: bool) -> Verdicts:
    with trace.open(encoding="utf-8", errors="replace") as lines:
        return judge(list(steps(lines)), arrival, told, same_file=same_file)


def _check(verdicts: Verdicts) -> None:
    assert verdicts.early == ()
    assert len(set(verdicts.synced)) == len(verdicts.synced) == EVENTS


async def test_a_webhook_is_on_disk_before_its_2xx(
    strace: str, tmp_path: Path, make_house: MakeHouse
) -> None:
    house, trace = await make_house(), tmp_path / "trace"
    await _traced(house, strace, trace)
    sent = [Sent("webhook", f"m-hook-{n}", 777, asks(f"m-hook-{n}")) for n in range(EVENTS)]
    for some in (sent[:50], sent[50:]):  # one after the other, and all at once
        if some[0] is sent[0]:
            answers = [await house.deliver_once(s) for s in some]
        else:
            answers = await asyncio.gather(*(house.deliver_once(s) for s in some))
        assert {a.status_code for a in answers} == {202}
    assert await house.stop() == 0
    _check(_verdicts(trace, r"(?i)X-GitHub-Delivery: (m-hook-\d+)\\r", r'"HTTP/1\.1 2\d\d', same_file=True))


async def test_a_request_is_on_disk_before_its_200(
    strace: str, tmp_path: Path, make_house: MakeHouse
) -> None:
    house, trace = await make_house(), tmp_path / "trace"
    await _traced(house, strace, trace)
    sent = [Sent("api", f"m-api-{n}", 0, asks(f"m-api-{n}")) for n in range(EVENTS)]
    for at in range(0, EVENTS, 10):
        answers = await asyncio.gather(*(house.ask_once(s) for s in sent[at : at + 10]))
        assert {a.status_code for a in answers} == {200}
    assert await house.stop() == 0
    _check(_verdicts(trace, r"(?i)Idempotency-Key: (m-api-\d+)\\r", r'"HTTP/1\.1 2\d\d', same_file=True))


async def test_an_update_is_on_disk_before_the_next_poll(
    strace: str, tmp_path: Path, make_house: MakeHouse
) -> None:
    house, trace = await make_house(), tmp_path / "trace"
    await _traced(house, strace, trace)
    for n in range(EVENTS):
        # Half of them one by one, the rest in batches.
        house.send_telegram(f"m-tg-{n}", asks(f"m-tg-{n}"), chat=100 + n % 20)
        if n < EVENTS // 2 or n % 10 == 9:
            await house.telegram.wait_for(lambda: not house.telegram.updates.waiting)
    await house.answered(list(house.sent))
    assert await house.stop() == 0
    verdicts = _verdicts(trace, r'\\"text\\":\s*\\"(m-tg-\d+) ', r"/getUpdates HTTP", same_file=False)
    _check(verdicts)
