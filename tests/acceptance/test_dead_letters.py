"""Dead letters on the command line, and commands that leave a daemon's work to the daemon."""

import json

from tests.acceptance.house import House, eventually
from tests.peers.faults import refusal
from tests.peers.model.script import says


async def test_a_reply_that_was_refused_is_tried_again_from_the_command_line(house: House) -> None:
    telegram = house.telegram
    await house.start()
    telegram.faults.add("sendMessage", refusal(403, "Forbidden: bot was blocked by the user", times=2))
    telegram.push_text("first", chat=1)

    async def letters() -> list[dict[str, str]]:
        done = await house.hermes("deadletters", "list", "--json")
        assert done.code == 0, done.err
        found: list[dict[str, str]] = json.loads(done.out)
        return found

    (letter,) = await eventually(letters, 15)
    assert "blocked" in letter["reason"]
    assert (letter["instance"], letter["chat"], letter["text"]) == ("telegram", "1", "echo: first")
    shown = await house.hermes("deadletters", "show", letter["id"])
    assert "echo: first" in shown.out
    assert letter["id"] in (await house.hermes("deadletters", "list")).out

    telegram.faults.clear()
    assert (
        await house.hermes("deadletters", "retry", letter["id"])
    ).out == f"{letter['id']} is tried again.\n"
    await telegram.wait_text(1, "echo: first")
    again = await house.hermes("deadletters", "retry", letter["id"])
    assert again.code == 1
    assert "no dead letter" in again.err
    assert (await house.hermes("deadletters", "drop", "all")).out == "There are no dead letters.\n"
    wrong = await house.hermes("deadletters", "show", "12")
    assert "look like r12" in wrong.err
    await house.stop()
    assert house.texts(1) == ["echo: first"]


async def test_a_command_without_a_daemon_leaves_the_daemons_work_to_it(house: House) -> None:
    telegram = house.telegram
    await house.start()
    house.model.script.add(says("never", first=60))
    telegram.push_text("cut me", chat=1)
    await house.model_busy()
    await house.daemon.kill()

    listed = await house.hermes("sessions", "list", "--json")
    assert listed.code == 0, listed.err
    assert (await house.hermes("deadletters", "list", "--json")).out.strip() == "[]"
    assert house.rows("SELECT state FROM inbox") == [("running",)]

    house.model.script.clear()
    await house.start()
    await telegram.wait_text(1, "echo: cut me", 20)
    await house.stop()
    assert house.texts(1) == ["echo: cut me"]
