"""The hands of a turn.

Runs the tool calls of one answer, group by group, each begin and each result stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agent_core.batch import MOST_AT_ONCE, Planned, normalised, plan
from agent_core.budget import RepeatGuard
from agent_core.calls import Prepared, execute, prepare, summary
from agent_core.history import INTERRUPTED
from agent_core.spill import finished
from agent_core.steps import Step, choices_step, file_step
from hermes.agent import ToolEnded, ToolStarted, TurnIO
from hermes.clock import Clock
from hermes.failpoint import reached
from hermes.files import StoredFile
from hermes.messages import Message, ToolCall
from hermes.store import Job
from hermes.tools import Tool, ToolContext, ToolResult

__all__ = ["Hands", "Record"]

_MOST_FILES = 20
"""Files that one answer may have."""


class Record(Protocol):
    """Stores steps as one transaction."""

    async def __call__(self, steps: Sequence[Step], *, progress: bool, also: Sequence[Job] = ()) -> None:
        """Return when they are durable. Raises `StoreUnavailable`.

        progress: the turn got further by them (a call that merely begins does not count).
        also: jobs of the same transaction.
        """
        ...


@dataclass(slots=True)
class Hands:
    """Runs calls for one turn.

    context: makes the context of a call. most: calls at once. cap: characters of a result. files: what the turn gives
    out so far, each with its caption. choices: what people may pick below its answer, as it stands so far.
    """

    tools: Mapping[str, Tool]
    context: Callable[[str], ToolContext]
    record: Record
    clock: Clock
    io: TurnIO
    most: int = MOST_AT_ONCE
    cap: int = 30_000
    guard: RepeatGuard = field(default_factory=RepeatGuard)
    files: list[tuple[StoredFile, str]] = field(default_factory=list)
    choices: list[str] = field(default_factory=list)
    acted: bool = False
    """Whether a call ran that may have had an effect."""

    async def run(self, calls: Sequence[ToolCall], *, cut: bool = False) -> list[Message]:
        """The results, one for each call, in call order.

        A batch is never cut in half: `io.stop` waits for it.
        """
        prepared = [self._guarded(prepare(call, self.tools, cut=cut)) for call in calls]
        results: list[Message] = []
        for group in plan([self._planned(p) for p in prepared], self.most):
            results += await self._group([prepared[i] for i in group])
        return results

    async def go_on(self, pending: Sequence[ToolCall], began: frozenset[str]) -> list[Message]:
        """What a restart left open.

        Calls that had begun are told as interrupted unless they may run again; the others run.
        """
        lost = [c for c in pending if c.id in began and not self._is_idempotent(c)]
        told = [
            Message("tool", INTERRUPTED, tool_call_id=c.id, name=c.name, at=self.clock.time()) for c in lost
        ]
        if told:
            await self.record([("result", m.to_json()) for m in told], progress=True)
            self.acted = True
        return told + await self.run([c for c in pending if c not in lost])

    def _is_idempotent(self, call: ToolCall) -> bool:
        tool = self.tools.get(call.name)
        return tool is not None and tool.idempotent

    def _guarded(self, prepared: Prepared) -> Prepared:
        if prepared.refusal is not None:
            return prepared
        refusal = self.guard.refusal(prepared.call.name, prepared.arguments)
        return Prepared(prepared.call, prepared.tool, prepared.arguments, refusal) if refusal else prepared

    def _planned(self, prepared: Prepared) -> Planned:
        if prepared.refusal is not None or prepared.tool is None:
            return Planned("read")
        tool = prepared.tool
        if tool.parallel != "path":
            return Planned(tool.parallel)
        workspace = str(self.context(prepared.call.id).workspace)
        return Planned("path", normalised(workspace, tool.paths(prepared.arguments or {})))

    async def _group(self, group: Sequence[Prepared]) -> list[Message]:
        begins: list[Step] = [("began", {"id": p.call.id}) for p in group if p.refusal is None]
        if begins:
            await self.record(begins, progress=False)
            reached("tool.started")
        if len(group) == 1:
            return [await self._one(group[0])]
        # Each runs to its end, also when storing another's result fails.
        found = await asyncio.gather(*(self._one(p) for p in group), return_exceptions=True)
        for item in found:
            if isinstance(item, BaseException):
                raise item
        return [item for item in found if isinstance(item, Message)]

    async def _one(self, prepared: Prepared) -> Message:
        call, tool = prepared.call, prepared.tool
        line = summary(prepared.arguments)
        self.io.emit(ToolStarted(call.id, call.name, line, tool.emoji if tool else ""))
        result = self._bounded(await execute(prepared, self.context(call.id)))
        if prepared.refusal is None and tool is not None:
            reached("tool.finished")
            self.acted = self.acted or tool.parallel != "read"
        message = await self._message(prepared, result)
        given = [file_step(file, caption) for file, caption in result.files]
        given += [choices_step(result.choices)] if result.choices else []
        await self.record([("result", message.to_json()), *given], progress=True)
        self.files += result.files
        self.choices[:] = result.choices or self.choices
        self.io.emit(ToolEnded(call.id, call.name, result.ok))
        return message

    def _bounded(self, result: ToolResult) -> ToolResult:
        if len(self.files) + len(result.files) <= _MOST_FILES:
            return result
        return ToolResult(f"Not sent: one answer has at most {_MOST_FILES} files.", ok=False)

    async def _message(self, prepared: Prepared, result: ToolResult) -> Message:
        call = prepared.call
        spills: Path = self.context(call.id).services.spills
        done = await finished(result, call.name, spills, self.cap)
        text = done.text if done.ok else f"Error: {done.text}"
        if prepared.refusal is None:
            # The text before spilling: a preview names another file each time.
            text += self.guard.warning(call.name, prepared.arguments, result.text)
        return Message("tool", text, tool_call_id=call.id, name=call.name, at=self.clock.time())
