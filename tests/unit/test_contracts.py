"""The public face: what `hermes/` promises is listed, explained, and stands on nothing of ours."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hermes

FOLDER = Path(hermes.__file__).parent
MODULES = sorted(f"hermes.{info.name}" for info in pkgutil.iter_modules([str(FOLDER)]))
ROOMS = {"gateway", "agent_core", "adapters", "media", "tools", "skills"}
FOREIGN = {
    "aiohttp",
    "aiosqlite",
    "httpx",
    "telegram",
    "typer",
    "rich",
    "prompt_toolkit",
    "prometheus_client",
    "structlog",
    "ruamel",
    "uvloop",
    "markdown_it",
}
"""What a plug-in author's `import hermes.tools` must not drag in. pydantic is `hermes.config`'s own language."""


def tree_of(module: str) -> ast.Module:
    return ast.parse((FOLDER / f"{module.partition('.')[2]}.py").read_text(encoding="utf-8"))


def defined(tree: ast.Module) -> set[str]:
    """The names that the module itself makes at its top, apart from what it imports."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {name for name in names if not name.startswith("_")}


def order(name: str) -> tuple[int, str]:
    """Constants, classes, the rest: the order that ruff keeps (RUF022)."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def undocumented(tree: ast.Module) -> Iterator[str]:
    if ast.get_docstring(tree) is None:
        yield "the module"
    for node in tree.body:
        yield from _bare(node, "")
        for member in node.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_") else ():
            yield from _bare(member, f"{getattr(node, 'name', '')}.")


def _bare(node: ast.stmt, owner: str) -> Iterator[str]:
    if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return
    if not node.name.startswith("_") and ast.get_docstring(node) is None:
        yield owner + node.name


def test_there_are_contracts() -> None:
    assert {"hermes.adapter", "hermes.tools", "hermes.events", "hermes.store"} <= set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_what_is_public_is_listed_and_nothing_else(module: str) -> None:
    listed = importlib.import_module(module).__all__
    assert list(listed) == sorted(set(listed), key=order)
    assert set(listed) == defined(tree_of(module))


@pytest.mark.parametrize("module", MODULES)
def test_what_is_public_is_explained(module: str) -> None:
    assert list(undocumented(tree_of(module))) == []


@pytest.mark.parametrize("module", MODULES)
def test_no_promise_imports_a_room(module: str) -> None:
    """Not even inside of a function or for type checkers alone."""
    imported: set[str] = set()
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(str(node.module).partition(".")[0])
    assert imported & ROOMS == set()


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("module", MODULES)
def test_importing_a_promise_brings_no_room_and_no_platform(module: str) -> None:
    assert loaded_after(f"import {module}") & (ROOMS | FOREIGN) == set()


def test_a_user_s_tool_needs_nothing_but_the_standard_library() -> None:
    assert "pydantic" not in loaded_after("from hermes.tools import Tool, ToolContext, ToolResult")
