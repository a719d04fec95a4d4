"""The daemon is killed while files go out with answers: none is lost or doubled, but for what is marked or reported."""

import asyncio
import json
import signal
from collections import Counter

from tests.crash.house import House, MakeHouse, problem_of, token_of

PLACES = ("tool.finished", "turn.closed", "outbox.claimed:2", "outbox.sent:2")
"""Each in a life of its own, in which a message comes in; what it leaves over goes on in the next."""
DATA = b"what was asked for"


async def test_killed_while_files_go_out(make_house: MakeHouse) -> None:
    async with asyncio.TaskGroup() as both:  # two daemons at once: most of the time goes into their starts
        for mode in ("resend", "drop"):
            house = await make_house(delivery={"on_unknown": mode})
            both.create_task(_killed(house, mode))


async def _killed(house: House, mode: str) -> None:
    _set_up(house)
    tokens = [f"m-tg-{n}" for n in range(1, len(PLACES) + 1)]
    excused: Counter[tuple[str, str]] = Counter()
    for token, place in zip(tokens, PLACES, strict=True):
        await house.start(failpoint=place)
        call = json.dumps({"path": "a.txt", "caption": token})
        text = f"{token} [[tool=send_file {call}]] [[text=done {token}.]]"
        house.send_telegram(token, text, chat=5)
        assert await house.ended() == -signal.SIGKILL, f"{place} was never reached: {house.tail()}"
        excused.update((token_of(r.text), r.kind) for r in house.outbox() if r.state == "sending")
    await house.start()
    await house.answered([t for t in tokens if not (mode == "drop" and excused[t, "reply"])], 60.0)
    assert await house.stop() == 0
    _check(house, mode, tokens, excused)


def _set_up(house: House) -> None:
    """Files are for people who are known, and an answer that grows would be changed, not sent again."""
    path = house.home / "config.yaml"
    config = json.loads(path.read_text())
    config["platforms"]["telegram"]["allow_from"] = ["5"]
    path.write_text(json.dumps({**config, "display": {"live": False}}))
    (house.home / "workspace").mkdir()
    (house.home / "workspace" / "a.txt").write_bytes(DATA)


def _check(house: House, mode: str, tokens: list[str], excused: Counter[tuple[str, str]]) -> None:
    ours = [m for m in house.telegram.chats[5] if m.from_bot]
    assert all(m.file_data == DATA for m in ours if m.media is not None)
    dropped = {(token_of(r.text), r.kind) for r in house.outbox() if r.state == "dropped"}
    wrong: list[str] = []
    for token in tokens:
        for kind in ("reply", "file"):
            shown = [
                m.text for m in ours if token_of(m.text) == token and (m.media is None) == (kind == "reply")
            ]
            unknown = excused[token, kind]
            if problem := problem_of(shown, unknown, mode, dropped=(token, kind) in dropped):
                wrong.append(f"{kind} of {token}: {problem}: {shown}, {unknown} unknown outcomes")
    if dropped and "state=dropped" not in "".join(house.log):
        wrong.append("a loss was not reported in the log")
    assert {r.state for r in house.outbox()} <= {"sent", "dropped"}
    assert not wrong, "\n".join([*wrong, house.tail()])
