"""Which model is asked after which, and which key: the decisions alone."""

import asyncio
import math
from collections.abc import Callable

import pytest

from agent_core.models.chain import Chain, Rests, cures, first_answer, hasty
from agent_core.models.keys import RATE_REST, KeyRing, rest_of
from agent_core.state import SessionState
from agent_core.substitute import substituted
from hermes.agent import TurnOutcome
from hermes.errors import ModelError, ModelErrorKind
from hermes.messages import Message
from hermes.model import Completion, ModelRequest
from hermes.testing import FakeClock

DOWN = ModelError("It is down.", kind="overload", status=503)
LONG = ModelError("Too long.", kind="overflow")


class Stub:
    def __init__(
        self, name: str, window: int = 1000, error: ModelError | None = None, hangs: bool = False
    ) -> None:
        self.name = name
        self.window = window
        self.error = error
        self.hangs = hangs
        self.asked = 0
        self.sees: bool | None = None

    async def complete(self, request: ModelRequest, on_text: Callable[[str], None]) -> Completion:
        self.asked += 1
        if self.error:
            raise self.error
        if self.hangs:
            await asyncio.Event().wait()
        return Completion(Message("assistant", self.name))

    async def aclose(self) -> None:
        """Nothing is open."""


def chain(*names: str, rests: Rests | None = None, windows: dict[str, int] | None = None) -> Chain:
    def build(name: str, is_last: bool) -> Stub:
        if name.startswith("broken"):
            raise ModelError(f"{name} needs a key.", kind="config")
        return Stub(name, (windows or {}).get(name, 1000))

    return Chain(names, build, rests or Rests(FakeClock()), rest=60, longest=120)


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        ("auth", True),
        ("rate_limit", True),
        ("overload", True),
        ("network", True),
        ("timeout", True),
        ("malformed", True),
        ("config", True),
        ("bad_request", False),
        ("overflow", False),
    ],
)
def test_what_another_model_can_cure(kind: ModelErrorKind, other: bool) -> None:
    assert cures(ModelError("x", kind=kind)) is other


def test_an_unknown_model_is_cured_by_another_one() -> None:
    assert cures(ModelError("x", kind="bad_request", unknown_model=True))


async def test_a_model_that_failed_rests_for_all_and_comes_back() -> None:
    clock = FakeClock()
    rests = Rests(clock)
    first = chain("a/1", "b/2", rests=rests)
    assert first.first().name == "a/1"
    after = first.after(DOWN, 1, 1000)
    assert after is not None
    assert after.name == "b/2"
    assert first.is_last
    assert chain("a/1", "b/2", rests=rests).first().name == "b/2"
    await clock.advance(61)
    assert chain("a/1", "b/2", rests=rests).first().name == "a/1"


def test_when_all_rest_they_are_asked_in_their_order() -> None:
    rests = Rests(FakeClock())
    rests.rest("a/1", 60)
    rests.rest("b/2", 60)
    assert chain("a/1", "b/2", rests=rests).first().name == "a/1"


async def test_a_provider_that_asks_for_a_longer_rest_gets_it() -> None:
    clock = FakeClock()
    rests = Rests(clock)
    turn = chain("a/1", "b/2", rests=rests)
    turn.first()
    turn.after(ModelError("Wait.", kind="rate_limit", retry_after=300), 1, 1000)
    await clock.advance(200)
    assert rests.is_resting("a/1")


def test_too_long_goes_to_a_larger_window_only_and_nobody_rests() -> None:
    rests = Rests(FakeClock())
    turn = chain("a/1", "b/2", "c/3", rests=rests, windows={"c/3": 5000})
    turn.first()
    after = turn.after(LONG, 1, 1000)
    assert after is not None
    assert after.name == "c/3"
    assert not rests.is_resting("a/1")
    small = chain("a/1", "b/2")
    small.first()
    assert small.after(LONG, 1, 1000) is None


def test_what_is_not_set_up_is_passed_over_and_the_last_one_tells() -> None:
    assert chain("broken/1", "b/2").first().name == "b/2"
    with pytest.raises(ModelError, match="broken/2 needs a key"):
        chain("broken/1", "broken/2").first()


def test_the_whole_chain_has_an_end() -> None:
    turn = chain("a/1", "b/2")
    turn.first()
    assert turn.after(ModelError("x", kind="timeout"), 121, 1000) is None


def test_behind_the_last_there_is_nobody_and_one_model_is_asked_once() -> None:
    turn = chain("a/1", "a/1")
    turn.first()
    assert turn.is_last
    assert turn.after(DOWN, 1, 1000) is None


def test_one_is_less_patient_while_another_stands_ready() -> None:
    policy = hasty(5, 30)
    assert (policy.tries, policy.total, policy.hang) == (2, 30, 30)
    assert hasty(1, 30).tries == 1


def test_the_change_is_told_once_and_again_after_the_wanted_one_was_back() -> None:
    state = SessionState()
    rests = Rests(FakeClock())

    def told(failing: bool) -> bool:
        turn = chain("a/1", "b/2", rests=rests)
        turn.current = "b/2" if failing else "a/1"
        return bool(substituted(TurnOutcome("answered"), turn, state).notices)

    assert [told(True), told(True), told(False), told(True)] == [True, False, False, True]
    assert '"substitute": "b/2"' in state.dump()


async def test_auxiliary_models_are_asked_until_one_answers() -> None:
    request = ModelRequest("", [Message("user", "x")])
    bad, good, never = Stub("bad", error=DOWN), Stub("good"), Stub("never")
    answer = await first_answer([bad, good, never], request, 10)
    assert (answer.message.text, answer.model) == ("good", "good")
    assert (bad.asked, good.asked, never.asked) == (1, 1, 0)
    with pytest.raises(ModelError, match="down"):
        await first_answer([bad], request, 10)
    with pytest.raises(ModelError, match="No model"):
        await first_answer([], request, 10)
    assert (await first_answer([Stub("hangs", hangs=True), good], request, 0.05)).message.text == "good"
    with pytest.raises(ModelError, match="hangs did not answer within"):
        await first_answer([Stub("hangs", hangs=True)], request, 0.05)


# --- keys ------------------------------------------------------------------------------------------


def refused(status: int, wait: float | None = None) -> ModelError:
    kind: ModelErrorKind = "rate_limit" if status == 429 else "auth"
    return ModelError(f"HTTP {status}.", kind=kind, status=status, retry_after=wait)


def test_how_long_a_key_rests() -> None:
    assert rest_of(refused(429)) == RATE_REST
    assert rest_of(refused(429, 7)) == 7
    assert rest_of(refused(401)) == math.inf
    assert rest_of(refused(403)) == math.inf
    assert rest_of(refused(402)) == RATE_REST
    assert rest_of(ModelError("no credit", kind="auth", status=429)) == RATE_REST
    assert rest_of(DOWN) is None


async def test_one_key_is_used_until_it_rests_and_the_next_one_is_kept() -> None:
    clock = FakeClock()
    ring = KeyRing("openai", 3, clock)
    assert ring.pick() == (0, True)
    assert ring.rest(0, refused(429))
    assert ring.pick() == (1, True)
    await clock.advance(RATE_REST + 1)
    assert ring.pick() == (1, True)  # the first is back, but the prefix cache is warm here


async def test_all_limited_waits_for_the_one_that_is_back_first() -> None:
    clock = FakeClock()
    ring = KeyRing("openai", 2, clock)
    ring.rest(0, refused(429, 30))
    ring.rest(1, refused(429, 20))
    await clock.advance(5)
    with pytest.raises(ModelError) as caught:
        ring.pick()
    assert caught.value.retry_after == pytest.approx(15)
    await clock.advance(16)
    assert ring.pick() == (1, True)


def test_all_refused_are_tried_again_so_that_a_provider_can_mend_itself() -> None:
    ring = KeyRing("openai", 2, FakeClock())
    ring.rest(0, refused(401))
    ring.rest(1, refused(401))
    index, is_free = ring.pick()
    assert not is_free
    ring.works(index)
    assert ring.pick() == (index, True)


def test_what_is_no_fault_of_the_key_rests_none() -> None:
    ring = KeyRing("openai", 2, FakeClock())
    assert not ring.rest(0, DOWN)
    assert ring.pick() == (0, True)
