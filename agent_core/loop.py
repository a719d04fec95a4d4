"""The loop of a turn: model -> tool calls -> results -> model ... until there is no tool call.

Read `Loop.run` and `Loop._think`. Every answer with calls, every begin and every result is stored before
the next step begins; the
last answer is stored by whoever closes the turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from agent_core.budget import SUMMARY_REQUEST, Spending
from agent_core.failures import failed
from agent_core.history import clean, distinct, legal
from agent_core.models.estimate import TokenEstimate
from agent_core.overflow import Room, room
from agent_core.retry import Retry, RetryPolicy, with_retries
from agent_core.sight import Sight
from agent_core.steps import Rebuilt, answer_step, steer_step
from agent_core.store.calls import Payer, Spent
from agent_core.working import Hands
from hermes.agent import Notice, TextDelta, TextReset, TurnInput, TurnIO, TurnOutcome, TurnState
from hermes.clock import Clock
from hermes.context import ContextEngine, Fitted
from hermes.errors import ModelError
from hermes.failpoint import reached
from hermes.messages import Message
from hermes.model import Completion, Model, ModelRequest, ToolSpec
from hermes.store import Job

__all__ = ["Gauge", "Loop", "Mind"]

T = TypeVar("T")


@dataclass(slots=True)
class Gauge:
    """The current token estimate of one model; learns from each answer."""

    estimate: TokenEstimate = field(default_factory=TokenEstimate)

    def messages(self, messages: Sequence[Message]) -> int:
        """Tokens of messages by what is known now."""
        return self.estimate.messages(messages)


@dataclass(frozen=True, slots=True)
class Mind:
    """What a turn thinks with.

    history: the messages before this turn. session: see `ModelRequest.session`.
    """

    model: Model
    system: str
    specs: tuple[ToolSpec, ...]
    history: Sequence[Message]
    engine: ContextEngine
    gauge: Gauge
    clock: Clock
    session: str = ""
    budget: int = 90
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    max_tokens: int | None = None
    charge: Callable[[Sequence[Spent]], Job] = lambda _spent: lambda _connection: None
    """A job that writes down what calls have cost."""
    otherwise: Callable[[ModelError, float], Mind | None] = lambda _error, _lasted: None
    """What to go on with after a call has failed for good, `lasted` seconds after it began."""
    sight: Sight | None = None
    payer: Payer = field(default_factory=lambda: Payer("", "", "", ""))
    """For whom what `sight` asks other models is done."""
    asked: Callable[[Sequence[TurnInput]], list[Message]] = lambda inputs: [
        Message("user", i.text) for i in inputs
    ]


class _Stopped(Exception):
    """The user asked to stop."""


class Loop:
    """One turn. `turn.messages` grows as it runs and holds the whole turn at the end."""

    def __init__(self, mind: Mind, hands: Hands, io: TurnIO, turn: Rebuilt) -> None:
        self.mind = mind
        self.hands = hands
        self.io = io
        self.turn = turn
        self.spending = Spending(mind.budget, turn.calls, turn.usage)
        self.owing: list[Spent] = []
        """Calls that are not written down yet."""
        self.cut = 0
        """How many messages of the history the model that answered did not see."""
        self._start = 0
        self._room = _room_of(mind)

    async def run(self) -> TurnOutcome:
        """Think until there is an answer.

        Raises `StoreUnavailable`; everything else that fails is an outcome.
        """
        try:
            if self.turn.pending:
                self.turn.messages += await self.hands.go_on(self.turn.pending, self.turn.began)
            outcome = await self._think()
        except _Stopped:
            outcome = self._outcome("stopped")
        except ModelError as error:
            outcome = failed(error, self._outcome("failed"))
        reached("turn.finished")
        return outcome

    async def _think(self) -> TurnOutcome:
        has_been_empty = False
        while True:
            if self.io.stop.is_set():
                raise _Stopped
            await self._listen()
            if self.spending.is_last or self.hands.guard.is_stuck:
                return await self._sum_up()
            completion = await self._ask(self.mind.specs)
            message = distinct(clean(replace(completion.message, at=self.mind.clock.time())))
            if message.tool_calls:
                await self._work(message, completion)
            elif message.text.strip():
                return self._answered(message)
            elif self.hands.acted:
                return self._outcome("silent")  # it acted and has nothing to add (MD-12)
            elif has_been_empty:
                return replace(self._outcome("failed"), error="empty_answer")
            else:
                has_been_empty = True

    async def _listen(self) -> None:
        """What was said to the turn since the last model call joins it, stored before it is acted on."""
        steering = self.io.steered()
        if steering is None:
            return
        messages = self.mind.asked(steering.inputs)
        await self.hands.record([steer_step(steering.inputs, messages)], progress=True, also=[steering.job])
        self.turn.messages += messages

    async def _work(self, message: Message, completion: Completion) -> None:
        step = answer_step(message, completion.usage)
        charge = self.mind.charge(tuple(self.owing))
        self.owing.clear()  # before the wait: when that is cancelled, the step may be stored all the same
        await self.hands.record([step], progress=True, also=[charge])
        self.turn.messages.append(message)
        self.turn.messages += await self.hands.run(message.tool_calls, cut=completion.finish == "length")

    async def _sum_up(self) -> TurnOutcome:
        """The last call: no tools, one request that is not kept."""
        completion = await self._ask((), Message("user", SUMMARY_REQUEST))
        message = clean(replace(completion.message, tool_calls=(), at=self.mind.clock.time()))
        notice = Notice("budget", {"calls": self.spending.calls})
        if not message.text.strip():
            fields = dict(notice.fields)
            return replace(self._outcome("failed"), error="budget", error_fields=fields)
        return replace(self._answered(message), notices=(notice,))

    def _answered(self, message: Message) -> TurnOutcome:
        self.turn.messages.append(message)
        return replace(self._outcome("answered"), text=message.text)

    def _outcome(self, state: TurnState) -> TurnOutcome:
        return TurnOutcome(
            state,
            usage=self.spending.usage,
            model_calls=self.spending.calls,
            files=tuple(self.turn.files),
            choices=tuple(self.turn.choices),
        )

    async def _ask(self, specs: tuple[ToolSpec, ...], extra: Message | None = None) -> Completion:
        """One answer, of another model where this one fails for good and there is another."""
        began = self.mind.clock.monotonic()
        start = self._start
        while True:
            try:
                return await self._fitting(specs, extra)
            except ModelError as error:
                other = self.mind.otherwise(error, self.mind.clock.monotonic() - began)
                if other is None:
                    raise
            self.mind, self._room, self._start = other, _room_of(other), start

    async def _fitting(self, specs: tuple[ToolSpec, ...], extra: Message | None) -> Completion:
        """One answer; a request that is too long is shortened while that helps (MD-18, MD-19)."""
        before: int | None = None
        unseen: list[str] = []
        while True:
            fitted = await self._fitted()
            if before is not None and len(fitted.messages) >= before:
                raise ModelError("The request does not fit into the model's window.", kind="overflow")
            messages = legal((*fitted.messages, extra) if extra else fitted.messages)
            request = self._request(messages, specs)
            try:
                completion = await self._call(request)
            except ModelError as error:
                if self._looks_away(messages, error, unseen):
                    continue
                used = self.mind.gauge.estimate.messages(fitted.messages)
                if error.kind != "overflow" or not self._room.shrink(used):
                    raise
                before = len(fitted.messages)
                continue
            self._learn(request, completion)
            self.cut = self._start
            return completion

    def _request(self, messages: tuple[Message, ...], specs: tuple[ToolSpec, ...]) -> ModelRequest:
        mind = self.mind
        request = ModelRequest(mind.system, messages, specs, max_tokens=mind.max_tokens, session=mind.session)
        return request if mind.sight is None else replace(request, stored=mind.sight.stored)

    def _looks_away(self, messages: Sequence[Message], error: ModelError, unseen: list[str]) -> bool:
        """Whether it is worth to ask again with fewer pictures. `unseen`: those that were left out of this request."""
        sight, model = self.mind.sight, self.mind.model
        if sight is None:
            return False
        found = sight.refuse(model, messages, error, again=bool(unseen))
        if found is None:
            sight.forgive(model, unseen)
            return False
        unseen += found
        return True

    async def _fitted(self) -> Fitted:
        """What fits; what has left stays out, so that the next requests begin alike (the provider's prefix cache)."""
        history = self.mind.history[self._start :]
        messages = await self._seen((*history, *self.turn.messages))
        fitted = await self.mind.engine.fit(messages, budget_tokens=self._room.tokens)
        self._start += min(fitted.dropped, len(history))
        return fitted

    async def _seen(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages with the pictures that the model is shown, and words for the others."""
        if not any(message.files for message in messages):
            return messages
        mind = self.mind
        if mind.sight is None:
            return [replace(m, files=()) if m.files else m for m in messages]
        return await _unless_stopped(mind.sight.look(messages, mind.model, mind.payer), self.io.stop)

    def _learn(self, request: ModelRequest, completion: Completion) -> None:
        self.spending.add(completion.usage)
        name = completion.model or self.mind.model.name
        self.owing.append(Spent(name, completion.usage, self.mind.clock.time()))
        if not completion.usage.estimated:
            gauge = self.mind.gauge
            gauge.estimate = gauge.estimate.learned(request, completion.usage.prompt)

    async def _call(self, request: ModelRequest) -> Completion:
        """Ask with retries; what a failed try has shown is taken back."""
        shown = 0

        def on_text(text: str) -> None:
            nonlocal shown
            if not shown:
                reached("model.called")
            shown += 1
            self.io.emit(TextDelta(text))

        def take_back(_: Retry | None = None) -> None:
            nonlocal shown
            if shown:
                self.io.emit(TextReset())
            shown = 0

        async def attempt() -> Completion:
            completion = await self.mind.model.complete(request, on_text)
            if not shown:
                reached("model.called")
            return completion

        try:
            asking = with_retries(attempt, self.mind.retries, self.mind.clock, take_back)
            completion = await _unless_stopped(asking, self.io.stop)
        except ModelError:
            take_back()
            raise
        reached("model.answered")
        return completion


def _room_of(mind: Mind) -> Room:
    fixed = ModelRequest(mind.system, (), mind.specs)
    return Room(room(mind.model.window, mind.gauge.estimate.request(fixed)))


async def _unless_stopped(work: Coroutine[Any, Any, T], stop: asyncio.Event) -> T:
    """The result of `work`, or `_Stopped` as soon as `stop` is set; either way nothing is left running."""
    task = asyncio.create_task(work, name="model-call")
    waiter = asyncio.create_task(stop.wait(), name="model-call-stop")
    try:
        await asyncio.wait((task, waiter), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise _Stopped
    finally:
        task.cancel()
        waiter.cancel()
        await asyncio.gather(task, waiter, return_exceptions=True)
