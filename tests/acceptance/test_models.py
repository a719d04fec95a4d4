"""Providers that fail, ask to wait, or hang: an answer in the end, or one sentence and a way to try again."""

import time

from agent_core.settings import LLM
from tests.acceptance.house import House, answer_of
from tests.peers.model.script import Answer, fails, says


async def test_a_provider_that_fails_three_times_gives_an_answer(house: House) -> None:
    await house.start()
    house.model.script.add(fails(500), fails(429, retry_after=2), fails(503), says("at last"))
    began = time.monotonic()
    house.telegram.push_text("try", chat=1)
    await house.telegram.wait_text(1, "at last", 60)
    assert time.monotonic() - began >= 2  # Retry-After is kept
    assert house.texts(1) == ["at last"]
    assert [r.status for r in house.model.requests] == [500, 429, 503, 200]
    gap = house.model.requests[2].began - house.model.requests[1].ended
    assert gap >= 1.9
    await house.stop()


def test_a_hung_provider_is_given_up_within_120_seconds_by_default() -> None:
    timeouts = LLM().timeouts
    assert timeouts.connect + timeouts.first_byte <= 120
    assert timeouts.total <= 120
    assert timeouts.silence <= 120


async def test_a_provider_that_hangs_is_given_up_told_once_and_retry_works(house: House) -> None:
    house.config["llm"]["timeouts"] = {"connect": 2, "first_byte": 2, "silence": 2, "total": 5}
    house.write()
    await house.start()
    for hang in ("headers", "body"):
        chat = 1 if hang == "headers" else 2
        house.model.script.add(Answer("never told", hang=hang), times=20)
        began = time.monotonic()
        house.telegram.push_text(f"hanging in the {hang}", chat=chat)
        await house.telegram.wait_text(chat, "/retry", 30)
        assert time.monotonic() - began < 15
        house.model.script.clear()
        await house.model_idle()  # its connection was freed
        house.telegram.push_text("/retry", chat=chat)
        await house.telegram.wait_text(chat, f"echo: hanging in the {hang}")
        assert len(house.texts(chat)) == 2
    assert (await house.status())["turns"]["running"] == 0
    await house.stop()


async def test_a_refused_key_is_one_sentence_and_no_second_call(house: House) -> None:
    house.model.script.add(fails(401), times=5)
    await house.start()
    response = await house.ask("who are you")
    assert response.status_code == 502
    assert "key" in response.json()["error"]["message"]
    assert len(house.model.requests) == 1
    house.model.script.clear()
    assert answer_of(await house.ask("again")) == "echo: again"
