"""Every document is rendered and cut for every platform: nothing fails, each piece is taken there, nothing is lost.

`judges.py` says what is taken, `documents.py` what is rendered. By default each platform takes one of six documents;
`scripts/test --all tests/property/test_rendering.py` takes them all.
"""

import os
import re
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from adapters.markdown.flat import flatten, write_flat
from adapters.markdown.live import settled
from adapters.markdown.plain import plain
from adapters.markdown.tree import parse
from tests.property.documents import first
from tests.property.judges import bare, discord, mail, slack, telegram, terminal

GENERATED, SEED = 2_000, 5
ALL = "TEST_ALL" in os.environ
_WORD = re.compile(r"(?<![A-Za-z])(?:words|answer|that|goes|says|less|more|foo|bar|baz)(?![A-Za-z])")
_LANGUAGE = re.compile(r"^(.*(?:`{3,}|~{3,})).*$", re.MULTILINE)
"""What stands behind a fence is no text to a terminal."""


@cache
def documents() -> list[str]:
    return first(GENERATED, SEED)


def some(step: int) -> list[str]:
    """One of so many documents, so that the suite stays quick; all where everything is asked for."""
    return documents()[:: 1 if ALL else step]


def mailed(markdown: str) -> Iterator[str]:
    for text, rich in mail(markdown):
        assert _words(" ".join([*rich.itertext(), *map(str, rich.xpath("//@href"))])) >= _words(
            plain(markdown)
        )
        yield text


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))


def linked(markdown: str) -> str:
    return flatten(markdown).text


def of_slack(markdown: str) -> str:
    return write_flat(parse(markdown), link_schemes=("http", "https", "mailto", "tel")).text


@pytest.mark.timeout(600)  # all of them
@pytest.mark.parametrize(
    ("render", "text", "step"),
    [(telegram, linked, 6), (discord, linked, 6), (slack, of_slack, 6), (mailed, plain, 12)],
    ids=["telegram", "discord", "slack", "mail"],
)
def test_every_document_is_shown_whole_in_pieces_that_are_taken(
    render: Callable[[str], Iterator[str]], text: Callable[[str], str], step: int
) -> None:
    cut = 0
    for markdown in some(step):
        pieces = list(render(markdown))
        cut += len(pieces) > 1
        assert all(map(bare, pieces)), markdown
        assert bare("".join(pieces)) == bare(text(markdown)), markdown
    assert cut > 2 or render is mailed


@pytest.mark.timeout(600)
def test_every_document_is_drawn_on_a_terminal_while_it_comes_in() -> None:
    for markdown in some(12):
        shown = "".join(terminal(markdown, 80).split())
        if "-|" not in markdown and "-:" not in markdown:  # cells are wrapped side by side
            assert all(word in shown for word in _words(of_slack(_LANGUAGE.sub(r"\1", markdown)))), markdown


@pytest.mark.timeout(600)
def test_every_beginning_of_a_document_is_one_that_can_be_shown() -> None:
    for markdown in some(36):
        beginning = settled(markdown[: len(markdown) // 2])
        assert markdown.startswith(beginning)
        list(telegram(beginning))
        list(discord(beginning))
