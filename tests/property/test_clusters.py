"""No cut falls into what a reader sees as one character, as wcwidth's tables of Unicode's own have it."""

from itertools import accumulate

from hypothesis import example, given
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from adapters.markdown.clusters import is_boundary
from adapters.markdown.split import split_text, utf16_len

BITS = [
    "a", "1", " ", "e\u0301", "\u0301", "\U0001f468", "\u200d", "\u200c", "\U0001f3fd", "\ufe0f", "1\ufe0f\u20e3", "\U0001f1e9",
    "\U0001f1ea", "\U0001f3f4\U000e0067\U000e007f", "\u2764\ufe0f\u200d\U0001f525", "\u1112", "\u1161", "\u11ab", "\ud55c",
    "\u0915", "\u094d", "\u0937", "\u093f", "\u0995\u09cd\u09b7", "\u0e01", "\u0e33", "\u0e34", "\u0eb3", "\uff76", "\uff9e",
    "\u05e9\u05bc", "\u202e", "\u200f", "\u0645\u0651", "\u4e2d", "\U000e0100", "\r\n", "\u0d15\u0d4d\u0d37",
    "\u1000\u1039\u1000",
]  # fmt: skip
texts = st.one_of(st.lists(st.sampled_from(BITS), max_size=30).map("".join), st.text(max_size=30))


def ends(text: str) -> set[int]:
    return {0, *accumulate(map(len, iter_graphemes(text)))}


@given(texts)
@example("\u094d\U0001f3fd\u0915")
@example("\u0915\u094d\ufe0f\u0915")
def test_each_place_for_a_cut_is_the_end_of_a_character(text: str) -> None:
    assert {at for at in range(len(text) + 1) if is_boundary(text, at)} <= ends(text)


@given(st.lists(st.sampled_from(BITS), min_size=1, max_size=60).map("".join), st.integers(40, 60))
def test_pieces_begin_and_end_with_whole_characters(text: str, limit: int) -> None:
    whole = [len(grapheme) for grapheme in iter_graphemes(text)]
    at = 0
    for piece in split_text(text, limit):
        at = text.index(piece, at)
        if max(whole) <= limit // 2:
            assert {at, at + len(piece)} <= ends(text)
        at += len(piece)
        assert utf16_len(piece) <= limit
