"""The daemon is killed while two accounts are joined: they are joined once, and each is told once."""

import asyncio
import json
import signal

from tests.crash.house import House, MakeHouse, asks


async def _joined_over(house: House, place: str) -> None:
    path = house.home / "config.yaml"
    config = json.loads(path.read_text())
    config["platforms"]["telegram"]["allow_from"] = ["5"]
    config["gateway"]["sessions"] = {"dm": "per_person"}
    path.write_text(json.dumps(config))
    telegram = house.telegram
    await house.start(failpoint=place)
    telegram.push_text("/link", chat=5)
    code = (await telegram.wait_text(5, "code: ", 20)).split("code: ")[1].split()[0]
    telegram.push_text(f"/link {code}", chat=6)
    assert await house.ended() == -signal.SIGKILL, f"{place} was never reached: {house.tail()}"
    house.note_kill()
    assert house.query("SELECT count(*) FROM accounts") == [(0,)]

    await (await house.start()).until_ready()
    await telegram.wait_text(6, "joined to telegram:5", 20)
    await telegram.wait_text(5, "joined to you", 20)
    house.send_telegram("m-tg-1", asks("m-tg-1"), chat=6)
    await house.answered(["m-tg-1"])
    assert await house.stop() == 0
    assert len(telegram.chats[6].texts()) == 2
    assert len(telegram.chats[5].texts()) == 2
    assert house.query("SELECT count(DISTINCT person), count(*) FROM accounts") == [(1, 2)]
    assert house.query("SELECT count(*) FROM link_codes") == [(0,)]


async def test_a_kill_while_accounts_are_joined(make_house: MakeHouse) -> None:
    async with asyncio.TaskGroup() as both:  # at once: most of the time goes into the starts
        for place in ("ledger.accepted:2", "turn.closing:2"):
            both.create_task(_joined_over(await make_house(), place))
