"""What the CSS of a page says, by property. Pure, linear."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Style", "declarations", "laid_over", "plain_css"]

_DISPLAY = re.compile(
    r"none|block|inline(?:-[a-z]+)?|flex|grid|table(?:-[a-z-]+)?|list-item|contents|flow-root|run-in|ruby"
    r"|initial|inherit|unset|revert|-[a-z-]+|(?:block|inline|flow) [a-z -]+"
)
_NO_RULE = re.compile(r"/\*.*?(?:\*/|\Z)|\"[^\"\n]*+\"|'[^'\n]*+'", re.DOTALL)


class Style(NamedTuple):
    """What is said, and what is said to be important."""

    said: dict[str, str]
    weighty: dict[str, str]


def declarations(text: str) -> Style:
    """What a style says."""
    style = Style({}, {})
    for declaration in plain_css(text).lower().split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip(), value.strip()[:200]
        bare = _unimportant(value)
        if name != "display" or _DISPLAY.fullmatch(bare):
            (style.said if bare == value else style.weighty)[name] = bare
    return style


def laid_over(*styles: Style) -> dict[str, str]:
    """What counts of several: a later before an earlier, and what is important before all."""
    found: dict[str, str] = {}
    for style in styles:
        found |= style.said
    for style in styles:
        found |= style.weighty
    return found


def plain_css(css: str) -> str:
    """CSS without its comments, and with nothing in its strings: what stands in these is no rule."""
    return _NO_RULE.sub(lambda found: "" if found[0].startswith("/") else '""', css)


def _unimportant(value: str) -> str:
    """The value without `!important`."""
    before = value.removesuffix("important").rstrip()
    return before[:-1].rstrip() if before != value and before.endswith("!") else value
