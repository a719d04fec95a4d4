"""Which elements of a page no reader sees, as far as their own style and simple rules of the page say so. Pure, linear.

Left out: what is hidden, has no size, is transparent, or stands outside of the page. Colours are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["declarations", "is_tiny", "is_unseen", "without_comments"]

_ZERO = r"0*(?:\.0*)?(?:px|pt|em|rem|ex|%|vh|vw)?"
_TINY = re.compile(rf"{_ZERO}|0*(?:0|1|\.\d+|0\.\d+)(?:\.0*)?(?:px|pt)")
_RELATIVE = re.compile(r".*(?:(?<!r)em|%|inherit|smaller|larger)")
_SIZE = re.compile(r"[\d.]+(?:px|pt|r?em|%)?")
_NO_SIZE = re.compile(_ZERO)
_DISPLAY = re.compile(
    r"none|block|inline(?:-[a-z]+)?|flex|grid|table(?:-[a-z-]+)?|list-item|contents|flow-root|run-in|ruby"
    r"|initial|inherit|unset|revert|-[a-z-]+|(?:block|inline|flow) [a-z -]+"
)
_SIDES = ("left", "top", "right", "bottom")
_MOVED = ("absolute", "fixed", "relative")
_BROUGHT_BACK = ("margin", "margin-left", "padding", "padding-left")
"""A paragraph that hangs: its first line begins as far to the left as the others stand to the right."""
_FAR = re.compile(r"-\d{3}")
_SHRUNK = re.compile(r"\bscale[xy]?\(\s*+0*+(?:\.0*+)?\s*+[,)]")


def declarations(style: str) -> dict[str, str]:
    """What a style says, by property; comments in it are none."""
    found: dict[str, str] = {}
    weighty: set[str] = set()
    for declaration in without_comments(style).lower().split(";"):
        name, _, said = declaration.partition(":")
        name, said = name.strip(), said.strip()[:200]
        value = _unimportant(said)
        if (name in weighty and value == said) or (name == "display" and not _DISPLAY.fullmatch(value)):
            continue
        if value != said:
            weighty.add(name)
        found[name] = value
    return found


def _unimportant(value: str) -> str:
    """The value without `!important`."""
    before = value.removesuffix("important").rstrip()
    return before[:-1].rstrip() if before != value and before.endswith("!") else value


def without_comments(css: str) -> str:
    """CSS without what stands between `/*` and `*/`."""
    first, *others = css.split("/*")
    return first + "".join(piece.partition("*/")[2] for piece in others)


def is_unseen(style: Mapping[str, str]) -> bool:
    """Whether an element with that style is not shown, nor anything in it."""
    if style.get("display") == "none" or style.get("visibility") in ("hidden", "collapse"):
        return True
    if _is_zero(style.get("opacity")):
        return True
    if _SHRUNK.search(style.get("transform", "")) or _is_clipped(style.get("clip", "")):
        return True
    if style.get("position") in _MOVED and any(_FAR.match(style.get(s, "")) for s in _SIDES):
        return True
    if _FAR.match(style.get("text-indent", "")) and not any(side in style for side in _BROUGHT_BACK):
        return True
    return style.get("overflow") == "hidden" and any(_has_no(size, style) for size in ("height", "width"))


def _has_no(size: str, style: Mapping[str, str]) -> bool:
    """Whether the element has no height or width; `min-` brings it back, as layouts for telephones have it."""
    return any(_is_zero(style.get(name)) for name in (size, f"max-{size}")) and f"min-{size}" not in style


def _is_zero(value: str | None) -> bool:
    return bool(value) and value is not None and _NO_SIZE.fullmatch(value) is not None


def _is_clipped(value: str) -> bool:
    """Whether at most a point of an element is left, as of what is meant for screen readers alone."""
    inner = value.removeprefix("rect(").removesuffix(")")
    sides = inner.replace(",", " ").split()
    return (
        len(inner) == len(value) - 6 and len(sides) == 4 and all(s in ("0", "1", "0px", "1px") for s in sides)
    )


def _short_size(font: str) -> str | None:
    """The size in a `font`, which is followed by the height of lines, behind a slash, and the letters' name."""
    before, slash, _ = font.partition("/")
    words = before.split() if slash else font.split()[:-1]
    return next((word for word in reversed(words) if _SIZE.fullmatch(word)), None)


def is_tiny(style: Mapping[str, str]) -> bool | None:
    """Whether the letters have no size to be read at; `None`: they have that of what is around."""
    size = style.get("font-size")
    if size is None:
        size = _short_size(style.get("font", ""))
    if not size:
        return None
    if _TINY.fullmatch(size):
        return True
    return None if _RELATIVE.fullmatch(size) else False
