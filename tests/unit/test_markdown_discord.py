import re

import pytest

from adapters.markdown.discord import escape, render_discord
from adapters.markdown.split import utf16_len
from tests.peers.discord.markup import displayed


def one(markdown: str) -> str:
    (text,) = render_discord(markdown)
    return text


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**bold** and *it* ~~no~~ ||who||", "**bold** and *it* ~~no~~ ||who||"),
        ("# Title\n\ntext", "**Title**\n\ntext"),
        ("- a\n- b", "• a\n• b"),
        ("1. a\n2. b", "1. a\n2. b"),
        ("> q **b**\n> c", "> q **b**\n> c"),
        ("`a` and `` b`c ``", "`a` and ``b`c``"),
        ("```py\nx = 1\n```", "```py\nx = 1\n```"),
        ("[l](https://x.org/a_b)", "[l](https://x.org/a_b)"),
        ("[l](https://x.org/a(b))", "[l](https://x.org/a%28b%29)"),
        ("https://x.org/_a_*b*", "<https://x.org/_a_>*b*"),
        ("snake_case and 2*3*4", r"snake_case and 2\*3\*4"),
        ("__init__ foo__bar__", r"\_\_init\_\_ foo\_\_bar\_\_"),
        (r"C:\dir", r"C:\dir"),
        (r"\\server\x", r"\\\server\x"),
        ("a || b", "a \\|\\| b"),
        ("||a||\\| b", "||a||\u200b| b"),
        ("[x] (y) <b> & c", "[x] (y) <b> & c"),
        ("**two\nlines**", "**two**\n**lines**"),
    ],
)
def test_it_is_written_in_discords_way(markdown: str, shown: str) -> None:
    assert one(markdown) == shown


def test_a_table_is_drawn_as_code() -> None:
    assert one("|a|b|\n|---|---|\n|1|2|").startswith("```\n")


def test_what_stands_at_the_start_of_a_line_stays_what_it_was() -> None:
    assert escape("# no\n> no\n-# no\n- no\n#no\n>no\n-no") == (
        "\\# no\n\\> no\n\\-# no\n\\- no\n#no\n>no\n-no"
    )


@pytest.mark.parametrize(
    ("markdown", "sent"),
    [
        ("0. a\n1. b\n   1. c\n   2. d\n2. e", "0. a\n1. b\n  1. c\n  2. d\n2. e"),
        ("1986. a\n1990. b\n1991. c", "1986. a\n1990\\. b\n1991\\. c"),
        ("1. **a**\n\n1. `b`", "1. **a**\n\n1\\. `b`"),
        ("003. a", "003\\. a"),
        ("2. a\n\ntext\n\n1. b", "2. a\n\ntext\n\n1. b"),
        ("3) a\n1) b", "3) a\n1) b"),
    ],
)
def test_a_number_that_discord_would_change_is_no_item(markdown: str, sent: str) -> None:
    assert one(markdown) == sent
    assert displayed(sent) == re.sub(r"[*`]", "", sent).replace("\\", "")


def test_ticks_in_code_do_not_end_it() -> None:
    text = one("~~~\na\n```\nb\n~~~")
    assert text.count("```") == 2
    assert one("```` `x` ````") == "`` `x` ``"
    assert one("```` a```b ````") == "``a`\u200b`\u200b`b``"


def test_DC_01_a_long_reply_is_cut_at_2000_and_loses_nothing() -> None:
    pieces = render_discord("a" * 4500)
    assert "".join(pieces) == "a" * 4500
    assert len(pieces) == 3
    assert all(utf16_len(p) <= 2000 for p in pieces)


def test_DC_01_emoji_count_as_discords_clients_count_them() -> None:
    pieces = render_discord("\U0001f680" * 2500)
    assert "".join(pieces) == "\U0001f680" * 2500
    assert all(utf16_len(p) <= 2000 for p in pieces)


def test_DC_01_text_that_needs_escaping_is_within_the_limit_too() -> None:
    pieces = render_discord("* " * 3000)
    assert all(utf16_len(p) <= 2000 for p in pieces)
    assert "".join(pieces).count(r"\*") == 3000


def test_DC_02_an_endless_info_line_is_shown_once_and_every_piece_is_code() -> None:
    pieces = render_discord("```" + "k" * 1990 + "\n" + "line\n" * 900 + "```")
    assert all(utf16_len(p) <= 2000 for p in pieces)
    assert all(p.startswith("```") and p.endswith("```") and p.count("```") == 2 for p in pieces)
    assert "".join(pieces).count("line") == 900
    assert "".join(pieces).count("k" * 1000) == 1


def test_DC_02_the_language_stands_on_every_piece() -> None:
    pieces = render_discord("```py\n" + "y = 1\n" * 1000 + "```")
    assert all(p.startswith("```py\ny = 1\n") for p in pieces)
    assert "".join(pieces).count("y = 1") == 1000


@pytest.mark.parametrize("blank", ["", "\n \u200b\n", "\u2800", " \t\n"])
def test_DC_04_what_shows_nothing_is_no_message(blank: str) -> None:
    assert render_discord(blank) == []


def test_a_link_whose_address_is_endless_is_text() -> None:
    url = "https://x.org/" + "a" * 3000
    pieces = render_discord(f"[here]({url}) and more")
    assert re.sub(r"\s", "", "".join(pieces)) == f"here({url})andmore"
    assert all(utf16_len(p) <= 2000 for p in pieces)


def test_a_limit_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="no room"):
        render_discord("x", 500)


def test_an_address_in_another_script_is_shown_once() -> None:
    assert render_discord("<https://x.org/重>") == ["https://x.org/重"]


def test_what_stands_behind_an_address_is_no_part_of_it() -> None:
    assert render_discord("<https://x.org/a>\\*b, <https://x.org/c>.") == [
        r"<https://x.org/a>\*b, https://x.org/c."
    ]
    assert one("see https://x.org/a~~b~~ and https://x.org/```c") == (
        "see <https://x.org/a>~~b~~ and <https://x.org/>\\`\\`\\`c"
    )


def test_what_stands_around_a_link_is_no_part_of_it() -> None:
    assert render_discord("[[a](https://x.org)](https://y.org)") == [r"\[[a](https://x.org)](https://y.org)"]
    assert render_discord("*[a](https://x.org/b*c) d*") == ["*[a](https://x.org/b%2Ac) d*"]
