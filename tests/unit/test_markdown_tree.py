"""The tree that renderers start from, and the time that hostile input takes."""

import time

import pytest

from adapters.markdown.dialect import parser
from adapters.markdown.entities import render_entities
from adapters.markdown.nodes import (
    Code,
    CodeBlock,
    Heading,
    Item,
    Link,
    List,
    Paragraph,
    Quote,
    Rule,
    Styled,
    Table,
    Text,
)
from adapters.markdown.tree import MAX_LINES, parse

SIZE = 30_000


def test_a_document_becomes_blocks_that_know_their_distance() -> None:
    tree = parse("# H\ntext `c`\n\n\n> q\n***\n- a\n\n- b\n\n```py\nx\n```\n|h|\n|-|\n|c|")
    assert tree == (
        Heading(1, (Text("H"),)),
        Paragraph((Text("text "), Code("c"))),
        Quote((Paragraph((Text("q"),)),), gap=2),
        Rule("***"),
        List((Item("-", (Paragraph((Text("a"),)),)), Item("-", (Paragraph((Text("b"),)),), gap=1))),
        CodeBlock("x", "py", gap=1),
        Table(("",), (((Text("h"),),), ((Text("c"),),))),
    )


def test_inlines_nest() -> None:
    tree = parse("**a [b](https://x.org)** ![c](https://y.org)")
    link = Link("https://x.org", (Text("b"),))
    image = Link("https://y.org", (Text("c"),), is_image=True)
    assert tree == (Paragraph((Styled("bold", (Text("a "), link)), Text(" "), image)),)


def test_the_parser_is_built_once() -> None:
    assert parser() is parser()


def test_a_text_of_too_many_lines_is_shown_as_it_is() -> None:
    text = "\n".join(["- a"] * (MAX_LINES + 2))
    assert parse(text) == (Paragraph((Text(text),)),)


@pytest.mark.parametrize("mark", ["> ", "- ", "1. ", "> - "])
def test_marks_that_are_nested_too_deep_are_text(mark: str) -> None:
    text = "".join(piece.text for piece in render_entities(mark * 60 + "word"))
    assert text.endswith(mark * 40 + "word")


def test_styles_that_are_nested_too_deep_keep_their_marks() -> None:
    deep = "*_" * 60 + "word" + "_*" * 60
    (piece,) = render_entities(deep)
    assert "word" in piece.text
    assert "*_" in piece.text


HOSTILE = {
    unit: (unit * (SIZE // len(unit) + 1))[:SIZE]
    for unit in (
        "[", "](", "[](", "[a](", "![", "![[", "[a](http://b) ", "![a](http://b)", "*[", "[`", "> ", ">",
        "> a\n",
        "*", "**", "**a ", "*a **", "_a __", "*a_", "a*", "*_", "*a* `b` ", "~~", "||", "||a ", "||a|| ", "`",
        "`a``", "- ", "1. ", "- a\n", "  - a\n", "- - - a\n", "> - ", "# a\n", "* a **b** _c_\n", "```\n",
        "---\n",
        "|", "| a ", "a|b\n-|-\n", "<", "<a", "<http://a>", "&amp;", "\\", "\\[", "\n", " ", "\t", " \n",
        "a\n\n",
        "a", "a\u0301", "\u0301", "\U0001f1e9", "\U0001f3b2", "\u200d", "http://a", "x_y_",
    )
} | {
    "brackets, then ends": "[" * 50_000 + "](http://a)" * 4_500,
    "nested links": "[" * 3_000 + "a" + "](http://a)" * 3_000,
    "nested emphasis": "*" * 50_000 + "a" + "*" * 50_000,
    "mixed emphasis": "*_" * 25_000 + "a" + "_*" * 25_000,
    "growing lists": "".join("  " * depth + "- a\n" for depth in range(440)),
    "growing ticks": "".join("`" * count + "a" for count in range(440)),
    "one huge cell": "|a|b|\n|-|-|\n|" + "x" * 50_000 + "|\n" + "|a|b|\n" * 8_000,
    "many columns": "|a" * 20_000 + "|\n" + "|-" * 20_000 + "|\n" + "|x\n" * 5,
    "blanks in code": "```\n" + " " * 90_000 + "x\n```",
}  # fmt: skip


@pytest.mark.parametrize("limit", [100, 4096])
@pytest.mark.parametrize("name", HOSTILE)
def test_TG_06_hostile_input_is_read_in_reasonable_time(name: str, limit: int) -> None:
    began = time.process_time()
    pieces = render_entities(HOSTILE[name], limit)
    assert time.process_time() - began < 12  # a square of the length would take a minute
    assert all(len(piece.text.encode("utf-16-le")) <= 2 * limit for piece in pieces)
    # No mark may inflate a text: what is shown is about as long as what was written.
    assert sum(len(piece.text) for piece in pieces) < 4 * max(SIZE, len(HOSTILE[name]))
