"""Running a coroutine to its end, on uvloop where it is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

__all__ = ["run"]

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T], *, fast: bool = False) -> T:
    """The coroutine's result. `fast`: on uvloop; not worth its import for a short command."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if fast and find_spec("uvloop") is not None:
        factory = import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)
