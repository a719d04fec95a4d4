from dataclasses import replace

from adapters.telegram.albums import Albums
from hermes.events import Event, Ignored, Parsed, Sender

PART = Event(
    platform="telegram", instance="t", account="1", kind="group", chat="-1", sender=Sender("7"), text="",
    dedupe_key="k", addressed=False, album="a",
)  # fmt: skip


def test_TG_19_what_speaks_to_us_in_one_part_does_so_in_all() -> None:
    albums, called = Albums(), replace(PART, addressed=True)
    items: list[Parsed] = [
        PART,
        Ignored("x"),
        called,
        replace(PART, album=None),
        replace(PART, sender=Sender("8")),
    ]
    assert albums.addressed(items) == [called, Ignored("x"), called, *items[3:]]
    assert albums.addressed([PART, replace(PART, chat="-2")]) == [called, replace(PART, chat="-2")]


def test_only_the_newest_albums_are_remembered() -> None:
    albums = Albums()
    albums.addressed([replace(PART, addressed=True, album=str(n)) for n in range(1000)])
    old, new = albums.addressed([replace(PART, album="0"), replace(PART, album="999")])
    assert isinstance(old, Event)
    assert isinstance(new, Event)
    assert (old.addressed, new.addressed) == (False, True)
