"""What files say is cut to the tokens that there are for it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_core.models.estimate import TokenEstimate
from agent_core.overflow import cut_to

COST = TokenEstimate().text


@given(st.lists(st.text(max_size=200), max_size=4), st.integers(0, 300))
def test_texts_are_cut_to_just_what_fits(texts: list[str], tokens: int) -> None:
    kept = cut_to(texts, tokens, COST)
    assert len(kept) == len(texts)
    for text, part in zip(texts, kept, strict=True):
        assert text.startswith(part)
        assert part == text or COST(text[: len(part) + 1]) > tokens
        tokens -= COST(part)
        assert tokens >= 0
