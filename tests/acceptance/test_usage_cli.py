"""What was used, in a chat and on the command line."""

import json
import time

import pytest

from tests.acceptance.house import House, eventually
from tests.peers.model import Answer, says


async def test_usage_is_told_in_the_chat_and_by_the_command(house: House) -> None:
    price = {"input": 100.0, "output": 200.0}
    house.config["llm"]["prices"] = {"custom/peer-model": price, "custom/peer-small": price}
    house.config["llm"]["auxiliary"] = {"title": "custom/peer-small"}
    house.model.script.add(says("Counting messages"), model="peer-small")
    house.write()
    await house.start()
    house.telegram.push_text("count me", chat=1)
    await house.telegram.wait_text(1, "echo: count me")

    async def titled() -> bool:
        return house.rows("SELECT title FROM sessions") == [("Counting messages",)]

    await eventually(titled)
    house.telegram.push_text("/usage", chat=1)
    await house.telegram.wait_text(1, "1 turns, 2 model calls")
    told = house.texts(1)[-1]
    assert "You today" in told
    assert told.count("$") == 2
    listed = json.loads((await house.hermes("sessions", "list", "--json")).out)
    assert [row["title"] for row in listed] == ["Counting messages"]
    rows = json.loads((await house.hermes("metrics", "--json", "--by", "person,model,task")).out)
    assert [(r["person"], r["model"], r["task"], r["calls"]) for r in rows] == [
        ("telegram:1", "custom/peer-model", "turn", 1),
        ("telegram:1", "custom/peer-small", "title", 1),
    ]
    today = (await house.status())["usage"]["today"]
    for name in ("calls", "prompt", "completion", "cost"):
        assert today[name] == pytest.approx(sum(r[name] for r in rows)), name
        assert today[name] > 0
    assert "Today: 2 model calls" in (await house.hermes("status")).out
    metrics = (await house.client.get("/metrics")).text
    for row in rows:
        labels = f'model="{row["model"].partition("/")[2]}",provider="custom",task="{row["task"]}"'
        assert f"hermes_model_calls_total{{{labels}}} 1.0" in metrics
        assert f'hermes_model_tokens_total{{kind="prompt",{labels}}} {row["prompt"]:.1f}' in metrics
        assert f"hermes_model_cost_dollars_total{{{labels}}}" in metrics
    shown = await house.hermes("metrics", "--by", "day")
    assert "DOLLARS" in shown.out
    wrong = await house.hermes("metrics", "--by", "weather")
    assert wrong.code == 1
    assert "day, session, person" in wrong.err
    house.model.script.add(Answer("never told", hang="headers"), model="peer-small")
    house.telegram.push_text("one more", chat=2)
    await house.telegram.wait_text(2, "echo: one more")
    await house.model_busy()
    began = time.monotonic()
    await house.stop()
    assert time.monotonic() - began < 10
    assert json.loads((await house.hermes("metrics", "--json")).out)[0]["turns"] == 2
