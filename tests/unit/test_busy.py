"""What is waited for before a turn begins."""

import pytest

from gateway.busy import BURST_PAUSE, PASTE_PAUSE, gathered, pause_for
from gateway.ledger import InboxRow
from hermes.events import Event, Sender


def row(kind: str, text: str) -> InboxRow:
    event = Event(
        platform=kind,
        instance=kind,
        account="a",
        kind=kind,  # type: ignore[arg-type]
        chat="1",
        sender=Sender("1"),
        text=text,
        dedupe_key=text,
    )
    return InboxRow(1, "t", event, "s", "main", "listed", 0.0)


LONG = "a" * 4096


@pytest.mark.parametrize(
    ("kind", "text", "mode", "pause"),
    [
        ("direct", LONG, "queue", PASTE_PAUSE),
        ("direct", "short", "queue", 0.0),
        ("direct", "short", "collect", BURST_PAUSE),
        ("terminal", LONG, "queue", 0.0),  # whatever is pasted there comes whole
        ("terminal", "short", "collect", BURST_PAUSE),
        ("api", LONG, "collect", 0.0),
    ],
)
def test_what_may_go_on_is_waited_for(kind: str, text: str, mode: str, pause: float) -> None:
    assert pause_for(row(kind, text), mode) == pause


def test_a_cut_text_joins_and_a_whole_one_does_not() -> None:
    assert gathered(row("direct", LONG), [row("direct", "the end"), row("direct", "next")], "queue") == 1
    assert gathered(row("terminal", LONG), [row("terminal", "next")], "queue") == 0
    assert (
        gathered(row("terminal", "one"), [row("terminal", "two"), row("terminal", "/stop")], "collect") == 1
    )
