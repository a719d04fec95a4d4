"""Files inside the workspace, and only there.

A path is resolved first; then the result is walked one part at a time from a directory descriptor, each part
opened without following links. So nothing that changes between the check and the use leads outside
(openat(2), O_NOFOLLOW). Files of the home itself are refused wherever the workspace lies.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hermes.errors import ToolError
from hermes.services import Services

__all__ = ["Place", "home_of", "locate", "open_folder", "open_regular", "out_of_bounds"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KERNEL = (Path("/proc"), Path("/sys"))
"""No files, but views of processes and devices; /proc/self/environ shows our own secrets."""


class Place:
    """A resolved place in the workspace: `parts` below `root`. `shown` is how the model names it."""

    def __init__(self, root: Path, parts: tuple[str, ...]) -> None:
        self.root = root
        self.parts = parts

    @property
    def shown(self) -> str:
        return "/".join(self.parts) or "."

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.parts)


def home_of(services: Services) -> Path:
    """The home: the spills lie directly in it; tools are told no more about it."""
    return services.spills.parent.resolve()


def locate(workspace: Path, asked: str, services: Services) -> Place:
    """Where `asked` lies, links resolved.

    Raises `ToolError` when that is outside of the workspace, or in the home but not in its workspace.
    """
    if "\0" in asked:
        raise ToolError("A path cannot hold a NUL character.")
    try:
        root = workspace.resolve()
        target = (root / Path(asked).expanduser()).resolve()
    except (OSError, RuntimeError) as error:
        raise ToolError(f"{asked}: {_why(error)}.") from error
    if not target.is_relative_to(root):
        raise ToolError(f"{asked} is outside of the workspace; only files in {root} can be used.")
    place = Place(root, target.relative_to(root).parts)
    if any(target.is_relative_to(view) for view in _KERNEL):
        raise ToolError(f"{place.shown} belongs to the system's kernel; such files cannot be used.")
    home = home_of(services)
    if target.is_relative_to(home) and not target.is_relative_to(home / "workspace"):
        raise ToolError(f"{place.shown} belongs to Hermes itself; such files cannot be used.")
    return place


def out_of_bounds(place: Place, services: Services) -> list[str]:
    """What below the folder a walk passes over, relative to it."""
    return [
        str(path.relative_to(place.path))
        for path in (home_of(services), *_KERNEL)
        if path != place.path and path.is_relative_to(place.path)
    ]


@contextmanager
def open_folder(place: Place, *, up_to: int | None = None, make: bool = False) -> Iterator[int]:
    """A descriptor of the folder that the first `up_to` parts name (all by default). Raises `ToolError`."""
    descriptor = -1
    try:
        if make:
            place.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(place.root, _FOLDER)
        for part in place.parts[:up_to]:
            descriptor = _step(descriptor, part, make=make)
        yield descriptor
    except OSError as error:
        raise ToolError(f"{place.shown}: {_why(error)}.") from error
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _step(parent: int, part: str, *, make: bool) -> int:
    """The descriptor of `part` in `parent`, which is closed when that works."""
    if make:
        with suppress(FileExistsError):
            os.mkdir(part, 0o755, dir_fd=parent)
    child = os.open(part, _FOLDER, dir_fd=parent)
    os.close(parent)
    return child


@contextmanager
def open_regular(place: Place) -> Iterator[int]:
    """A descriptor of a regular file for reading; FIFOs, devices and folders are refused without waiting."""
    if not place.parts:
        raise ToolError(f"{place.shown} is a folder.")
    with open_folder(place, up_to=-1) as folder:
        descriptor = os.open(place.parts[-1], _FILE, dir_fd=folder)
        try:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                raise ToolError(f"{place.shown} is a folder; search_files lists it.")
            if not stat.S_ISREG(mode):
                raise ToolError(f"{place.shown} is no regular file.")
            yield descriptor
        finally:
            os.close(descriptor)


def _why(error: BaseException) -> str:
    code = getattr(error, "errno", None)
    sentences = {
        errno.ENOENT: "there is no such file",
        errno.ENOTDIR: "a part of the path is no folder",
        errno.ELOOP: "a link in the path cannot be followed",
        errno.ENXIO: "it is no regular file",
        errno.EACCES: "permission is denied",
        errno.ENAMETOOLONG: "the name is too long",
        errno.ENOSPC: "the disk is full",
    }
    return sentences.get(code or 0) or getattr(error, "strerror", None) or str(error)
