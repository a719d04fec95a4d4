"""The project's own files: dependencies, lock files, change fragments."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ["hermes", "gateway", "agent_core", "adapters", "media", "tools", "skills"]
# Needed without an import: name -> why.
NOT_IMPORTED: dict[str, str] = {}


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def declared(*, without: str = "") -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].items()
    lines = [
        *project["dependencies"],
        *(line for name, extra in extras if name != without for line in extra),
    ]
    return {str(canonicalize_name(Requirement(line).name)) for line in lines} - {project["name"]}


def imported_modules() -> dict[str, str]:
    found: dict[str, str] = {}
    for file in sources():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            else:
                continue
            for name in names:
                found.setdefault(name.partition(".")[0], str(file.relative_to(ROOT)))
    return found


def test_every_import_is_a_declared_dependency() -> None:
    distributions = packages_distributions()
    undeclared = {
        module: file
        for module, file in imported_modules().items()
        if module not in sys.stdlib_module_names
        and module not in PACKAGES
        and not {canonicalize_name(name) for name in distributions.get(module, [])} & declared()
    }
    assert undeclared == {}


@pytest.mark.timeout(120)  # it reads the list of files of every package that is installed
def test_every_declared_dependency_is_used() -> None:
    distributions = packages_distributions()
    text = "\n".join(file.read_text(encoding="utf-8") for file in sources())
    words = {a or b for a, b in re.findall(r"\b(?:import|from) (\w+)|[\"'](\w+)(?=[\"':.])", text)}
    used = {canonicalize_name(name) for module in words for name in distributions.get(module, ())}
    assert declared() - used - set(NOT_IMPORTED) == set()


@pytest.mark.parametrize(
    ("name", "least"),
    [("requirements.lock", 30), ("requirements-dev.lock", 30), ("requirements-local.lock", 1)],
)
def test_lock_has_a_hash_for_each_package_and_no_address(name: str, least: int) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text
    entries = re.split(r"\n(?=[A-Za-z])", text.strip())
    assert len(entries) > least
    assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []


def test_locks_agree_and_hold_what_is_declared() -> None:
    runtime, dev = (
        dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))
        for name in ("requirements.lock", "requirements-dev.lock")
    )
    assert runtime.items() <= dev.items()
    local = (ROOT / "requirements-local.lock").read_text(encoding="utf-8")
    assert declared(without="local") <= set(runtime), "run scripts/lock"
    assert declared() <= set(runtime) | set(re.findall(r"^([\w.-]+)==", local, re.MULTILINE))


@pytest.mark.parametrize("check", [["changelog", "--check"], ["licences"]])
def test_own_check_passes(check: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / check[0], *check[1:]], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout if done.returncode else "") == (0, "")


def test_what_the_image_is_built_from_is_let_through() -> None:
    copied = re.findall(
        r"^COPY (?!--)(.+) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE
    )
    wanted = {name for names in copied for name in names.split()}
    through = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"hermes", "media", "pyproject.toml"} <= wanted
    assert wanted <= set(through)
