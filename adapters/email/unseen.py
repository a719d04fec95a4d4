"""Which elements of a page no reader sees, as far as their own style and simple rules of the page say so. Pure, linear.

Left out: what is hidden, has no size, is transparent, or stands outside of the page. Colours are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["is_tiny", "is_unseen"]

_ZERO = r"[+-]?0*(?:\.0*)?(?:px|pt|pc|em|rem|ex|ch|cm|mm|in|%|vh|vw|vmin|vmax)?"
_TINY = re.compile(rf"{_ZERO}|0*(?:0|1|\.\d+|0\.\d+)(?:\.0*)?(?:px|pt)")
_RELATIVE = re.compile(r".*(?:(?<!r)em|%|inherit|smaller|larger)")
_SIZE = re.compile(r"[\d.]+(?:px|pt|r?em|%)?")
_NO_SIZE = re.compile(_ZERO)
_FAINT = re.compile(r"\+?0*(?:\.0(?:[0-4]\d*)?)?%?|-.*")
_CUT = ("overflow", "overflow-x", "overflow-y")
_NOT_CUT = ("", "visible")
_SIDES = ("left", "top", "right", "bottom")
_BROUGHT_BACK = ("margin", "margin-left", "padding", "padding-left")
"""A paragraph that hangs: its first line begins as far to the left as the others stand to the right."""
_FAR = re.compile(r"-\d{3}")
_ASIDE = re.compile(r"-?\d{4}")
_FARTHER = re.compile(r"-\d{4}")
"""For what is moved from where it would stand, which may be far below: onto a picture, for example."""
_SHRUNK = re.compile(r"\bscale[xy]?\(\s*+0*+(?:\.0*+)?\s*+[,)]")
_SHARE = re.compile(r"(?<![\d.])[1-9][\d.]*+%")


def is_unseen(style: Mapping[str, str], display: str) -> bool:
    """Whether an element that is shown in that way is not seen all the same, nor anything in it."""
    position = style.get("position", "")
    if _FAINT.fullmatch(style.get("opacity") or "1") and style.get("animation", "none") == "none":
        return True
    far = {"absolute": _FAR, "fixed": _FAR, "relative": _FARTHER}.get(position)
    if _is_clipped(style.get("clip", "")) or (far and any(far.match(style.get(s, "")) for s in _SIDES)):
        return True
    if far and _ASIDE.match(style.get("left", "")):
        return True
    if display in ("inline", "contents") and position not in ("absolute", "fixed") and "float" not in style:
        return False  # a part of a line has no measures
    if _FARTHER.match(style.get("margin-left", "")):
        return True
    if _SHRUNK.search(style.get("transform", "")):
        return True
    if _FAR.match(style.get("text-indent", "")) and not any(_is_some(style.get(s)) for s in _BROUGHT_BACK):
        return True
    # Parts of a table are as large as what is in them.
    is_cut = any(style.get(name, "") not in _NOT_CUT for name in _CUT)
    return is_cut and "table" not in display and _has_no_size(style)


def _has_no_size(style: Mapping[str, str]) -> bool:
    """Whether the element has no height or width.

    `min-` brings it back, as layouts for telephones have it, and so does padding as a share of the width, which keeps the
    proportions of a box.
    """
    if any(_SHARE.search(style.get(name, "")) for name in ("padding", "padding-top", "padding-bottom")):
        return False
    return any(
        any(_is_zero(style.get(name)) for name in (size, f"max-{size}"))
        and not _is_some(style.get(f"min-{size}"))
        for size in ("height", "width")
    )


def _is_zero(value: str | None) -> bool:
    return bool(value) and value is not None and _NO_SIZE.fullmatch(value) is not None


def _is_some(value: str | None) -> bool:
    """Whether a measure, or one of several, is not zero."""
    return value is not None and not all(map(_is_zero, value.split()))


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
