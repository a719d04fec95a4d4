"""Busy sessions on Telegram through the installed daemon, with a kill in between."""

import pytest

from tests.acceptance.house import House, eventually
from tests.peers.model.script import ToolCall, calls, says

WORK = calls(ToolCall("todo", {"todos": []}), first=1.0)


def _states(house: House) -> list[str]:
    return [s for (s,) in house.rows("SELECT state FROM inbox ORDER BY id")]


async def _taken(house: House, count: int) -> None:
    async def are_taken() -> bool:
        return len(house.rows("SELECT id FROM inbox")) >= count

    await eventually(are_taken, 20)


async def _closed(house: House) -> None:
    async def are_closed() -> bool:
        return not house.rows("SELECT 1 FROM inbox WHERE closed_at IS NULL")

    await eventually(are_closed, 30)


def _mode(house: House, mode: str) -> None:
    house.config["gateway"]["sessions"] = {"busy": mode}
    house.write()


@pytest.mark.parametrize("is_killed", [False, True])
async def test_a_steered_message_joins_and_does_not_run_again(house: House, is_killed: bool) -> None:
    _mode(house, "steer")
    house.model.script.add(WORK, text="begin")
    house.model.script.add(says("as you say", first=1.5), text="but shorter", times=2)
    await house.start()
    house.telegram.push_text("begin", chat=1)
    await house.model_busy()
    house.telegram.push_text("but shorter", chat=1)
    await house.model.wait_for(lambda: len(house.model.requests) == 2, 20)
    if is_killed:
        await house.daemon.kill()
        await house.start()
    await house.telegram.wait_text(1, "as you say", 30)
    await _closed(house)
    roles = [m["role"] for m in house.asked()]
    assert roles[-4:] == ["user", "assistant", "tool", "user"]
    assert house.texts(1) == ["as you say"]
    assert sorted(_states(house)) == sorted(["answered", "merged" if is_killed else "steered"])
    assert len(house.model.requests) == (3 if is_killed else 2)
    await house.stop()


@pytest.mark.parametrize("is_killed", [False, True])
async def test_an_interrupt_stops_and_the_new_message_is_answered(house: House, is_killed: bool) -> None:
    _mode(house, "interrupt")
    house.model.script.add(says("never", first=30), text="long work")
    house.model.script.add(says("the new one", first=1.0), text="rather this", times=2)
    await house.start()
    house.telegram.push_text("long work", chat=1)
    await house.model_busy()
    house.telegram.push_text("rather this", chat=1)
    await house.model.wait_for(lambda: len(house.model.requests) == 2, 20)
    if is_killed:
        await house.daemon.kill()
        await house.start()
    await house.telegram.wait_text(1, "the new one", 30)
    await _closed(house)
    assert _states(house) == ["stopped", "answered"]
    assert sum("the new one" in t for t in house.texts(1)) == 1
    await house.stop()


@pytest.mark.parametrize("is_killed", [False, True])
async def test_a_burst_is_one_turn(house: House, is_killed: bool) -> None:
    _mode(house, "collect")
    await house.start()
    for text in ("one", "two", "three"):
        house.telegram.push_text(text, chat=1)
    if is_killed:
        await _taken(house, 3)
        await house.daemon.kill()
        await house.start()
    await house.telegram.wait_text(1, "three", 30)
    await _closed(house)
    assert len(house.model.requests) == 1
    assert _states(house) == ["merged", "merged", "answered"]
    await house.stop()


@pytest.mark.parametrize("is_killed", [False, True])
async def test_a_paste_in_parts_is_one_turn_and_a_stop_drops_it(house: House, is_killed: bool) -> None:
    await house.start()
    parts = ("a" * 4096, "b" * 4096, "the end")
    for text in parts:
        house.telegram.push_text(text, chat=1)
    if is_killed:
        await _taken(house, 3)
        await house.daemon.kill()
        await house.start()
    await house.telegram.wait_text(1, "the end", 30)
    await _closed(house)
    asked = [request.last_text for request in house.model.requests]
    assert set(asked) == {"".join(parts)}
    assert len(asked) == 1 or is_killed  # the turn may have been at its model when it was cut
    assert _states(house) == ["merged", "merged", "answered"]
    house.telegram.push_text("c" * 4096, chat=2)
    await _taken(house, 4)
    house.telegram.push_text("/stop", chat=2)
    await house.telegram.wait_text(2, "Stopped.", 30)
    assert len(house.model.requests) == len(asked)
    assert _states(house)[3:] == ["stopped", "answered"]
    await house.stop()


async def test_a_chosen_mode_outlives_a_kill(house: House) -> None:
    house.model.script.add(WORK, text="begin")
    house.model.script.add(says("as you say"), text="but shorter")
    await house.start()
    house.telegram.push_text("/steer", chat=1)
    await house.telegram.wait_text(1, "/queue", 20)
    await house.daemon.kill()
    await house.start()
    house.telegram.push_text("begin", chat=1)
    await house.model_busy()
    house.telegram.push_text("but shorter", chat=1)
    await house.telegram.wait_text(1, "as you say", 30)
    await _closed(house)
    assert _states(house) == ["answered", "answered", "steered"]
    await house.stop()
