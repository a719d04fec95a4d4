"""The embedded model's process: started when needed, one answer at a time, again after its death, gone when idle."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agent_core.models.local.model import LocalModel, Setup
from agent_core.settings import LocalModelSettings
from hermes.errors import ModelError
from hermes.messages import Message
from hermes.model import ModelRequest
from hermes.testing import FakeClock

PROGRAM = (sys.executable, str(Path(__file__).parents[1] / "peers" / "local_child.py"))
NOTICE = "(m on this machine answers, without tools. Choose another one with: hermes model.)\n\n"

Make = Callable[..., LocalModel]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def make(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Make]:
    made: list[LocalModel] = []

    def _make(name: str = "m.gguf", *, start: float = 20.0, health: float = 10.0) -> LocalModel:
        file = tmp_path / name
        file.write_bytes(b"GGUF")
        settings = LocalModelSettings(model_file=file, idle_stop=600)
        model = LocalModel(settings, Setup(tmp_path / "models", PROGRAM, start, health), clock)
        made.append(model)
        return model

    yield _make
    for model in made:
        await model.aclose()


def asked(*texts: str) -> ModelRequest:
    """A person's and the model's messages in turn, the last one a person's."""
    roles = ["user" if n % 2 == 0 else "assistant" for n in range(len(texts))]
    messages = [Message(role, text) for role, text in zip(roles, texts, strict=True)]  # type: ignore[arg-type]  # two roles
    return ModelRequest("A system text of the agent.", messages)


async def ask(model: LocalModel, *texts: str) -> str:
    pieces: list[str] = []
    completion = await model.complete(asked(*texts), pieces.append)
    assert "".join(pieces) == completion.message.text
    return completion.message.text


def pid_of(model: LocalModel) -> int:
    child = model.supervisor.child
    assert child is not None
    return child.pid


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_nothing_runs_before_the_first_call_and_one_process_answers_all(make: Make) -> None:
    model = make()
    assert model.supervisor.child is None
    assert await ask(model, "hi") == f"{NOTICE}2: hi"  # its own system text, and "hi"
    pid = pid_of(model)
    assert await ask(model, "hi", f"{NOTICE}2: hi", "again") == "4: again"
    assert pid_of(model) == pid


async def test_calls_at_once_wait_for_each_other(make: Make) -> None:
    model = make()
    answers = await asyncio.gather(*(ask(model, f"call {n}") for n in range(5)))
    assert answers == [f"{NOTICE}2: call {n}" for n in range(5)]


async def test_a_crash_fails_that_answer_and_the_next_one_comes_from_a_new_process(make: Make) -> None:
    model = make()
    await ask(model, "hi")
    before = pid_of(model)
    with pytest.raises(ModelError) as caught:
        await ask(model, "crash")
    assert caught.value.kind == "network"
    assert await ask(model, "hi") == f"{NOTICE}2: hi"
    assert pid_of(model) != before
    assert is_gone(before)


async def test_a_process_that_dies_again_and_again_is_started_ever_more_rarely(
    make: Make, clock: FakeClock
) -> None:
    model = make()
    for _ in range(2):
        with pytest.raises(ModelError, match="lost"):
            await ask(model, "crash")
    with pytest.raises(ModelError, match="has died 2 times; it starts again in 1 s") as caught:
        await ask(model, "hi")
    assert (caught.value.kind, caught.value.retry_after) == ("overload", 1.0)
    await clock.advance(1)
    assert await ask(model, "hi") == f"{NOTICE}2: hi"
    await clock.advance(61)  # it has lived: what was before counts no more
    with pytest.raises(ModelError, match="lost"):
        await ask(model, "crash")
    assert await ask(model, "hi") == f"{NOTICE}2: hi"


async def test_one_that_has_gone_deaf_is_replaced(make: Make) -> None:
    model = make(health=0.5)
    hanging = asyncio.create_task(ask(model, "hang"))
    while model.supervisor.child is None:
        await asyncio.sleep(0.01)
    before = pid_of(model)
    done, _ = await asyncio.wait((hanging,), timeout=0.5)
    assert not done
    hanging.cancel()
    await asyncio.wait((hanging,))
    assert await ask(model, "hi") == f"{NOTICE}2: hi"
    assert pid_of(model) != before
    assert is_gone(before)


async def test_it_ends_when_it_is_idle_and_comes_back_when_asked(make: Make, clock: FakeClock) -> None:
    model = make()
    await ask(model, "hi")
    before = model.supervisor.child
    assert before is not None
    await clock.advance(599)
    assert before.is_running
    await ask(model, "hi")
    await clock.advance(599)
    assert before.is_running  # the time begins anew with each answer
    await clock.advance(1)
    async with asyncio.timeout(5):
        await before.ended()
    assert model.supervisor.child is None
    assert await ask(model, "hi") == f"{NOTICE}2: hi"
    assert pid_of(model) != before.pid


async def test_closing_ends_it_also_in_the_middle_of_an_answer(make: Make) -> None:
    model = make()
    await ask(model, "hi")
    child = model.supervisor.child
    assert child is not None
    hanging = asyncio.create_task(ask(model, "hang"))
    await asyncio.wait((hanging,), timeout=0.3)
    await model.aclose()
    await model.aclose()
    assert is_gone(child.pid)
    with pytest.raises(ModelError):
        await hanging
    assert model.supervisor.child is None


async def test_a_cancelled_start_leaves_no_process(make: Make) -> None:
    model = make("late.gguf")
    starting = asyncio.create_task(ask(model, "hi"))
    await asyncio.wait((starting,), timeout=0.5)
    mine = _children()
    assert mine
    starting.cancel()
    await asyncio.wait((starting,))
    assert not _children() & mine


def _children() -> set[int]:
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"local_child.py" in words and parent == os.getpid():
            found.add(int(entry.name))
    return found


async def test_a_file_that_is_refused_is_a_sentence_with_the_reason(make: Make) -> None:
    with pytest.raises(ModelError, match=r"refused\.gguf cannot be used: it is half a file\.") as caught:
        await ask(make("refused.gguf"), "hi")
    assert caught.value.kind == "config"


async def test_one_that_does_not_get_ready_or_dies_at_once_is_a_sentence(make: Make) -> None:
    with pytest.raises(ModelError, match="was not ready after 1 s"):
        await ask(make("late.gguf", start=0.6), "hi")
    with pytest.raises(ModelError, match=r"ended at its start \(exit code 7\)"):
        await ask(make("dead.gguf"), "hi")


async def test_a_program_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    settings = LocalModelSettings(model_file=tmp_path / "m.gguf")
    model = LocalModel(settings, Setup(tmp_path, ("/no/such/program",)))
    with pytest.raises(ModelError, match="process cannot be started: No such file or directory"):
        await ask(model, "hi")


async def test_a_request_that_was_counted_too_low_is_cut_further(make: Make) -> None:
    assert (await ask(make(), "overflow " + "word " * 1800)).startswith(f"{NOTICE}2: overflow")


async def test_nothing_secret_reaches_it_by_environment_or_arguments(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    model = make()
    await ask(model, "hi")
    process = Path("/proc", str(pid_of(model)))
    environment = (process / "environ").read_bytes()
    assert b"sk-secret" not in environment
    assert b"OMP_WAIT_POLICY=passive" in environment
    assert b"GGML_NO_BACKTRACE=1" in environment
    assert (process / "cmdline").read_bytes().count(b"\0") == len(PROGRAM)
