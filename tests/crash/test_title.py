"""The daemon is killed while the auxiliary model thinks of a title: that title is lost, and nothing else."""

import json

from tests.crash.house import MakeHouse, asks
from tests.peers.model import Answer, says


async def test_a_kill_loses_at_most_the_title(make_house: MakeHouse) -> None:
    house = await make_house()
    path = house.home / "config.yaml"
    config = json.loads(path.read_text())
    config["llm"]["auxiliary"] = {"title": "custom/peer-small"}
    path.write_text(json.dumps(config))
    house.model.script.add(Answer("never told", hang="headers"), model="peer-small")
    house.send_telegram("m-tg-1", asks("m-tg-1"), chat=5)
    await (await house.start()).until_ready()
    await house.answered(["m-tg-1"])
    await house.model.wait_for(lambda: any(r.model == "peer-small" for r in house.model.requests))
    await house.kill()
    assert house.query("SELECT titled FROM sessions") == [("words",)]

    house.model.script.add(says("Named at last"), model="peer-small")
    await (await house.start()).until_ready()
    house.send_telegram("m-tg-2", asks("m-tg-2"), chat=5)
    await house.answered(["m-tg-2"])
    await house.model.wait_for(lambda: not len(house.model.script) and not house.model.in_flight.total())
    assert await house.stop() == 0
    house.check("resend")
    assert house.query("SELECT title, titled FROM sessions") == [("Named at last", "model")]
    assert house.query("SELECT task, count(*) FROM calls GROUP BY task") == [("title", 1), ("turn", 2)]
