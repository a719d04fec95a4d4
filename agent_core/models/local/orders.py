"""What parent and child tell each other: one line of JSON each way over stdin and stdout.

Not by arguments or environment, since both can be read by other users of the machine.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

__all__ = ["Orders", "memory_for"]

_GIB = 1024**3


@dataclass(frozen=True, slots=True)
class Orders:
    """What the child serves. `memory`: bytes of address space. `parent`: the process id it must not outlive."""

    model_file: str
    name: str
    key: str = field(repr=False)
    parent: int
    context: int
    threads: int
    memory: int

    def line(self) -> bytes:
        """One line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes | str) -> Orders:
        """The inverse of `line`. Raises `ValueError`, `TypeError`."""
        return cls(**json.loads(line))


def memory_for(model_file: Path) -> int:
    """Address space for a model: the file is mapped, parts of it are copied, the rest is context. Blocks."""
    return 2 * model_file.stat().st_size + _GIB
