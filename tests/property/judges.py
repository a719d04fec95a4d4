"""What each platform takes of a Markdown text: its pieces, judged by what the peers refuse by, as people see them."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import cache
from typing import Any

from lxml.html import HtmlElement, fragment_fromstring
from rich.cells import cell_len

from adapters.discord.render import render as render_discord_reply
from adapters.discord.sending import message_body
from adapters.email.head import Answers
from adapters.email.render import compose
from adapters.email.render import render as render_mail
from adapters.markdown.discord import render_discord
from adapters.markdown.entities import render_entities
from adapters.markdown.literal import MOST
from adapters.markdown.mrkdwn import render_mrkdwn
from adapters.slack.render import render as render_slack_reply
from adapters.telegram.render import render as render_telegram_reply
from gateway.cli.chat.drawn import Drawn, painter
from hermes.adapter import Piece
from hermes.events import Target
from tests.peers.discord.markup import displayed as shown_on_discord
from tests.peers.discord.spec import breaches
from tests.peers.journal import Changes
from tests.peers.slack.mrkdwn import displayed as shown_on_slack
from tests.peers.slack.spec import LONGEST_TEXT, web_api
from tests.peers.telegram.entities import units
from tests.peers.telegram.methods import Methods
from tests.peers.telegram.spec import bot_api
from tests.peers.telegram.updates import UpdateQueue
from tests.peers.telegram.world import World
from tests.property.test_markdown_properties import is_invisible

_SPOKEN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\")
_LINK = re.compile(r"https?://|<(?:mailto|tel):")
_MARKS = str.maketrans("", "", "*＊_＿~`｀\u02cb|>")


def telegram(markdown: str, limit: int | None = None) -> Iterator[str]:
    for text, entities in _telegram_pieces(markdown, limit):
        call = bot_api().check("sendMessage", {"chat_id": 5, "text": text, "entities": entities}, {})
        assert call.faults == []
        # Raises for what is too long, empty, or has an entity that cannot be.
        _telegram_methods().run("sendMessage", call)
        assert units(text) <= (limit or 4096)
        yield text


def _telegram_pieces(markdown: str, limit: int | None) -> Iterator[tuple[str, Any]]:
    if limit is None:
        yield from ((piece.text, piece.format["entities"]) for piece in render_telegram_reply(markdown))
        return
    for piece in render_entities(markdown, limit):
        entities = [{k: v for k, v in asdict(e).items() if v is not None} for e in piece.entities]
        yield piece.text, entities


@cache
def _telegram_methods() -> Methods:
    world = World(UpdateQueue(asyncio.Event(), Changes()))
    world.add_chat(5)
    return Methods(world)


def discord(markdown: str, limit: int | None = None) -> Iterator[str]:
    for piece in _discord_pieces(markdown, limit):
        assert breaches("POST message", message_body(piece, "k", again=limit is None, reference="7")) == []
        assert units(piece.text) <= (limit or 2000)
        yield shown_on_discord(piece.text)


def _discord_pieces(markdown: str, limit: int | None) -> Sequence[Piece]:
    if limit is None:
        return render_discord_reply(markdown, Target("discord", "5"))
    return [Piece(text, {}) for text in render_discord(markdown, limit)]


def slack(markdown: str, limit: int | None = None) -> Iterator[str]:
    for text, source in _slack_pieces(markdown, limit):
        params = {"channel": "C1", "text": source}
        assert web_api().faults("chat.postMessage", "POST", "application/json", params) == []
        assert units(source) <= (limit or LONGEST_TEXT["chat.update"])
        if source.count("<!date") < MOST:  # else marks may be left that make pairs
            shown = shown_on_slack(source)
            assert _unmarked(shown) == _unmarked(text)
            assert limit or _LINK.search(source) or bare(shown) == bare(text)
        yield text


def _slack_pieces(markdown: str, limit: int | None) -> list[tuple[str, str]]:
    if limit is None:
        return [(p.text, str(p.format["text"])) for p in render_slack_reply(markdown, None, "none")]
    return [(piece.text, piece.source) for piece in render_mrkdwn(markdown, limit)]


def _unmarked(text: str) -> str:
    return bare(text).translate(_MARKS)


def mail(markdown: str) -> Iterator[tuple[str, HtmlElement]]:
    """The plain text of each mail, and its HTML."""
    target = Target("email", "a@b.test", None, Answers("a@b.test", "Ana", "Hi", "m@x").to_json())
    for piece in render_mail(markdown, target):
        envelope = compose(target, piece, "k", ("Bot", "bot@x.test"), 0.0, again=False)
        content = b"".join(block for block in envelope.content.blocks if isinstance(block, bytes))
        assert all(len(line) <= 998 for line in content.split(b"\r\n"))  # RFC 5322, section 2.1.1
        read = message_from_bytes(content, policy=policy.default)
        assert isinstance(read, EmailMessage)
        part = read.get_body(("plain",))
        assert part is not None
        rich = fragment_fromstring(str(piece.format["html"]), create_parent="div")
        yield str(part.get_content()), rich


def terminal(markdown: str, columns: int) -> str:
    """What stands on a terminal in the end, drawn while it comes in."""
    drawn = Drawn(painter(lambda: columns), now=lambda: 0.0)
    middle = len(markdown) // 2
    drawn.show({"type": "delta", "text": markdown[:middle]})
    below = drawn.growing(30)
    drawn.show({"type": "delta", "text": markdown[middle:]})
    drawn.show({"type": "end", "text": markdown, "usage": None})
    screen = _SPOKEN.sub("", drawn.printed())
    assert "\x1b" not in screen
    lines = [*screen.split("\n"), *_SPOKEN.sub("", below).split("\n")]
    assert all(cell_len(line) <= columns for line in lines)
    return screen


def bare(text: str) -> str:
    """A text without what a cut or an invisible piece may drop."""
    return text.translate({ord(char): None for char in set(text) if is_invisible(char)})
