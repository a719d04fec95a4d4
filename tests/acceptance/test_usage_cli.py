"""What was used, in a chat and on the command line."""

import json

from tests.acceptance.house import House


async def test_usage_is_told_in_the_chat_and_by_the_command(house: House) -> None:
    house.config["llm"]["prices"] = {"custom/peer-model": {"input": 100.0, "output": 200.0}}
    house.write()
    await house.start()
    house.telegram.push_text("count me", chat=1)
    await house.telegram.wait_text(1, "echo: count me")
    house.telegram.push_text("/usage", chat=1)
    await house.telegram.wait_text(1, "1 turns, 1 model calls")
    told = house.texts(1)[-1]
    assert "You today" in told
    assert told.count("$") == 2
    rows = json.loads((await house.hermes("metrics", "--json", "--by", "person,model")).out)
    assert [(r["person"], r["model"], r["calls"]) for r in rows] == [("telegram:1", "custom/peer-model", 1)]
    assert rows[0]["cost"] > 0
    shown = await house.hermes("metrics", "--by", "day")
    assert "DOLLARS" in shown.out
    wrong = await house.hermes("metrics", "--by", "weather")
    assert wrong.code == 1
    assert "day, session, person" in wrong.err
    await house.stop()
    assert json.loads((await house.hermes("metrics", "--json")).out)[0]["turns"] == 1
