"""What the command line shows: pure parts."""

import re

import pytest
from rich.cells import cell_len

from gateway.cli import COMMANDS, main
from gateway.cli.chat.drawn import Drawn, painter
from gateway.cli.chat.text import clean, closed, split_done
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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a **bo", "a **bo**"),
        ("a **bold*", "a **bold**"),
        ("a *it", "a *it*"),
        ("a **b *c", "a **b *c***"),
        ("run `ls", "run `ls`"),
        ("run `a*b", "run `a*b`"),
        ("see [the do", "see the do"),
        ("see [the docs](http://x", "see the docs"),
        ("text\n-", "text\n"),
        ("text\n``", "text\n"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("```\na ** b", "```\na ** b"),
        ("whole **bold** and `code`", "whole **bold** and `code`"),
        ("snake_case_name", "snake_case_name"),
    ],
)
def test_no_half_mark_is_drawn(text: str, shown: str) -> None:
    assert closed(text).rstrip(" ") == shown.rstrip(" ")


def _drawn(columns: int = 40) -> Drawn:
    return Drawn(painter(lambda: columns), now=lambda: 0.0)


def test_a_block_is_printed_once_and_only_the_last_one_is_drawn_anew() -> None:
    drawn = _drawn()
    printed = ""
    for piece in ("one\n", "\nt", "wo\n\n", "thr", "ee"):
        drawn.show({"type": "delta", "text": piece})
        printed += drawn.printed()
    assert [line.rstrip() for line in printed.splitlines() if line.strip()] == ["one", "two"]
    assert "three" in drawn.growing(10)
    assert "one" not in drawn.growing(10)
    usage = {"prompt": 12, "completion": 3}
    drawn.show({"type": "end", "state": "answered", "text": "one\n\ntwo\n\nthree", "usage": usage})
    assert [clean_line(line) for line in drawn.printed().splitlines() if line.strip()] == [
        "three",
        "0.0 s · 12 + 3 tokens",
    ]


def clean_line(line: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", line).rstrip()


@pytest.mark.parametrize("columns", [2, 20, 200])
def test_what_grows_is_never_higher_than_its_room_nor_wider_than_the_terminal(columns: int) -> None:
    drawn = _drawn(columns)
    drawn.show({"type": "tool", "emoji": "🔧", "summary": "读取文件 " * 9, "name": "read"})
    drawn.show({"type": "delta", "text": "漢字と絵文字🙂 " * 50})
    lines = drawn.growing(7).splitlines()
    assert len(lines) <= 7
    assert all(cell_len(clean_line(line)) <= columns for line in lines)


def test_a_line_stays_a_line() -> None:
    drawn = _drawn()
    text = "What you can send me:\n/help - what\n/new - begin\n"
    drawn.show({"type": "end", "state": "answered", "text": text})
    assert [line.rstrip() for line in drawn.printed().splitlines()] == [
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
        "telegram": {"state": "failed", "reason": "unauthorized", "setting": "token"},
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
    assert lines[1].startswith("  telegram  failed: unauthorized (The platform refused its credentials.")
    assert "`hermes config set platforms.telegram.token`, which asks" in lines[1]
    told = {
        **STATUS,
        "platforms": {"x": {"state": "failed", "reason": "unauthorized", "told": "X said no (401)."}},
    }
    assert (
        describe(told)[1] == "  x  failed: unauthorized (X said no (401). Then `hermes gateway restart`)"
    ), "no setting is to blame"
    assert lines[2] == "  api       connected"
    assert lines[-3:] == [
        "Warning: nothing is taken: The disk is full.",
        "Warning: The configuration was not reloaded, the old one stays: line 3",
        "Warning: a literal key",
    ]


@pytest.mark.parametrize(
    ("cost", "told"), [(1.25, " 4,560 out, $1.2500."), (None, " 4,560 out."), (0, " 4,560 out, $0.0000.")]
)
def test_status_says_what_today_has_used(cost: float | None, told: str) -> None:
    today = {"calls": 12, "prompt": 34567, "cached": 1000, "completion": 4560, "cost": cost}
    lines = describe({**STATUS, "usage": {"today": today}})
    assert f"Today: 12 model calls, 34,567 tokens in (1,000 cached),{told}" in lines
    assert not any(line.startswith("Today") for line in describe({**STATUS, "usage": {"today": None}}))


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


def test_tags_and_footnotes_of_an_answer_are_drawn() -> None:
    drawn = _drawn()
    drawn.show(
        {"type": "delta", "text": "a List<int> and <div>\n\n<p>\n*x*\n</p>\n\n[1]: http://x.test\n\nmore"}
    )
    shown = re.sub(r"\x1b\[[0-9;]*m", "", drawn.printed())
    for part in ("List<int>", "<div>", "<p>", "[1]: http://x.test"):
        assert part in shown


def test_the_numbers_of_a_list_are_its_authors() -> None:
    drawn = _drawn()
    years = "1986. a\n1990. b\n1991. c\n\n   0) d\n   0) e\n"
    drawn.show({"type": "end", "text": years, "usage": None})
    shown = re.sub(r"\x1b\[[0-9;]*m", "", drawn.printed()).split()
    assert shown == ["1986", "a", "1990", "b", "1991", "c", "0", "d", "0", "e"]
