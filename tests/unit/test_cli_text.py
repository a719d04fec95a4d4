"""What the command line shows: pure parts."""

import pytest

from gateway.cli import COMMANDS, main
from gateway.cli.chat.text import clean, split_done
from gateway.cli.chat.view import Drawn
from gateway.cli.output import print_table
from gateway.cli.status import describe, failures


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("one", ""),
        ("one\n", ""),
        ("one\n\n", ""),  # an indented line may follow and belong to it
        ("one\n\ntwo", "one\n\n"),
        ("one\n \n\ntwo\n\nth", "one\n \n\ntwo\n\n"),
        ("- a\n\n  more of a\n\n- b", "- a\n\n  more of a\n\n"),
        ("```\na\n\nb", ""),
        ("```\na\n\nb\n```\n\nc", "```\na\n\nb\n```\n\n"),
        ("````\n```\n\nb\n", ""),
        ("~~~\n```\n\nb", ""),
        ("x\n\n```py\na\n\nb", "x\n\n"),
    ],
)
def test_only_blocks_that_cannot_change_are_done(text: str, done: str) -> None:
    assert split_done(text) == (done, text[len(done) :])


def test_a_line_stays_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    Drawn()._print("What you can send me:\n/help - what\n/new - begin\n")
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "What you can send me:",
        "/help - what",
        "/new - begin",
    ]


def test_nothing_that_steers_a_terminal_gets_through() -> None:
    assert clean("a\x1b[2Jb\x9bc\x07\r\n\td\x7fé") == "a[2Jbc\n\tdé"


STATUS = {
    "pid": 7,
    "version": "1.0",
    "uptime": 7200.0,
    "url": "http://127.0.0.1:1",
    "ready": False,
    "reason": "The disk is full.",
    "platforms": {
        "telegram": {"state": "failed", "reason": "unauthorized"},
        "api": {"state": "connected", "reason": None},
    },
    "settings": {
        "error": "The configuration was not reloaded, the old one stays: line 3",
        "warnings": ["a literal key"],
        "restart_needed": None,
    },
}


def test_only_platforms_that_gave_up_are_failures() -> None:
    (said,) = failures(STATUS)
    assert said.startswith("telegram has failed: unauthorized (")


def test_status_says_what_is_wrong_and_what_to_do() -> None:
    lines = describe(STATUS)
    assert lines[0] == "Hermes 1.0 runs as process 7, up 2.0 h, at http://127.0.0.1:1."
    assert lines[1].startswith("  telegram  failed: unauthorized (the platform refused its credentials")
    assert "hermes config set platforms.telegram" in lines[1]
    assert lines[2] == "  api       connected"
    assert lines[-3:] == [
        "Warning: nothing is taken: The disk is full.",
        "Warning: The configuration was not reloaded, the old one stays: line 3",
        "Warning: a literal key",
    ]


def test_tables_keep_strange_names_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("A", "B"), [("x\ny\x1b", None), ("longer", 3)])
    assert capsys.readouterr().out == "A       B\nx y\nlonger  3\n"


def test_every_command_can_be_loaded() -> None:
    from importlib import import_module

    for spec, text in COMMANDS.values():
        module, _, name = spec.partition(":")
        assert callable(getattr(import_module(module), name))
        assert text.endswith(".")


def test_usage_errors_are_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nonsense"]) == 2
    assert main(["--help"]) == 0
    assert main(["config", "nonsense"]) == 2
