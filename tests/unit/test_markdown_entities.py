"""Markdown as text with entities: what is shown, which stretches are marked, how long texts are cut."""

import pytest

from adapters.markdown.entities import MAX_ENTITIES, Entity, FormattedPiece, render_entities
from adapters.markdown.split import utf16_len
from tests.growth import assert_linear


def shown(markdown: str) -> str:
    """The text of a reply that fits one message."""
    (piece,) = render_entities(markdown)
    return piece.text


def marked(markdown: str) -> list[tuple[str, str]]:
    """Each entity of a one-message reply with the text it covers."""
    (piece,) = render_entities(markdown)
    return [(entity.type, covered(piece, entity)) for entity in piece.entities]


def covered(piece: FormattedPiece, entity: Entity) -> str:
    units = piece.text.encode("utf-16-le")
    return units[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")


def test_TG_01_emoji_are_counted_in_utf16_units() -> None:
    reply = "\U0001f3b2" * 2049
    pieces = render_entities(reply)
    assert len(pieces) == 2
    assert all(utf16_len(piece.text) <= 4096 for piece in pieces)
    assert "".join(piece.text for piece in pieces) == reply


def test_TG_03_what_needs_escaping_elsewhere_is_not_inflated() -> None:
    assert render_entities("!" * 4096) == [FormattedPiece("!" * 4096)]


def test_TG_04_prose_with_angle_brackets_and_ampersands_is_literal() -> None:
    reply = "if a<b & c>d then " * 700
    pieces = render_entities(reply)
    assert all(len(piece.text) <= 4096 and not piece.entities for piece in pieces)
    assert " ".join(piece.text for piece in pieces) == reply.strip()


def test_TG_05_each_piece_of_a_long_fence_is_code_by_itself() -> None:
    lines = ["print(123456789)"] * 300
    pieces = render_entities("Intro\n```python\n" + "\n".join(lines) + "\n```\nEnd")
    blocks = [(piece, entity) for piece in pieces for entity in piece.entities]
    assert [entity.type for _, entity in blocks] == ["pre"] * len(pieces)
    assert {entity.language for _, entity in blocks} == {"python"}
    assert [line for block in blocks for line in covered(*block).split("\n")] == lines
    assert pieces[0].text.startswith("Intro\n")
    assert pieces[-1].text.endswith("\nEnd")
    assert all(len(piece.text) <= 4096 for piece in pieces)


def test_TG_06_an_endless_info_line_is_shown_once() -> None:
    reply = "```" + "a" * 5000 + "\nX\n" + "b" * 3000 + "\n```"
    pieces = render_entities(reply)
    assert len(pieces) <= 6
    assert all(len(piece.text) <= 4096 for piece in pieces)
    assert_linear(lambda n: render_entities("```" + "a" * n + "\nX\n" + "b" * n + "\n```"), 5000)
    joined = "".join(piece.text for piece in pieces)
    assert joined == "a" * 5000 + "\nX\n" + "b" * 3000
    assert {entity.language for piece in pieces for entity in piece.entities} == {None}


def test_TG_08_prose_that_looks_like_markup_is_the_same_byte_for_byte() -> None:
    reply = "Sure! Step 1 - done (v1.2_beta)."
    assert render_entities(reply) == [FormattedPiece(reply)]


def test_TG_09_star_bullets_beside_bold_keep_words_and_figures() -> None:
    reply = "*   **Total**: 3_000\n*   **Rate**: 5 * 4\nopen [bracket"
    assert shown(reply) == "• Total: 3_000\n• Rate: 5 * 4\nopen [bracket"
    assert marked(reply) == [("bold", "Total"), ("bold", "Rate")]


@pytest.mark.parametrize(
    "prose",
    [
        "a lone * here, an [open bracket, 5 * 4 = 20, 3_000 and snake_case_name",
        "2*3*4 and 2**3**4, src/*.py or lib/*.py",
        "see /tmp/_cache_/x and https://x.org/?a=_b_&c",
        "the __init__ method and __main__",
        "&amp; &lt; &copy; and <tag attr='1'>text</tag>",
        ">>> print(1)\n>=5 is fine\n>3 as well",
        "[Alice]: Hello\n[1]: https://x.org",
        r"\\server\share, \(x + y\), C:\dir\file, \d+\.\d+",
        "Ada <ada@example.org> wrote",
        "see [the file](docs/x.md) and values[i](j)",
        "a || b || c, if (a||b||c)",
        "Verse one\n  two in\n    four in\n\n\n\n  and far below",
        "Name\n====\nunder",
        "1986. A great year",
        "~5 km, ~~ and ~/bin",
        "||",
        "*",
        "-",
        "#",
        ">",
        "1.",
        "```",
        "***",
        "[](https://x.org)",
        "|a|b|\n|-|-|\n|1|2|and three|",
    ],
)
def test_prose_is_shown_as_written(prose: str) -> None:
    assert render_entities(prose) == [FormattedPiece(prose)]


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        ("**b** *i* _j_ ~~s~~ `c`", "b i j s c", "bold b|italic i|italic j|strikethrough s|code c"),
        ("a ||secret `code`|| b", "a secret code b", "spoiler secret code"),
        ("**b `c` d**", "b c d", "bold b|code c|bold d"),
        ("***both***", "both", "bold both|italic both"),
        ("**a **b** c**", None, None),
        ("## Head *line* `x`\ntext", "Head line x\ntext", "bold Head line|italic line|code x"),
        ("[t **b**](https://x.org)", "t b", "text_link t b|bold b"),
        ("![a cat](https://x.org/c.png)", "a cat", "text_link a cat"),
        ("[![a](https://a.org)](https://b.org)", "a", "text_link a"),
        ("<https://x.org/_a_>", "https://x.org/_a_", ""),
        ("<https://x.org/a>\\*b", "https://x.org/a*b", "text_link https://x.org/a"),
        ("[mail](mailto:a@b.org)", "mail (a@b.org)", ""),
        ("> q1\n> > q2\n\nafter", "q1\n> q2\n\nafter", "blockquote q1\n> q2"),
        ("- a\n  - b\n    1. c\n- [ ] d", "• a\n  • b\n    1. c\n• [ ] d", ""),
        ("3) c\n4) d", "3) c\n4) d", ""),
        ("- - x", "• • x", ""),
        ("- ```\n  x\n  ```", "•\nx", "pre x"),
        ("a  \nb\\\nc\nd", "a\nb\nc\nd", ""),
        (r"\*no\* 1\*2 \[x\]", "*no* 1*2 [x]", ""),
        ("1\\. no list", "1. no list", ""),
        ("**重点：**内容", "重点：内容", "bold 重点："),
        ("\U0001f3b2 **b** \U0001f3b2`c`", "\U0001f3b2 b \U0001f3b2c", "bold b|code c"),
        ("a\n---\nb", "a\n---\nb", ""),
        ("nul\0 and \ud800", "nul\ufffd and \ufffd", ""),
    ],
)
def test_markup_becomes_entities(markdown: str, text: str | None, entities: str | None) -> None:
    if text is None or entities is None:
        assert {kind for kind, _ in marked(markdown)} == {"bold"}
        return
    assert shown(markdown) == text
    assert "|".join(" ".join(pair) for pair in marked(markdown)) == entities


def test_a_fence_keeps_its_language_and_the_rest_of_its_info() -> None:
    (piece,) = render_entities('```python title="a.py"\nx = 1\n```')
    assert piece == FormattedPiece('title="a.py"\nx = 1', (Entity("pre", 0, 18, language="python"),))


def test_an_odd_language_is_a_line_of_the_code() -> None:
    (piece,) = render_entities("```{weird}\nx\n```")
    assert piece == FormattedPiece("{weird}\nx", (Entity("pre", 0, 9),))


def test_a_table_is_an_aligned_code_block() -> None:
    table = "| Name | Qty |\n|:--|--:|\n| **Äpfel** | 3 |\n| 梨 | 12 |\n| [x](https://x.org) | |"
    (piece,) = render_entities(table)
    assert piece.text.split("\n") == [
        "Name              | Qty",
        "------------------+----",
        "Äpfel             |   3",
        "梨                |  12",
        "x (https://x.org) |",
    ]
    assert [entity.type for entity in piece.entities] == ["pre"]


def test_a_block_that_fits_is_not_cut() -> None:
    code = "\n".join(["x = 1"] * 30)
    pieces = render_entities(f"Intro\n\n```\n{code}\n```\n\nEnd", limit=185)
    assert [piece.text for piece in pieces] == ["Intro", f"{code}\n\nEnd"]


def test_a_link_is_not_cut() -> None:
    pieces = render_entities("word " * 10 + "[one two three four](https://x.org)", limit=60)
    assert pieces[-1] == FormattedPiece(
        "one two three four", (Entity("text_link", 0, 18, url="https://x.org"),)
    )


def test_styles_go_on_in_the_next_piece() -> None:
    pieces = render_entities("**" + "bold " * 20 + "end**", limit=50)
    assert len(pieces) > 1
    assert all(piece.entities == (Entity("bold", 0, len(piece.text)),) for piece in pieces)


def test_code_keeps_its_indentation_beside_a_cut() -> None:
    pieces = render_entities("```\n" + "\n".join(["if x:", "    pass"] * 20) + "\n```", limit=24)
    assert {line for piece in pieces for line in piece.text.split("\n")} == {"if x:", "    pass"}


def test_room_can_be_kept_back() -> None:
    assert max(len(piece.text) for piece in render_entities("word " * 100, limit=100, reserve=30)) <= 70


def test_no_room_is_an_error() -> None:
    with pytest.raises(ValueError, match="no room for a character"):
        render_entities("x", limit=10, reserve=9)


@pytest.mark.parametrize("nothing", ["", " \n\t ", "\u200b", "\u2800\n\u3164"])
def test_nothing_to_show_is_no_message(nothing: str) -> None:
    assert render_entities(nothing) == []


def test_more_entities_than_a_server_shows_drop_styles_before_links() -> None:
    (piece,) = render_entities("*a* " * 150 + "[x](https://x.org)")
    assert len(piece.entities) == MAX_ENTITIES
    assert piece.entities[-1].type == "text_link"


@pytest.mark.parametrize("quoted", ["> ```\n>  y\n> ```\n> z", "> |a|\n> |-|\n> ||\n>\n> z", ">      y\n> z"])
def test_a_quotation_that_begins_with_indented_code_lies_around_it(quoted: str) -> None:
    (piece,) = render_entities(quoted)
    quote = next(entity for entity in piece.entities if entity.type == "blockquote")
    code = next(entity for entity in piece.entities if entity.type == "pre")
    assert quote.offset <= code.offset
    assert code.offset + code.length <= quote.offset + quote.length
