"""Where long texts are cut."""

import pytest

from adapters.markdown.clusters import is_boundary
from adapters.markdown.plain import plain
from adapters.markdown.split import split_text, utf16_len


def test_TG_01_length_is_counted_in_utf16_units() -> None:
    assert utf16_len("a\u00e9\U0001f3b2\ud800") == 5
    assert split_text("\U0001f3b2" * 3, 4) == ["\U0001f3b2" * 2, "\U0001f3b2"]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("one one.\ntwo\n\nthree three", ["one one.\ntwo", "three three"]),
        ("one one one\ntwo. two two", ["one one one", "two. two two"]),
        ("One one one. Two two two", ["One one one.", "Two two two"]),
        ("wwww wwww wwww wwww wwww", ["wwww wwww wwww", "wwww wwww"]),
        ("w" * 25, ["w" * 16, "w" * 9]),
        ("a  b\n\n\n    indented line", ["a  b", "    indented", "line"]),
        ("short " + "w" * 16, ["short", "w" * 16]),
        ("short " + "w" * 40, ["short wwwwwwwwww", "w" * 16, "w" * 14]),
        ("一二三四五六七八九。一二三四五六七八九。", ["一二三四五六七八九。", "一二三四五六七八九。"]),
    ],
)
def test_the_dearest_cut_in_reach_is_taken(text: str, pieces: list[str]) -> None:
    assert split_text(text, 16) == pieces


@pytest.mark.parametrize(
    "character",
    [
        "e\u0301",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f44d\U0001f3fd",
        "\U0001f1e9\U0001f1ea",
        "1\ufe0f\u20e3",
        "\u1112\u1161\u11ab",
    ],
)
def test_what_a_reader_sees_as_one_character_is_whole(character: str) -> None:
    text = character * 50
    limit = 3 * utf16_len(character) + utf16_len(character) // 2
    pieces = split_text(text, limit)
    assert pieces == [character * 3] * 16 + [character * 2]
    assert is_boundary(character * 2, len(character))


def test_a_cluster_without_end_is_cut() -> None:
    assert "".join(split_text("a" + "\u0301" * 1000, 100)) == "a" + "\u0301" * 1000


def test_another_unit_can_be_counted() -> None:
    pieces = split_text("äöü äöü äöü", 7, lambda text: len(text.encode()))
    assert pieces == ["äöü", "äöü", "äöü"]


def test_a_character_longer_than_the_limit_is_a_piece() -> None:
    assert split_text("\U0001f3b2\U0001f3b2", 1) == ["\U0001f3b2", "\U0001f3b2"]


def test_a_limit_below_one_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        split_text("x", 0)


def test_plain_text_shows_addresses() -> None:
    markdown = "# Head\n\n**b** [t](https://x.org) <https://y.org> ![i](https://z.org)\n\n- `c`"
    assert plain(markdown) == "Head\n\nb t (https://x.org) https://y.org i (https://z.org)\n\n• c"
