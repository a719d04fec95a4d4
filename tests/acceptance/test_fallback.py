"""A model that does not answer, and keys that are refused: the next one answers, soon."""

import time
from typing import Any

import pytest

from tests.acceptance.house import House, answer_of
from tests.peers.model.script import Answer, fails, says


def with_fallback(house: House, **llm: Any) -> None:
    house.config["llm"] |= {"fallbacks": ["custom/peer-small"], **llm}
    house.write()


@pytest.mark.parametrize("fault", [fails(500), fails(401), Answer("cut", cut_after=40)])
async def test_a_model_that_fails_is_stood_in_for_and_that_is_told_once(house: House, fault: Answer) -> None:
    with_fallback(house)
    await house.start()
    house.model.script.add(fault, model="peer-model", times=50)
    house.model.script.add(says("the other one"), says("and again"), model="peer-small")
    began = time.monotonic()
    house.telegram.push_text("hello", chat=1)
    await house.telegram.wait_text(1, "the other one", 30)
    assert time.monotonic() - began < 20
    await house.telegram.wait_text(1, "Answered by custom/peer-small, since custom/peer-model", 10)
    before = sum(1 for r in house.model.requests if r.model == "peer-model")
    assert 1 <= before <= 2
    house.telegram.push_text("more", chat=1)
    await house.telegram.wait_text(1, "and again", 30)
    assert sum(1 for r in house.model.requests if r.model == "peer-model") == before  # it rests
    assert sum("Answered by" in text for text in house.texts(1)) == 1
    await house.stop()


async def test_a_model_that_hangs_is_stood_in_for_in_time(house: House) -> None:
    with_fallback(house, fallback_after="1s")
    await house.start()
    house.model.script.add(Answer("never told", hang="headers"), model="peer-model", times=50)
    began = time.monotonic()
    assert "echo: hello" in answer_of(await house.ask("hello"))
    assert time.monotonic() - began < 15
    await house.stop()


async def test_without_the_first_ones_key_the_fallback_answers(house: House) -> None:
    with_fallback(house, provider="openai", model="gpt-x")
    await house.start()
    assert "echo: hello" in answer_of(await house.ask("hello"))
    assert {r.model for r in house.model.requests} == {"peer-small"}
    assert "model.left_aside" in house.daemon.stderr
    await house.stop()


@pytest.mark.parametrize("status", [429, 401])
async def test_with_two_keys_the_second_answers_at_once(house: House, status: int) -> None:
    house.config["llm"]["custom"] = {"base_url": house.model.url}
    house.write()
    await house.start({"CUSTOM_API_KEYS": "first-key-of-two, second-key-of-two"})
    house.model.script.add(fails(status, retry_after=30 if status == 429 else None))
    began = time.monotonic()
    assert answer_of(await house.ask("hello")) == "echo: hello"
    assert time.monotonic() - began < 5
    assert answer_of(await house.ask("again")) == "echo: again"
    assert [r.status for r in house.model.requests] == [status, 200, 200]
    await house.stop()
    assert "1 of 2" in house.daemon.stderr
    assert "key-of-two" not in house.daemon.stderr
