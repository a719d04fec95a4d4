"""Which elements of a page no reader sees, as far as their own style and simple rules of the page say so. Pure, linear.

Left out: what is hidden, has no size, is transparent, or stands outside of the page. Colours are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

__all__ = ["declarations", "hidden_names", "is_tiny", "is_unseen"]

_ZERO = r"0*(?:\.0*)?(?:px|pt|em|rem|ex|%|vh|vw)?"
_TINY = re.compile(rf"{_ZERO}|0*(?:0|1|\.\d+|0\.\d+)(?:\.0*)?(?:px|pt)")
_RELATIVE = re.compile(r".*(?:em|%|inherit|smaller|larger)")
_SIZE = re.compile(r"[\d.]+(?:px|pt|r?em|%)?")
_NO_SIZE = re.compile(_ZERO)
_FAR = re.compile(r"-\d{3}")
_SHRUNK = re.compile(r"\bscale[xy]?\(\s*+0*+(?:\.0*+)?\s*+[,)]")
_NAME = re.compile(r"\w*([.#][\w-]+)")


def declarations(style: str) -> dict[str, str]:
    """What a style says, by property; comments in it are none."""
    found: dict[str, str] = {}
    for declaration in _without_comments(style).lower().split(";"):
        name, _, value = declaration.partition(":")
        found[name.strip()] = _unimportant(value.strip()[:200])
    return found


def _unimportant(value: str) -> str:
    """The value without `!important`."""
    before = value.removesuffix("important").rstrip()
    return before[:-1].rstrip() if before != value and before.endswith("!") else value


def _without_comments(css: str) -> str:
    first, *others = css.split("/*")
    return first + "".join(piece.partition("*/")[2] for piece in others)


def is_unseen(style: Mapping[str, str]) -> bool:
    """Whether an element with that style is not shown, nor anything in it."""
    if style.get("display") == "none" or style.get("visibility") in ("hidden", "collapse"):
        return True
    if style.get("mso-hide") == "all" or _is_zero(style.get("opacity")):
        return True
    if _SHRUNK.search(style.get("transform", "")) or _is_clipped(style.get("clip", "")):
        return True
    if any(_FAR.match(style.get(side, "")) for side in ("left", "top", "right", "bottom", "text-indent")):
        return True
    sizes = ("max-height", "height", "max-width", "width")
    return style.get("overflow") == "hidden" and any(_is_zero(style.get(size)) for size in sizes)


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


def hidden_names(css: str) -> set[str]:
    """The classes (`.name`) and ids (`#name`) that a page's rules hide for every reader, not for some screens alone."""
    hidden: set[str] = set()
    for selectors, style in _rules(css):
        said = declarations(style)
        if "display" not in said and "visibility" not in said:
            continue
        names = {found[1] for one in selectors.split(",") if (found := _NAME.fullmatch(one.strip()))}
        if is_unseen(said):
            hidden |= names
        else:
            hidden -= names
    return hidden


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """Selectors and style of the rules that stand in no other (`@media`)."""
    text = _without_comments(css).replace("<!--", " ").replace("-->", " ")
    depth, selectors = 0, ""
    for piece in re.split(r"(?<=[{}])", text):
        if piece.endswith("{"):
            depth += 1
            selectors = piece[:-1] if depth == 1 else selectors
        elif piece.endswith("}"):
            if depth == 1 and not selectors.lstrip().startswith("@"):
                yield selectors, piece[:-1]
            depth = max(0, depth - 1)
