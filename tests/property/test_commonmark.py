"""The examples of the CommonMark specification on every platform: each piece is taken there, and nothing of the text is lost.

Nothing is lost: the words that a reader of an example's HTML reads appear in what is shown, in order. More may be shown, since
this dialect leaves to the text what CommonMark swallows (`adapters/markdown/dialect.py` says what); a reference such as `&ouml;`
stays as it was written and counts as the character that it names.
"""

from collections.abc import Callable, Iterator, Sequence

import pytest

from adapters.markdown.plain import plain
from tests.property.commonmark import Example, examples, words
from tests.property.judges import bare, discord, mail, slack, telegram, terminal
from tests.property.test_rendering import linked, of_slack

LIMITS = (24, 60, 200)
"""Units of a piece: each example is cut to one of them, in turn."""
TOGETHER = 40
"""So many examples make a document that no platform takes in one message."""


NO_TEXT = {161: ["c"]}
"""A fence that is inside of an HTML block there, and code here: the name of its language is shown by no text."""


def lost(wanted: Sequence[str], shown: str) -> list[str]:
    """The words that do not appear in their order."""
    rest, missing = "".join(words(shown)), []
    at = 0
    for word in wanted:
        found = rest.find(word, at)
        if found < 0:
            missing.append(word)
        else:
            at = found + len(word)
    return missing


def check(example: Example, pieces: Sequence[str], text: str) -> None:
    assert all(map(bare, pieces)), example
    assert bare("".join(pieces)) == bare(text), example
    assert lost(example.words(), " ".join(pieces)) == NO_TEXT.get(example.number, []), example


@pytest.mark.parametrize(
    ("render", "text", "least"),
    [(telegram, linked, 2), (discord, linked, 1000), (slack, of_slack, 40)],
    ids=["telegram", "discord", "slack"],
)
def test_every_example_is_taken_whole_and_cut(
    render: Callable[..., Iterator[str]], text: Callable[[str], str], least: int
) -> None:
    for example in examples():
        shown = text(example.markdown)
        check(example, list(render(example.markdown)), shown)
        limit = LIMITS[example.number % len(LIMITS)]
        if limit >= least:
            check(example, list(render(example.markdown, limit)), shown)


def test_every_example_goes_by_mail_as_text_and_as_html() -> None:
    for example in examples():
        for shown, rich in mail(example.markdown):
            check(example, [shown], plain(example.markdown))
            assert lost(example.words(), "".join(rich.itertext())) == NO_TEXT.get(example.number, []), example


def test_every_example_is_drawn_on_a_terminal() -> None:
    for example in examples():
        columns = LIMITS[example.number % len(LIMITS)]
        assert lost(example.words(), terminal(example.markdown, columns)) == NO_TEXT.get(
            example.number, []
        ), example


@pytest.mark.parametrize(("render", "text"), [(telegram, linked), (discord, linked), (slack, of_slack)])
@pytest.mark.parametrize("limit", [1000, 1999])
def test_many_examples_together_are_cut_as_they_are_alone(
    render: Callable[..., Iterator[str]], text: Callable[[str], str], limit: int
) -> None:
    found = [example.markdown for example in examples()]
    for at in range(0, len(found), TOGETHER):
        document = "\n\n".join(found[at : at + TOGETHER])
        pieces = list(render(document, limit))
        assert all(map(bare, pieces)), document
        assert bare("".join(pieces)) == bare(text(document)), document
