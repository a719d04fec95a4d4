"""One message is one turn, however often it is delivered and whatever happens in between."""

import asyncio
import signal

import pytest

from tests.crash.house import House, MakeHouse, Sent, asks

HOOK = "m-hook-1"


async def _settled(house: House, *tokens: str) -> None:
    await house.answered(tokens)
    assert await house.stop() == 0


def _turns(house: House) -> int:
    return int(house.query("SELECT count(*) FROM turns")[0][0])


# --- delivered again ------------------------------------------------------------------------------


async def _ten_times(house: House, sent: Sent) -> list[str]:
    answers = await asyncio.gather(*(house.deliver_once(sent) for _ in range(10)))
    assert len({a.json()["id"] for a in answers}) == 1
    return sorted(a.json()["status"] for a in answers)


async def test_one_delivery_ten_times_at_once_and_again_after_a_kill(make_house: MakeHouse) -> None:
    house = await make_house()
    await (await house.start()).until_ready()
    sent = Sent("webhook", HOOK, 777, asks(HOOK, "[[delay=300]]"))
    house.sent[HOOK] = sent
    assert await _ten_times(house, sent) == ["accepted"] + ["duplicate"] * 9
    await house.kill()
    await (await house.start()).until_ready()
    assert await _ten_times(house, sent) == ["duplicate"] * 10
    await _settled(house, HOOK)
    assert await _again_after_the_end(house, sent) == ["duplicate"] * 10
    house.check("resend")
    assert _turns(house) == 1


async def _again_after_the_end(house: House, sent: Sent) -> list[str]:
    await (await house.start()).until_ready()
    statuses = await _ten_times(house, sent)
    assert await house.stop() == 0
    return statuses


async def test_one_request_ten_times_at_once_and_again_after_a_kill(make_house: MakeHouse) -> None:
    house = await make_house()
    await (await house.start()).until_ready()
    sent = Sent("api", "m-api-1", 0, asks("m-api-1", "[[delay=1000]]"))
    first = [asyncio.create_task(house.ask_once(sent)) for _ in range(10)]
    await house.model.wait_for(lambda: len(house.model.requests) == 1)
    await house.kill()
    assert all(isinstance(e, Exception) for e in await asyncio.gather(*first, return_exceptions=True))
    await (await house.start()).until_ready()
    answers = [a.json() for a in await asyncio.gather(*(house.ask_once(sent) for _ in range(10)))]
    assert {a["choices"][0]["message"]["content"] for a in answers} == {"done m-api-1."}
    assert len({a["id"] for a in answers}) == 1
    assert await house.stop() == 0
    assert _turns(house) == 1


@pytest.mark.parametrize(
    "place", ["ledger.accepting", "ledger.accepted", "intake.acknowledged", "turn.closed"]
)
async def test_TG_26_an_update_that_comes_again_after_a_kill_is_one_turn(
    place: str, make_house: MakeHouse
) -> None:
    house = await make_house()
    update = house.send_telegram("m-tg-1", asks("m-tg-1"), chat=5)
    await house.start(failpoint=place)
    assert await house.ended() == -signal.SIGKILL
    house.note_kill()
    # Whether or not its poll was confirmed, the server delivers it once more, and again under a new id.
    assert update.kind == "telegram"
    number = house.telegram.updates.pushed[0]["update_id"]
    house.telegram.push_again(number)
    house.telegram.push_again(number, new_id=True)
    await house.start()
    await house.answered(["m-tg-1"])
    await house.telegram.wait_for(lambda: not house.telegram.updates.waiting)
    assert await house.stop() == 0
    house.check("resend")
    assert _turns(house) == 1
    assert house.requests("m-tg-1") <= 2


async def test_SE_04_a_resumed_turn_and_a_redelivered_update_are_one_turn(make_house: MakeHouse) -> None:
    house = await make_house(drain_timeout="100ms")
    await (await house.start()).until_ready()
    house.send_telegram("m-tg-1", asks("m-tg-1", "[[delay=1500]]"), chat=5)
    await house.model.wait_for(lambda: len(house.model.requests) == 1)
    assert await house.stop() == 0
    assert house.shown("m-tg-1") == []
    house.telegram.push_again(house.telegram.updates.pushed[0]["update_id"])
    await (await house.start()).until_ready()
    await house.telegram.wait_for(lambda: not house.telegram.updates.waiting)
    await house.answered(["m-tg-1"])
    await house.kill()  # and once more after everything is done
    await (await house.start()).until_ready()
    assert await house.stop() == 0
    house.check("resend")
    assert _turns(house) == 1
    assert house.requests("m-tg-1") == 2


# --- a tool that may have run ---------------------------------------------------------------------


@pytest.mark.parametrize(("place", "ran"), [("tool.started", 0), ("tool.finished", 1)])
async def test_SE_05_a_call_that_was_cut_is_told_and_not_run_again(
    place: str, ran: int, make_house: MakeHouse
) -> None:
    house = await make_house()
    text = 'm-tg-1 [[tool=note {"text": "m-tg-1"}]][[text=done m-tg-1. {tool}]]'
    house.send_telegram("m-tg-1", text, chat=5)
    await house.start(failpoint=place)
    assert await house.ended() == -signal.SIGKILL
    house.note_kill()
    assert house.notes()["m-tg-1"] == ran
    await house.start()
    await _settled(house, "m-tg-1")
    assert house.notes()["m-tg-1"] == ran
    assert house.requests("m-tg-1") == 2
    seen = house.model.requests[-1].body
    assert seen is not None
    [result] = [m["content"] for m in seen["messages"] if m["role"] == "tool"]
    assert "interrupted" in result.lower()
    assert "may have" in result.lower()


# --- asked to stop --------------------------------------------------------------------------------


async def test_PR_01_a_turn_of_eight_seconds_is_finished_before_the_end(make_house: MakeHouse) -> None:
    house = await make_house(drain_timeout="30s")
    daemon = await house.start()
    await daemon.until_ready()
    house.send_telegram("m-tg-1", asks("m-tg-1", "[[delay=8000]]"), chat=5)
    await house.model.wait_for(lambda: len(house.model.requests) == 1)
    loop = asyncio.get_running_loop()
    asked = loop.time()
    daemon.signal(signal.SIGTERM)
    house.send_telegram("m-tg-2", asks("m-tg-2"), chat=6)  # comes too late
    assert await house.ended() == 0
    assert 4.0 < loop.time() - asked < 15.0
    assert house.shown("m-tg-1") == ["done m-tg-1."]
    assert house.requests("m-tg-2") == 0
    assert "Traceback" not in daemon.stderr

    await house.start()
    await _settled(house, "m-tg-2")
    house.check("resend")
    assert house.requests("m-tg-1") == 1


async def test_PR_01_a_second_signal_ends_it_at_once_and_nothing_is_lost(make_house: MakeHouse) -> None:
    house = await make_house(drain_timeout="30s")
    daemon = await house.start()
    await daemon.until_ready()
    house.send_telegram("m-tg-1", asks("m-tg-1", "[[delay=4000]]"), chat=5)
    house.send_api("m-api-1", asks("m-api-1", "[[delay=4000]]"))
    await house.model.wait_for(lambda: len(house.model.requests) == 2)
    daemon.signal(signal.SIGTERM)
    await daemon.until_said("gateway.app: stopping")
    loop = asyncio.get_running_loop()
    asked = loop.time()
    daemon.signal(signal.SIGTERM)
    assert await house.ended() == 1
    assert loop.time() - asked < 3.0
    assert "Traceback" not in daemon.stderr

    await house.start()
    await house.senders_done()
    await _settled(house, "m-tg-1")
    house.check("resend")
