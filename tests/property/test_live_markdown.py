"""A growing answer never shows half a mark, and never takes back what it has shown of the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.markdown.entities import render_entities
from adapters.markdown.live import settled

ANSWER = """Here is **bold text** and `code` and a [link](http://a.b/c) and ~~gone~~ words.

* one *item* with snake_case and 2*3
* two

```python
print("**no bold**")
```

The ||end|| is 3_000 _well_ done."""


def _shown(markdown: str) -> str:
    return "".join(piece.text for piece in render_entities(settled(markdown)))


@pytest.mark.parametrize("size", range(len(ANSWER) + 1))
def test_no_half_mark_shows_while_the_answer_grows(size: int) -> None:
    shown = _shown(ANSWER[:size])
    for half in ("**", "~~", "||", "](", "`", "[link"):
        if half == "**" and "print(" in shown:
            continue  # inside of code two stars are two stars
        assert half not in shown, shown


def test_what_is_whole_is_not_held_back() -> None:
    assert settled(ANSWER) == ANSWER
    assert settled("plain words, 2 * 3 and snake_case") == "plain words, 2 * 3 and snake_case"


def test_a_mark_that_never_closes_is_shown_in_the_end() -> None:
    prose = "a ** b " + "word " * 60
    assert settled(prose) == prose


@given(st.text(alphabet="ab *_`[]()|~<\n\\", max_size=200))
def test_what_is_held_back_is_short_and_at_the_end(markdown: str) -> None:
    kept = settled(markdown)
    assert markdown.startswith(kept)
    assert len(markdown) - len(kept) <= 120 + max(map(len, markdown.split("\n"))) + 4
