"""Asking before something is taken away, on a terminal and without one."""

import os
import sys
from collections.abc import Iterator
from io import StringIO

import pytest

from gateway.cli.consent import ensure_agreed
from hermes.errors import HermesError


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """What is typed at the terminal that stdin is."""
    keys, terminal = os.openpty()
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield keys
    os.close(keys)


def test_yes_goes_on(keyboard: int, capsys: pytest.CaptureFixture[str]) -> None:
    os.write(keyboard, b"y\n")
    ensure_agreed("Delete it?", "Add --yes.")
    assert "Delete it? [y/N]" in capsys.readouterr().out


@pytest.mark.parametrize("typed", [b"n\n", b"\n", b"\x04"], ids=["no", "nothing", "end"])
def test_anything_else_changes_nothing(keyboard: int, typed: bytes) -> None:
    os.write(keyboard, typed)
    with pytest.raises(HermesError, match=r"^Nothing was changed\.$"):
        ensure_agreed("Delete it?", "Add --yes.")


def test_without_a_terminal_the_way_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("y\n"))
    with pytest.raises(HermesError, match=r"^Add --yes\.$"):
        ensure_agreed("Delete it?", "Add --yes.")
