"""Webhooks as senders send them, Telegram's conflicts and secrets, sessions that do not wait for each other."""

import asyncio
import time
from contextlib import suppress

import httpx

from tests.acceptance.house import HOOK_CHAT, House, eventually
from tests.peers.faults import Fault, refusal
from tests.peers.model.script import fails, says

CONFLICT = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"


async def test_WH_07_one_delivery_is_one_turn_however_often_it_comes(house: House) -> None:
    await house.start()
    answers = await asyncio.gather(*(house.hook({"text": "ten times"}, delivery="d-1") for _ in range(10)))
    assert sorted(a.status_code for a in answers) == [200] * 9 + [202]
    assert {a.json()["status"] for a in answers if a.status_code == 200} == {"duplicate"}
    assert len({a.json()["id"] for a in answers}) == 1
    await house.telegram.wait_text(HOOK_CHAT, "ten times")

    async def settled() -> bool:
        return house.rows("SELECT state FROM outbox") == [("sent",)]

    await eventually(settled)
    await house.daemon.kill()
    await house.start()
    assert (await house.hook({"text": "ten times"}, delivery="d-1")).json()["status"] == "duplicate"
    assert (await house.hook({"text": "another"}, delivery="d-2")).status_code == 202
    await house.telegram.wait_text(HOOK_CHAT, "another")
    assert len(house.texts(HOOK_CHAT)) == len(house.model.requests) == 2
    await house.stop()


async def _trickle(port: int, begun: asyncio.Semaphore) -> None:
    """Send a request's head, and then next to nothing until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with suppress(ConnectionError):
        writer.write(b"POST /webhooks/build HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
        await writer.drain()
        begun.release()
        while not reader.at_eof():
            with suppress(TimeoutError):
                await asyncio.wait_for(reader.read(1000), 2)
            writer.write(b" ")
            await writer.drain()
    writer.close()


async def test_WH_13_slow_senders_hold_up_nobody_and_no_stop(house: House) -> None:
    await house.start()
    begun = asyncio.Semaphore(0)
    slow = [asyncio.create_task(_trickle(house.port, begun)) for _ in range(50)]
    for _ in slow:
        await begun.acquire()
    began = time.monotonic()
    assert (await house.hook({"text": "quick"}, delivery="q")).status_code == 202
    assert time.monotonic() - began < 1
    assert not any(task.done() for task in slow)
    await house.telegram.wait_text(HOOK_CHAT, "quick")
    began = time.monotonic()
    await house.stop()
    assert time.monotonic() - began < 15
    await asyncio.wait(slow, timeout=10)
    assert all(task.done() for task in slow)


async def test_WH_14_the_sender_does_not_wait_for_the_model(house: House) -> None:
    await house.start()
    house.model.script.add(says("took its time", first=4))
    async with httpx.AsyncClient(trust_env=False):
        began = time.monotonic()
        assert (await house.hook({"text": "slow"}, delivery="s", Connection="close")).status_code == 202
        assert time.monotonic() - began < 2
    await house.telegram.wait_text(HOOK_CHAT, "took its time", 20)


async def test_PR_10_a_conflict_is_waited_out_and_stays_with_its_platform(house: House) -> None:
    house.telegram.faults.add("getUpdates", refusal(409, CONFLICT, times=3))
    await house.start()
    polls = house.telegram.calls("getUpdates")

    async def told() -> bool:
        return bool((await house.status())["platforms"]["telegram"]["reason"] == "conflict")

    await eventually(told)
    assert (await house.ask("others work")).status_code == 200
    house.telegram.push_text("after it", chat=1)
    await house.telegram.wait_text(1, "echo: after it", 40)
    polls = [c for c in house.telegram.calls("getUpdates") if c.outcome.startswith("fault")]
    assert len(polls) == 3
    assert polls[-1].began - polls[0].began >= 5  # ever longer pauses
    told_state = await house.platform("telegram", "connected", 20)
    assert told_state["reason"] is None
    assert house.daemon.stderr.count("adapter.trouble") == 1
    assert len(house.daemons) == 1


async def test_PR_11_the_token_is_nowhere_but_in_the_settings(house: House) -> None:
    secret = house.telegram.token.partition(":")[2]
    house.config["logging"] = {"level": "debug"}
    house.write()
    telegram = house.telegram
    await house.start()
    telegram.push_text("plain", chat=1)
    await telegram.wait_text(1, "echo: plain")
    telegram.faults.add("sendMessage", Fault("cut"), refusal(404, "Not Found"))
    telegram.push_text("a send that fails", chat=1)
    await telegram.wait_for(lambda: telegram.faults.pending() == 0, 20)
    telegram.faults.add("getUpdates", Fault("cut"), refusal(502, "Bad Gateway"))
    telegram.push_text("polls that fail", chat=2)
    await telegram.wait_for(lambda: telegram.faults.pending() == 0, 30)
    await telegram.wait_text(2, "echo: polls that fail", 30)
    house.model.script.add(fails(401))
    telegram.push_text("a model that refuses", chat=3)
    await telegram.wait_text(3, "key")
    said = [str(await house.status()), (await house.hermes("status")).out, str(telegram.chats)]
    await house.stop()
    said += [house.daemon.stderr, *(t for chat in telegram.chats.values() for t in chat.texts())]
    said += [r.last_text for r in house.model.requests]
    files = {p: data for p, data in house.files().items() if p.name not in ("config.yaml", ".env")}
    assert any(p.parent.name == "logs" and data for p, data in files.items())
    for text in (secret, "the-models-key"):
        assert not any(text in s for s in said)
        assert [p for p, data in files.items() if text.encode() in data] == []


async def test_SE_01_the_second_message_waits_for_the_first_answer(house: House) -> None:
    await house.start()
    house.model.script.add(says("answer to A", first=2))
    house.telegram.push_text("message A", chat=1)
    await house.model_busy()
    house.telegram.push_text("message B", chat=1)
    await house.telegram.wait_text(1, "echo: message B", 20)
    assert house.model.most_in_flight == 1
    seen = [(m["role"], m["content"]) for m in house.asked() if m["role"] != "system"]
    assert [role for role, _ in seen] == ["user", "assistant", "user"]
    assert "message A" in str(seen[0])
    assert "answer to A" in str(seen[1])
    assert house.texts(1) == ["answer to A", "echo: message B"]


async def test_SE_03_a_slow_session_delays_no_other_and_its_failure_frees_it(house: House) -> None:
    house.config["llm"]["tries"] = 1
    house.write()
    await house.start()
    house.model.script.add(says("", first=5, status=400, body={"error": {"message": "no"}}), text="slow X")
    house.telegram.push_text("slow X", chat=1)
    await house.model_busy()
    began = time.monotonic()
    house.telegram.push_text("quick Y", chat=2)
    await house.telegram.wait_text(2, "echo: quick Y")
    assert time.monotonic() - began < 3
    assert house.texts(1) == []
    await house.telegram.wait_text(1, "/retry", 15)
    house.telegram.push_text("X again", chat=1)
    await house.telegram.wait_text(1, "echo: X again")
