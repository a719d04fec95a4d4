"""Long answers: what is shown of them beside the file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.replies import opening

CODE = "```py\nx = 1\n\ny = 2\n```"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\n\ntwo\n\nthree", "one\n\ntwo"),
        ("one", "one"),
        (f"one\n\n{CODE}\n\ntwo", "one"),  # a block of code is whole or not there
        ("word " * 10, "word word\u2026"),
        ("```\nlong code that never ends\n```", "```\nlong\u2026\n```"),
    ],
)
def test_the_first_paragraphs_are_shown_and_no_block_of_code_is_cut(text: str, shown: str) -> None:
    assert opening(text, 12) == shown


def test_a_block_of_code_with_blank_lines_is_taken_whole() -> None:
    assert opening(f"{CODE}\n\nafter it much more is said", 40) == CODE


@given(st.text(alphabet="ab `~\n.", max_size=300), st.integers(5, 60))
def test_it_stays_within_its_bound_and_says_something(text: str, most: int) -> None:
    shown = opening(text, most)
    assert len(shown) <= 2 * most + 3
    assert bool(shown.strip()) == bool(text.strip())
