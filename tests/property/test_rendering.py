"""Every document is rendered and cut for every platform: nothing fails, each piece is taken there, nothing is lost.

Pieces are judged by what the peers refuse by. `documents.py` says what is rendered.
"""

import asyncio
import re
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import cache

import pytest
from lxml.html import fragment_fromstring
from rich.cells import cell_len

from adapters.discord.render import render as render_discord
from adapters.discord.sending import message_body
from adapters.email.parse import Answers
from adapters.email.render import compose
from adapters.email.render import render as render_mail
from adapters.markdown.flat import flatten, write_flat
from adapters.markdown.live import settled
from adapters.markdown.plain import plain
from adapters.markdown.tree import parse
from adapters.slack.render import render as render_slack
from adapters.telegram.render import render as render_telegram
from gateway.cli.chat.drawn import Drawn, painter
from hermes.events import Target
from tests.peers.discord.markup import displayed as shown_on_discord
from tests.peers.discord.spec import breaches
from tests.peers.journal import Changes
from tests.peers.slack.mrkdwn import displayed as shown_on_slack
from tests.peers.slack.spec import LONGEST_TEXT, web_api
from tests.peers.telegram.methods import Methods
from tests.peers.telegram.spec import bot_api
from tests.peers.telegram.updates import UpdateQueue
from tests.peers.telegram.world import World
from tests.property.documents import first
from tests.property.test_markdown_properties import is_invisible

GENERATED, SEED = 2_000, 5
STEP = 6
"""Each platform takes one of so many documents, so that the suite stays quick; 1: all."""
_COLUMNS = 80
_SPOKEN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\")
_WORD = re.compile(r"(?<![A-Za-z])(?:words|answer|that|goes|says|less|more|foo|bar|baz)(?![A-Za-z])")
_LANGUAGE = re.compile(r"^(.*(?:`{3,}|~{3,})).*$", re.MULTILINE)
"""What stands behind a fence is no text to a terminal."""
_MARKS = str.maketrans("", "", "*_~`|>")


@cache
def documents() -> list[str]:
    return first(GENERATED, SEED)


def telegram(markdown: str) -> Iterator[str]:
    methods = _telegram_methods()
    for piece in render_telegram(markdown):
        params = {"chat_id": 5, "text": piece.text, "entities": piece.format["entities"]}
        call = bot_api().check("sendMessage", params, {})
        assert call.faults == []
        methods.run(
            "sendMessage", call
        )  # raises for what is too long, empty, or has an entity that cannot be
        yield piece.text


@cache
def _telegram_methods() -> Methods:
    world = World(UpdateQueue(asyncio.Event(), Changes()))
    world.add_chat(5)
    return Methods(world)


def discord(markdown: str) -> Iterator[str]:
    for piece in render_discord(markdown, Target("discord", "5")):
        assert breaches("POST message", message_body(piece, "k", again=True, reference="7")) == []
        yield shown_on_discord(piece.text)


def slack(markdown: str) -> Iterator[str]:
    for piece in render_slack(markdown, None, "none"):
        params = {"channel": "C1", "text": piece.format["text"]}
        assert web_api().faults("chat.postMessage", "POST", "application/json", params) == []
        assert len(str(params["text"])) <= LONGEST_TEXT["chat.update"]
        if "`" not in piece.text:  # Slack has no way to write one, so it may find a partner
            assert _unmarked(shown_on_slack(str(params["text"]))) == _unmarked(piece.text)
        yield piece.text


def mail(markdown: str) -> Iterator[str]:
    target = Target("email", "a@b.test", None, Answers("a@b.test", "Ana", "Hi", "m@x").to_json())
    for piece in render_mail(markdown, target):
        envelope = compose(target, piece, "k", ("Bot", "bot@x.test"), 0.0, again=False)
        content = b"".join(block for block in envelope.content.blocks if isinstance(block, bytes))
        read = message_from_bytes(content, policy=policy.default)
        assert isinstance(read, EmailMessage)
        rich = fragment_fromstring(str(piece.format["html"]), create_parent="div")
        assert _words(" ".join([*rich.itertext(), *map(str, rich.xpath("//@href"))])) >= _words(
            plain(markdown)
        )
        part = read.get_body(("plain",))
        assert part is not None
        yield str(part.get_content())


def bare(text: str) -> str:
    """A text without what a cut or an invisible piece may drop."""
    return text.translate({ord(char): None for char in set(text) if is_invisible(char)})


def _unmarked(text: str) -> str:
    return bare(text).translate(_MARKS)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))


def _linked(markdown: str) -> str:
    return flatten(markdown).text


def _of_slack(markdown: str) -> str:
    return write_flat(parse(markdown), link_schemes=("http", "https", "mailto", "tel")).text


@pytest.mark.parametrize(
    ("render", "text", "step"),
    [(telegram, _linked, 1), (discord, _linked, 1), (slack, _of_slack, 1), (mail, plain, 2)],
    ids=["telegram", "discord", "slack", "mail"],
)
def test_every_document_is_shown_whole_in_pieces_that_are_taken(
    render: Callable[[str], Iterator[str]], text: Callable[[str], str], step: int
) -> None:
    cut = 0
    for markdown in documents()[:: STEP * step]:
        pieces = list(render(markdown))
        cut += len(pieces) > 1
        assert all(map(bare, pieces)), markdown
        assert bare("".join(pieces)) == bare(text(markdown)), markdown
    assert cut > 2 or render is mail


def test_every_document_is_drawn_on_a_terminal_while_it_comes_in() -> None:
    paint = painter(lambda: _COLUMNS)
    for markdown in documents()[:: 2 * STEP]:
        drawn = Drawn(paint, now=lambda: 0.0)
        middle = len(markdown) // 2
        drawn.show({"type": "delta", "text": markdown[:middle]})
        below = drawn.growing(30)
        drawn.show({"type": "delta", "text": markdown[middle:]})
        drawn.show({"type": "end", "text": markdown, "usage": None})
        screen = _SPOKEN.sub("", drawn.printed())
        lines = [*screen.split("\n"), *_SPOKEN.sub("", below).split("\n")]
        assert "\x1b" not in screen
        assert all(cell_len(line) <= _COLUMNS for line in lines)
        shown = "".join(screen.split())
        if "-|" not in markdown and "-:" not in markdown:  # cells are wrapped side by side
            assert all(word in shown for word in _words(_of_slack(_LANGUAGE.sub(r"\1", markdown)))), markdown


def test_every_beginning_of_a_document_is_one_that_can_be_shown() -> None:
    for markdown in documents()[:: 6 * STEP]:
        beginning = settled(markdown[: len(markdown) // 2])
        assert markdown.startswith(beginning)
        list(telegram(beginning))
        list(discord(beginning))
