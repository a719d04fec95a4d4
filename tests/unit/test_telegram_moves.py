"""Groups that became supergroups."""

from typing import Any

import pytest

from adapters.telegram.moves import Moves
from hermes.events import Deleted, Event, Ignored, Sender

OLD, NEW = -500, -100777
SAID = Event(
    platform="telegram", instance="t", account="1", kind="group", chat=str(NEW), sender=Sender("7"), text="hi",
    dedupe_key="k",
)  # fmt: skip


def service(chat: object, **fields: Any) -> dict[str, Any]:
    return {"update_id": 1, "message": {"message_id": 1, "chat": {"id": chat}, **fields}}


@pytest.mark.parametrize(
    "update", [service(OLD, migrate_to_chat_id=NEW), service(NEW, migrate_from_chat_id=OLD)]
)
def test_TG_25_the_conversation_goes_on_under_its_first_id(update: dict[str, Any]) -> None:
    moves = Moves()
    assert moves.placed(SAID) == SAID
    assert moves.learn([update])
    for known in (moves, Moves.from_text(moves.to_text())):
        placed = known.placed(SAID)
        assert isinstance(placed, Event)
        assert (placed.session, placed.chat) == (str(OLD), str(NEW))


def test_nothing_else_is_placed_elsewhere() -> None:
    moves = Moves({str(NEW): str(OLD)})
    for item in (Ignored("x"), Deleted(str(NEW), "1")):
        assert moves.placed(item) == item


@pytest.mark.parametrize(
    "update",
    [
        None,
        7,
        {"message": 7},
        {"message": {"chat": 7, "migrate_to_chat_id": NEW}},
        service(OLD),
        service(OLD, migrate_to_chat_id="x"),
        service(None, migrate_to_chat_id=NEW),
        service(True, migrate_to_chat_id=NEW),
    ],
)
def test_other_updates_tell_of_no_move(update: object) -> None:
    moves = Moves()
    assert not moves.learn([update])
    assert moves.to_text() == "{}"


@pytest.mark.parametrize("text", [None, "", "x", "[1]", "7", "{", "null"])
def test_other_text_tells_of_none(text: str | None) -> None:
    assert Moves.from_text(text).to_text() == "{}"


def test_the_oldest_of_very_many_are_forgotten() -> None:
    moves = Moves()
    moves.learn([service(-n, migrate_to_chat_id=-1000 - n) for n in range(1, 2000)])
    assert len(moves.to_text()) < 30_000
    assert '"-2999":"-1999"' in moves.to_text()
