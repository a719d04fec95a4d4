"""100 Telegram chats write at once: when the last is answered, without a pace and at the default one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

from bench.daemon import config, daemon
from bench.figure import Figure
from bench.machine import OthersCores
from gateway.pace import Pacer
from hermes.adapter import Pace
from hermes.config import Rate
from tests.peers.programs import peer_program
from tests.peers.telegram.control import TelegramPeerControl

__all__ = ["measure_default_pace", "measure_unpaced"]

_CHATS = 100
_ANSWER = "echo: hello"
_PACE = Pace(bot=Rate(30, 1.0), chat=Rate(1, 1.0), group=Rate(20, 60.0))


def measure_unpaced(*, quick: bool) -> Iterator[Figure]:
    """`rate: off`: as quick as it goes."""
    others = OthersCores()
    with (
        peer_program("telegram") as telegram,
        peer_program("model", "--checks", "off", "--no-bodies") as model,
        daemon(config(model, telegram=telegram, telegram_rate="off")),
    ):
        peer = TelegramPeerControl(telegram)
        runs = [_last_answer(peer, 1000 * (number + 1)) for number in range(2 if quick else 6)]
    yield Figure(
        name="telegram-100",
        what="100 Telegram chats at once, instant model, `rate: off`: the last answer",
        unit="s",
        runs=runs[1:],
        bound=2.0,
        rule="2 s",
        others_cores=others.so_far(),
        more={"first_burst": round(runs[0], 2)},
    )


def measure_default_pace(*, quick: bool) -> Iterator[Figure]:
    """The default pace, at a server that enforces Telegram's limits. A refusal (429) fails the figure."""
    others = OthersCores()
    runs, refused = [], 0
    for _ in range(1 if quick else 3):
        with (
            peer_program("telegram", "--enforce-rate") as telegram,
            peer_program("model", "--checks", "off", "--no-bodies") as model,
            daemon(config(model, telegram=telegram, telegram_rate="default")),
        ):
            peer = TelegramPeerControl(telegram)
            runs.append(_last_answer(peer, 1000))
            refused += sum(call["status"] == 429 for call in peer.journal())
    floor = _pace_floor()
    yield Figure(
        name="telegram-100-paced",
        what="the same at the default pace (30 a second), at a server that enforces it",
        unit="s",
        runs=[run if not refused else float("inf") for run in runs],
        bound=1.2 * floor,
        rule="1.2 x the pace's own floor, no 429",
        others_cores=others.so_far(),
        floor=floor,
        floor_what="100 sends as the pace allows them",
        more={"refused": refused},
    )


def _pace_floor() -> float:
    """When the last of the sends may go, if nothing else takes time."""
    pacer, now = Pacer(_PACE), 0.0
    for chat in range(_CHATS):
        now += pacer.wait(str(chat), now)
        pacer.book(str(chat), now)
    return now


def _last_answer(peer: TelegramPeerControl, first: int) -> float:
    """Seconds from the push of all messages to the last chat's answer."""
    chats = range(first, first + _CHATS)
    began = time.monotonic()
    peer.post("push", [{"kind": "text", "text": "hello", "chat": chat} for chat in chats])
    for chat in chats:
        peer.wait_text(chat, _ANSWER, timeout=60)
    ended: dict[int, float] = {
        call["params"]["chat_id"]: call["ended"]
        for call in peer.journal()
        if call["outcome"] == "ok" and _ANSWER in str(call["params"].get("text"))
    }
    answers = Counter(
        call["params"]["chat_id"] for call in peer.journal("sendMessage") if call["outcome"] == "ok"
    )
    if any(answers[chat] != 1 for chat in chats):
        raise RuntimeError("a chat was not answered exactly once")
    return max(ended[chat] for chat in chats) - began
