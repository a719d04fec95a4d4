"""What holds for any Markdown: pieces keep the limit, entities their rules, texts their characters."""

import re
import unicodedata
from collections import Counter

from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.markdown.entities import FormattedPiece, render_entities
from adapters.markdown.flat import flatten, write_flat
from adapters.markdown.plain import plain
from adapters.markdown.split import split_text, utf16_len
from adapters.markdown.tree import normalize, parse

FRAGMENTS = [
    "*", "**", "_", "__", "~~", "`", "``", "||", "[", "]", "](", "](https://x.org)", "![", "<https://y.org>",
    "\\", "> ", ">", "- ", "* ", "+ ", "1. ", "12) ", "# ", "### ", "```", "```py", "~~~", "---", "***", "|",
    "|-|-|", "|a|b|", "\n", "\n\n", "\n  ", "\n    ", " ", "  ", "\t", "&amp;", "<b>", "</b>", "(", ")",
    ".", "!", ":",
    "5", "word", "some more words", "snake_case", "__init__", "重点：", "内容。", "\U0001f3b2",
    "\U0001f468\u200d\U0001f469", "e\u0301", "\U0001f1e9\U0001f1ea", "\u200b", "\u00a0", "\r\n", "\0", "https://x.org/_a_",
]  # fmt: skip
# Our own lines, one for each corner of CommonMark where characters are easily lost.
SAMPLES = [
    "\tcode\n\n  - item\n\n\tcontinued",
    "***strong and em* strong**",
    "[link [nested](https://a.org) text](https://b.org)",
    "> quote\nlazy\n\n    code\n> - item\n>\n>   more",
    "1. a\n\n   ```sh\n   b\n   ```\n2. c\n   > d\n",
    "`` a ` b `` and `\n` and ` `",
    "- a\n-\n\n- c\n     - d",
    "~~~ x y\ncode\n```\nmore",
    "|a|b|\n|:-:|-:|\n|`x`|**y**|\n|z|\nafter",
    "# \n## x ##\n####### seven\n#no",
    "**bold `code** more`** end",
    "*a **b* c**",
    "[a]( <https://x.org/a b> 'title' ) [b](ftp://x.org) [c](javascript:x)",
    "![alt *text*](https://x.org/i.png)![](https://x.org/j.png)",
    "- > ```\n  > deep\n  > ```\n- | t |\n  |---|\n  | c |",
    "a\\\nb  \nc\\",
    "||spoiler **bold** `code` [l](https://x.org)||",
]
markdown_texts = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join),
    st.text(max_size=200),
    st.lists(st.sampled_from(SAMPLES), max_size=4).map("\n\n".join),
)
limits = st.one_of(st.integers(2, 60), st.just(4096))
HOLDS_NOTHING = {"code", "pre"}


def bare(text: str) -> str:
    """A text without what a cut or an invisible piece may drop."""
    return "".join(char for char in text if not is_invisible(char))


def is_invisible(char: str) -> bool:
    fillers = "\u2800\u3164\u115f\u1160\uffa0"
    is_selector = "\ufe00" <= char <= "\ufe0f"
    return char.isspace() or char in fillers or is_selector or unicodedata.category(char) in ("Cf", "Cc")


def check_entities(piece: FormattedPiece) -> None:
    units = piece.text.encode("utf-16-le")
    around: list[tuple[str, int]] = []
    for entity in piece.entities:
        start, end = entity.offset, entity.offset + entity.length
        covered = units[2 * start : 2 * end].decode("utf-16-le")  # fails on half a surrogate pair
        assert 0 <= start < end <= len(units) // 2
        assert covered.strip()
        assert entity.type in ("pre", "blockquote") or covered == covered.strip()
        while around and around[-1][1] <= start:
            around.pop()
        outer = [kind for kind, _ in around]
        assert not around or end <= around[-1][1], "entities overlap"
        assert not HOLDS_NOTHING & set(outer)
        assert entity.type not in outer, "an entity holds one of its own type"
        assert entity.type not in HOLDS_NOTHING or set(outer) <= {"blockquote"}
        assert (entity.url is not None) == (entity.type == "text_link")
        around.append((entity.type, end))


@settings(max_examples=600, deadline=None)
@given(markdown_texts, limits)
@example("a\u0301" * 40, 3)
@example("> ```*\n*", 4096)
@example("> ```\n>  y\n>```\n>@", 4096)
@example("> ```\n> x\n>\n>  \n> ```", 4096)
def test_pieces_keep_the_limit_and_the_text(markdown: str, limit: int) -> None:
    pieces = render_entities(markdown, limit)
    whole = flatten(markdown).text
    for piece in pieces:
        assert utf16_len(piece.text) <= limit
        assert bare(piece.text)
        assert piece.text in whole
        check_entities(piece)
    assert bare("".join(piece.text for piece in pieces)) == bare(whole)


@settings(max_examples=400, deadline=None)
@given(markdown_texts)
def test_no_letter_or_figure_is_lost(markdown: str) -> None:
    flat = flatten(markdown)
    attributes = "".join((span.url or "") + (span.language or "") for span in flat.spans)
    kept = Counter(filter(str.isalnum, flat.text + attributes))
    titled = re.search(r"\]\(\s*<|\]\([^)]*\s|%", markdown)  # titles and encoded addresses are not shown
    assert titled or Counter(filter(str.isalnum, normalize(markdown))) <= kept


@settings(max_examples=400, deadline=None)
@given(markdown_texts)
def test_the_short_way_for_prose_shows_the_same(markdown: str) -> None:
    assert flatten(markdown).text.strip() == write_flat(parse(markdown)).text.strip()


@settings(max_examples=200, deadline=None)
@given(
    st.text(
        alphabet=st.characters(categories=["L", "N", "Zs"], include_characters=",.;:?'\"()/&%\n"),
        max_size=300,
    )
)
def test_prose_without_marks_is_its_own_rendering(prose: str) -> None:
    pieces = render_entities(prose)
    lines = re.findall(r"[^ \t\n](?:.*[^ \t\n])?", prose)
    assert bare("".join(piece.text for piece in pieces)) == bare("".join(lines))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=300), st.integers(2, 80))
def test_splitting_loses_white_space_beside_cuts_alone(text: str, limit: int) -> None:
    pieces = split_text(text, limit)
    assert all(bare(piece) and utf16_len(piece) <= limit for piece in pieces)
    assert bare("".join(pieces)) == bare(text)


@settings(max_examples=200, deadline=None)
@given(markdown_texts)
def test_plain_text_has_every_address(markdown: str) -> None:
    shown = plain(markdown)
    assert all(span.url in shown for span in flatten(markdown).spans if span.url)
