"""What every command's output shares: plain tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

__all__ = ["AsJson", "json_text", "new_app", "print_json", "print_table", "when"]

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


def new_app(text: str, *, group: bool = True) -> typer.Typer:
    """A command line; with `group`, help is shown when no command is given."""
    return typer.Typer(
        help=text,
        no_args_is_help=group,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


def print_json(value: object) -> None:
    """One JSON document."""
    print(json_text(value, indent=2))


def json_text(value: object, *, indent: int | None = None) -> str:
    """The same as text for stdout, which may be able to show ASCII alone."""
    plain = "utf" not in (sys.stdout.encoding or "").lower()
    return json.dumps(value, ensure_ascii=plain, indent=indent, default=str)


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns of text; line ends and control characters in cells are shown as spaces."""
    cells = [list(head), *([_cell(c) for c in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for row in cells:
        print("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip())


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return "".join(c if c.isprintable() else " " for c in text)


def when(seconds: float | None) -> str:
    """A time of the epoch in the machine's own zone."""
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M") if seconds else ""
