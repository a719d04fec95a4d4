"""One tool call, from what the model wrote to what it reads.

A call that fails is data, never control flow.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from agent_core.coerce import coerce
from hermes.errors import ToolError
from hermes.messages import JSONObject, ToolCall
from hermes.tools import Tool, ToolContext, ToolResult

__all__ = ["Prepared", "execute", "prepare", "summary"]

T = TypeVar("T")
Found = Awaitable[ToolResult | str] | ToolResult | str
log = logging.getLogger(__name__)

_CUT = (
    "The arguments of this call were cut off by the limit of the answer's length, so it was not run. "
    "Call it again with less text at once."
)
_NO_JSON = (
    "The arguments of this call are not valid JSON, so it was not run. "
    "Send one JSON object that fits the tool's schema."
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that was looked at: with `tool` and `arguments` it may run, else `refusal` is its result."""

    call: ToolCall
    tool: Tool | None = None
    arguments: JSONObject | None = None
    refusal: str | None = None


def prepare(call: ToolCall, tools: Mapping[str, Tool], *, cut: bool) -> Prepared:
    """Decide about one call.

    `cut`: the answer ended at its length limit, so text that is no object is the rest of one. Pure.
    """
    tool = tools.get(call.name)
    if tool is None:
        return Prepared(call, refusal=_unknown(call.name, tools))
    arguments = call.arguments
    if not call.raw.strip() and not arguments:
        # Some servers send nothing for "no arguments" (MD-04); in an answer that was cut it is a call that
        # had only begun.
        arguments = None if cut else {}
    if arguments is None:
        return Prepared(call, tool, refusal=_CUT if cut else _NO_JSON)
    fitted = coerce(arguments, tool.parameters)
    if fitted.errors:
        return Prepared(call, tool, fitted.arguments, "Not run: " + " ".join(fitted.errors))
    return Prepared(call, tool, fitted.arguments)


def _unknown(name: str, tools: Mapping[str, Tool]) -> str:
    near = get_close_matches(name, tools, 3, 0.5)
    known = (
        f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(tools) or 'no tools here'}."
    )
    return f"There is no tool {name[:64]!r} here. {known}"


def summary(arguments: Mapping[str, Any] | None) -> str:
    """One line about a call for people: its first short text or number, at most 60 characters."""
    for value in (arguments or {}).values():
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            line = " ".join(str(value).split())
            return line if len(line) <= 60 else line[:57] + "..."
    return ""


async def execute(prepared: Prepared, context: ToolContext) -> ToolResult:
    """Run the call within its time. Never raises but `CancelledError`."""
    if prepared.refusal is not None or prepared.tool is None:
        return ToolResult(prepared.refusal or "Not run.", ok=False)
    tool = prepared.tool
    try:
        async with asyncio.timeout(tool.timeout) as limit:
            result = await _handled(tool, prepared.arguments or {}, context)
    except ToolError as error:
        return ToolResult(str(error), ok=False)
    except TimeoutError as error:
        if not limit.expired():
            return _raised(tool, error)
        return ToolResult(
            f"{tool.name} did not end within {tool.timeout:g} s. It may still have an effect.", ok=False
        )
    except Exception as error:  # noqa: BLE001  whatever a tool raises is told and logged
        return _raised(tool, error)
    return result if isinstance(result, ToolResult) else ToolResult(str(result))


def _raised(tool: Tool, error: Exception) -> ToolResult:
    log.warning("tool.raised", exc_info=error, extra={"tool": tool.name})
    return ToolResult(f"{tool.name} failed: {type(error).__name__}: {str(error)[:300]}", ok=False)


async def _handled(tool: Tool, arguments: JSONObject, context: ToolContext) -> ToolResult | str:
    found: Found
    if inspect.iscoroutinefunction(tool.handler):
        found = tool.handler(arguments, context)
    else:
        work: Callable[[], Found] = functools.partial(tool.handler, arguments, context)
        found = await _in_thread(work, tool.name)
    return found if isinstance(found, ToolResult | str) else await found


async def _in_thread(work: Callable[[], T], name: str) -> T:
    """Run `work` in a thread of its own.

    Not in the shared pool: a tool that hangs would keep one of its few places for good, and the process
    from ending.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    carried = contextvars.copy_context()

    def settle(set_it: Callable[[Any], None], value: object) -> None:
        if not done.done():
            set_it(value)

    def run() -> None:
        try:
            result = carried.run(work)
        except BaseException as error:  # noqa: BLE001  it is raised where it is awaited
            report(done.set_exception, error)
        else:
            report(done.set_result, result)

    def report(set_it: Callable[[Any], None], value: object) -> None:
        try:
            loop.call_soon_threadsafe(settle, set_it, value)
        except RuntimeError:
            log.warning("tool.late", extra={"tool": name})  # the loop is closed: nobody waits any more

    threading.Thread(target=run, name=f"tool-{name}", daemon=True).start()
    return await done
