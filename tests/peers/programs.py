"""Peers as programs of their own, for tests and benches that must not share a loop with what they measure."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
_SECONDS_TO_END = 10


@contextmanager
def peer_program(name: str, *arguments: str) -> Iterator[str]:
    """Run `python -m tests.peers.NAME` and give its address; it is ended with SIGTERM on the way out."""
    command: Sequence[str] = (sys.executable, "-m", f"tests.peers.{name}", *arguments)
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            if not address:
                raise RuntimeError(
                    f"the {name} peer ended with {process.wait(_SECONDS_TO_END)} before it listened"
                )
            yield address
        finally:
            process.terminate()
            try:
                process.wait(_SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
