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


def test_TG_19_parts_that_came_before_the_caption_come_again_with_it_once() -> None:
    albums = Albums()
    first, second = replace(PART, dedupe_key="1"), replace(PART, dedupe_key="2")
    caption = replace(PART, dedupe_key="3", text="compare", addressed=True)
    assert albums.addressed([first]) == [first]
    assert albums.addressed([second, replace(PART, sender=Sender("8"))])[0] == second
    ours = [replace(part, addressed=True) for part in (first, second)]
    assert albums.addressed([caption]) == [*ours, caption]
    assert albums.addressed([caption]) == [caption]


def test_a_change_of_a_caption_begins_nothing() -> None:
    albums, changed = Albums(), replace(PART, addressed=True, edited=True)
    albums.addressed([PART])
    assert albums.addressed([changed, PART]) == [changed, PART]


def test_no_more_parts_are_remembered_than_an_album_has() -> None:
    albums = Albums()
    for number in range(50):
        albums.addressed([replace(PART, dedupe_key=str(number))])
    assert len(albums.addressed([replace(PART, addressed=True)])) == 11


def test_only_the_newest_albums_are_remembered() -> None:
    albums = Albums()
    albums.addressed([replace(PART, addressed=True, album=str(n)) for n in range(1000)])
    old, new = albums.addressed([replace(PART, album="0"), replace(PART, album="999")])
    assert isinstance(old, Event)
    assert isinstance(new, Event)
    assert (old.addressed, new.addressed) == (False, True)
