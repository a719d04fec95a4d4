"""Finds the tools: every module of this package that has `TOOLS`, and the user's own files in `<home>/tools`.

No central list: a new module is found because it lies there. A module that cannot be loaded costs its own
tools and a warning.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import tools
from hermes.tools import Tool
from tools.schema import faults

__all__ = ["Found", "bundled", "collect", "find", "user_tools"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """Tools by name, and one sentence for each thing that could not be used."""

    tools: dict[str, Tool]
    warnings: tuple[str, ...] = ()


def find(user_folder: Path | None = None) -> Found:
    """All tools: bundled ones, then the user's, which may not take a bundled name.

    Blocking: reads and runs modules, and asks each tool whether it is available.
    """
    warnings: list[str] = []
    sources = [*bundled(warnings), *(user_tools(user_folder, warnings) if user_folder else ())]
    found = collect(sources, warnings)
    for sentence in warnings:
        log.warning("tools.unusable", extra={"reason": sentence})
    return Found(found, tuple(warnings))


def bundled(warnings: list[str]) -> Iterator[tuple[str, ModuleType]]:
    """The modules of this package."""
    for info in sorted(pkgutil.iter_modules(tools.__path__), key=lambda i: i.name):
        if info.ispkg:
            continue
        try:
            yield info.name, importlib.import_module(f"tools.{info.name}")
        except ImportError as error:
            warnings.append(f"The tools of {info.name} are off: {error}.")


def user_tools(folder: Path, warnings: list[str]) -> Iterator[tuple[str, ModuleType]]:
    """The user's files, loaded by their place, never through `sys.path`."""
    for path in sorted(folder.glob("*.py")) if folder.is_dir() else ():
        if path.name.startswith(("_", ".")):
            continue
        try:
            yield path.name, _load(path)
        except (Exception, SystemExit) as error:  # noqa: BLE001  a user's file may raise anything; it is told
            warnings.append(f"{path} cannot be loaded: {type(error).__name__}: {error}.")


def _load(path: Path) -> ModuleType:
    name = f"hermes_user_tools.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickling look modules up by name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def collect(modules: Iterable[tuple[str, ModuleType]], warnings: list[str]) -> dict[str, Tool]:
    """The tools of the modules by name.

    What is no tool, has a bad name or schema, comes twice or is not available here, is told and left out.
    """
    out: dict[str, Tool] = {}
    for where, module in modules:
        for tool in _listed(where, module, warnings):
            problem = _problem(tool, out)
            if problem:
                warnings.append(f"A tool of {where} is left out: {problem}.")
            else:
                out[tool.name] = tool
    return out


def _listed(where: str, module: ModuleType, warnings: list[str]) -> list[Tool]:
    listed = getattr(module, "TOOLS", ())
    if not isinstance(listed, tuple | list):
        warnings.append(f"TOOLS of {where} is no tuple or list.")
        return []
    usable = [tool for tool in listed if isinstance(tool, Tool)]
    if len(usable) != len(listed):
        warnings.append(f"TOOLS of {where} holds something that is no Tool.")
    return usable


def _problem(tool: Tool, known: dict[str, Tool]) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool.name):
        return f"the name {tool.name!r} is not 1 to 64 of A-Z a-z 0-9 _ -"
    if tool.name in known:
        return f"there is another tool {tool.name}"
    wrong = faults(tool.parameters)
    if wrong:
        return f"{tool.name}: {wrong}"
    missing = tool.available()
    return f"{tool.name} is not available: {missing.rstrip('.')}" if missing else ""
