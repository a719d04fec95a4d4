"""The promise of `hermes.model.Model`, kept by the scripted one and by the client of a real endpoint."""

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

import pytest

from agent_core.models.chat import ChatModel
from agent_core.models.providers import ProviderConfig, build_model
from hermes.errors import ModelError
from hermes.messages import Message, ToolCall
from hermes.model import Completion, Model, ModelRequest, ToolSpec
from hermes.testing import Answer, ScriptedModel
from tests.peers.model import ModelPeer, calls, fails, says
from tests.peers.model import ToolCall as PeerCall

READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"p": {"type": "string"}}})


class Subject(Protocol):
    """A model, and what steers its next answers."""

    @property
    def model(self) -> Model: ...

    def will_say(self, text: str, chunks: int) -> None: ...

    def will_call(self, name: str, path: str) -> None: ...

    def will_fail(self) -> None: ...

    def will_hang(self) -> None: ...

    async def until_asked(self) -> None:
        """Return once a call is under way."""

    async def until_free(self) -> None:
        """Return once no call is under way any more."""


class Scripted:
    def __init__(self) -> None:
        self.model = ScriptedModel()

    def will_say(self, text: str, chunks: int) -> None:
        self.model.script.append(Answer(text, chunks=chunks))

    def will_call(self, name: str, path: str) -> None:
        self.model.script.append(Answer(tool_calls=(ToolCall("c1", name, {"p": path}),)))

    def will_fail(self) -> None:
        self.model.script.append(Answer("half of", error=ModelError(kind="overload", status=503)))

    def will_hang(self) -> None:
        self.model.script.append(Answer("never", gate=asyncio.Event()))

    async def until_asked(self) -> None:
        while not self.model.running:
            await asyncio.sleep(0)

    async def until_free(self) -> None:
        while self.model.running:
            await asyncio.sleep(0)


class OverHttp:
    def __init__(self, peer: ModelPeer) -> None:
        self.peer = peer
        self.model: ChatModel = build_model(ProviderConfig("custom", "peer-model", base_url=peer.url))

    def will_say(self, text: str, chunks: int) -> None:
        self.peer.script.add(says(text, chunks=chunks))

    def will_call(self, name: str, path: str) -> None:
        self.peer.script.add(calls(PeerCall(name, {"p": path})))

    def will_fail(self) -> None:
        self.peer.script.add(fails(503, "overloaded"))

    def will_hang(self) -> None:
        self.peer.script.add(says("never", first=3600))

    async def until_asked(self) -> None:
        await self.peer.wait_for(lambda: self.peer.in_flight.total() == 1)

    async def until_free(self) -> None:
        await self.peer.wait_for(lambda: self.peer.in_flight.total() == 0)


@pytest.fixture(params=["scripted", "http"])
async def subject(request: pytest.FixtureRequest, model_peer: ModelPeer) -> AsyncIterator[Subject]:
    made: Subject = Scripted() if request.param == "scripted" else OverHttp(model_peer)
    yield made
    await made.model.aclose()


def asked(*messages: Message) -> ModelRequest:
    return ModelRequest("Be brief.", messages or (Message("user", "hi"),), (READ,))


async def ask(model: Model, request: ModelRequest | None = None) -> tuple[Completion, list[str]]:
    pieces: list[str] = []
    completion = await model.complete(request or asked(), pieces.append)
    return completion, pieces


@pytest.mark.parametrize(
    "text", ["Hello world, this is it.", "\U0001f3b2 \u6f22\u5b57 e\u0301\n\nnew line", "x"]
)
@pytest.mark.parametrize("chunks", [1, 3, 7])
async def test_the_pieces_are_the_answer(subject: Subject, text: str, chunks: int) -> None:
    subject.will_say(text, chunks)
    completion, pieces = await ask(subject.model)
    assert "".join(pieces) == completion.message.text == text
    assert all(pieces)
    assert (completion.message.role, completion.finish) == ("assistant", "stop")
    assert completion.usage.prompt > 0
    assert completion.usage.completion > 0


async def test_a_call_is_parsed_and_its_result_is_taken(subject: Subject) -> None:
    subject.will_call("read", "a.txt")
    completion, pieces = await ask(subject.model)
    (call,) = completion.message.tool_calls
    assert (pieces, completion.message.text, completion.finish) == ([], "", "tool_calls")
    assert (call.name, call.arguments) == ("read", {"p": "a.txt"})
    assert call.id
    subject.will_say("It is empty.", 2)
    result = Message("tool", "", tool_call_id=call.id, name=call.name)
    completion, _ = await ask(subject.model, asked(Message("user", "hi"), completion.message, result))
    assert completion.message.text == "It is empty."


async def test_a_failure_is_a_model_error_and_the_next_call_is_a_new_one(subject: Subject) -> None:
    subject.will_fail()
    with pytest.raises(ModelError) as caught:
        await ask(subject.model)
    assert (caught.value.kind, caught.value.status) == ("overload", 503)
    subject.will_say("Better now.", 2)
    completion, pieces = await ask(subject.model)
    assert "".join(pieces) == completion.message.text == "Better now."


async def test_one_attempt_per_call(subject: Subject) -> None:
    subject.will_fail()
    subject.will_say("unasked", 1)
    with pytest.raises(ModelError):
        await ask(subject.model)
    completion, _ = await ask(subject.model)
    assert completion.message.text == "unasked"


async def test_cancelling_ends_the_call_at_once_and_frees_what_it_held(subject: Subject) -> None:
    subject.will_hang()
    task = asyncio.create_task(ask(subject.model))
    await subject.until_asked()
    task.cancel()
    done, _ = await asyncio.wait((task,), timeout=5)
    assert done
    assert task.cancelled()
    async with asyncio.timeout(5):
        await subject.until_free()
    subject.will_say("Still here.", 1)
    completion, _ = await ask(subject.model)
    assert completion.message.text == "Still here."


async def test_calls_run_side_by_side(subject: Subject) -> None:
    subject.will_hang()
    slow = asyncio.create_task(ask(subject.model))
    await subject.until_asked()
    subject.will_say("quick", 1)
    async with asyncio.timeout(5):
        completion, _ = await ask(subject.model)
    assert (completion.message.text, slow.done()) == ("quick", False)
    slow.cancel()
    await asyncio.wait((slow,))


async def test_it_says_its_name_and_window_and_may_be_closed_twice(subject: Subject) -> None:
    assert subject.model.name
    assert subject.model.window > 0
    await subject.model.aclose()
    await subject.model.aclose()
