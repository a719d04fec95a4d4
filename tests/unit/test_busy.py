"""What is waited for before a turn begins."""

import itertools
from typing import Any

import pytest

from gateway.albums import albums, as_one
from gateway.busy import ALBUM_PAUSE, BURST_PAUSE, PASTE_PAUSE, gathered, pause_for
from gateway.ledger import InboxRow
from hermes.events import Attachment, Event, Sender

_IDS = itertools.count(1)


def row(kind: str, text: str, **fields: Any) -> InboxRow:
    event = Event(
        platform=kind,
        instance=kind,
        account="a",
        kind=kind,  # type: ignore[arg-type]
        text=text,
        **{"chat": "1", "sender": Sender("1"), "dedupe_key": text, **fields},
    )
    return InboxRow(next(_IDS), "t", event, "s", "main", "listed", 0.0)


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


@pytest.mark.parametrize(
    ("first", "between"),
    [
        ("a" * 4096, ""),  # cut in a word
        ("a" * 4093 + "\N{GRINNING FACE}", ""),  # the next one would not have fitted
        ("a" * 4050, "\n"),  # cut at a space, which is gone
        ("a" * 5000, "\n\n"),  # no client cuts there
    ],
)
def test_what_a_client_cut_is_one_text_again(first: str, between: str) -> None:
    parts = [row("direct", first), row("direct", "bbb"), row("direct", "next")]
    one, after = albums(parts)
    assert as_one(one).event.text == f"{first}{between}bbb"
    assert after == [parts[2]]


def test_what_was_not_cut_stays_a_message_of_its_own() -> None:
    cut = row("direct", LONG)
    assert len(albums([row("direct", "a" * 3999), row("direct", "b")])) == 2
    for other in (
        row("direct", "b", sender=Sender("2")),
        row("direct", "b", chat="2"),
        row("direct", "b", edited=True),
        row("direct", "b", album="x"),
        row("direct", "/stop"),
    ):
        assert albums([cut, other]) == [[cut], [other]]
    new = row("direct", LONG, edited=True)
    assert len(albums([new, row("direct", "b")])) == 2


# -- albums ------------------------------------------------------------------------------------------


def photo(number: int, text: str = "", *, album: str | None = "a", sender: str = "7") -> InboxRow:
    """One part of an album, under the message id `number`."""
    return row(
        "group",
        text,
        album=album,
        message_id=str(number),
        sender=Sender(sender),
        attachments=(Attachment("image", f"f{number}"),),
    )


def test_TG_19_the_parts_of_an_album_are_waited_for_and_join() -> None:
    assert pause_for(photo(31), "queue") == ALBUM_PAUSE
    assert pause_for(row("group", "/new", album="a"), "queue") == 0.0
    others = [photo(31), photo(33), photo(34, album="b")]
    assert gathered(photo(32, "compare"), others, "queue") == 2
    assert gathered(photo(32), [photo(31, sender="8"), photo(33)], "queue") == 0
    assert gathered(photo(32), [photo(31, album=None)], "queue") == 0
    assert gathered(photo(32, album=None), [photo(31, album=None)], "queue") == 0


def test_TG_19_an_album_is_one_message_in_the_platforms_order() -> None:
    (group,) = albums([photo(32, "compare"), photo(31), photo(33)])
    whole = as_one(group)
    assert whole.event.text == "compare"
    assert [file.ref for file in whole.event.attachments] == ["f31", "f32", "f33"]
    assert whole.event.message_id == "31"


def test_what_is_no_album_stays_as_it_is() -> None:
    rows = [photo(9, "a", album=None), photo(8, "b", album=None), photo(7, "c"), photo(6, "d", album="b")]
    assert albums(rows) == [[r] for r in rows]
    assert [as_one(group) for group in albums(rows)] == rows
    assert albums([]) == []
    alone = [row("direct", "x"), row("direct", "y")]
    assert albums(alone) == [[r] for r in alone]
