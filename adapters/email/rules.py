"""What the rules of a page (`<style>`) say of elements by name: which no reader sees, and whose letters have a size. Pure.

What is not understood is passed over, so that its words are read: rules for some screens alone (`@media`), and selectors of
more than one element.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from adapters.email.style import Style, declarations, laid_over, plain_css
from adapters.email.unseen import is_tiny, is_unseen

__all__ = ["Rules"]

_NAME = re.compile(r"(\w*|\*)([.#](?:[\w-]|\\[0-9a-fA-F]{1,6} ?|\\.)++)")
_ESCAPED = re.compile(r"\\(?:([0-9a-fA-F]{1,6}) ?|(.))")
_NAMES = 10_000
"""A page of people has some hundred."""
_FOR_ALL = frozenset(["", "all", "screen", "only all", "only screen", "not print"])
_AT_A_DESK = re.compile(r"(?:(?:only )?(?:screen|all) and )?\( ?min-width ?: ?\d{1,3}px ?\)")
_DESK, _APART = "@desk", "@"
_LOOKED_AT = frozenset(
    "display visibility opacity animation transform clip position left top right bottom text-indent margin "  # noqa: SIM905
    "margin-left margin-right padding padding-left padding-right padding-top padding-bottom overflow height width "
    "max-height max-width min-height min-width font font-size float white-space text-decoration".split()
)


class Rules:
    """Collects the rules of a page for single names. sizes_elsewhere: others give letters a size, nobody knows which.

    A later rule counts before an earlier one, one for an id before one for a class, one with a tag before one without.
    """

    def __init__(self) -> None:
        self._styles: dict[str, tuple[int, Style]] = {}
        self._count = 0
        self.sizes_elsewhere = False

    def read(self, css: str, media: str = "") -> None:
        """Add what a `<style>` says, for readers of that kind."""
        for selectors, text, at_a_desk in _rules(css, _media(media)):
            style = _looked_at(declarations(text))
            # Wide windows count where they bring words back that are hidden on telephones.
            if not (style.said or style.weighty) or (at_a_desk and _hides(style)):
                continue
            self._count += 1
            for one in selectors.split(","):
                self._add(one.strip(), style)

    def of(self, tag: str, attributes: Mapping[str, str]) -> list[Style]:
        """What they say of an element, the strongest last."""
        styles: list[Style] = []
        if self._styles:
            for names in _names(tag, attributes):
                found = [self._styles[name] for name in names if name in self._styles]
                styles += [style for _, style in sorted(found, key=itemgetter(0))]
        return styles

    def _add(self, selector: str, style: Style) -> None:
        found = _NAME.fullmatch(selector)
        if found is None:
            self.sizes_elsewhere |= is_tiny(laid_over(style)) is False
            return
        name = found[1].lower().removeprefix("*") + _ESCAPED.sub(_letter, found[2])
        if name in self._styles:
            known = self._styles[name][1]
            style = Style(known.said | style.said, known.weighty | style.weighty)
        elif len(self._styles) >= _NAMES:
            return
        self._styles[name] = (self._count, style)


def _looked_at(style: Style) -> Style:
    return Style(*({name: said for name, said in part.items() if name in _LOOKED_AT} for part in style))


def _hides(style: Style) -> bool:
    said = laid_over(style)
    display = said.get("display", "block")
    hidden = display == "none" or said.get("visibility") in ("hidden", "collapse")
    return hidden or is_unseen(said, display) or is_tiny(said) is True


def _letter(found: re.Match[str]) -> str:
    return found[2] or chr(min(int(found[1], 16), 0x10FFFF))


def _names(tag: str, attributes: Mapping[str, str]) -> Iterator[Sequence[str]]:
    """The names of an element, the strongest last."""
    classes = [f".{name}" for name in attributes.get("class", "").split()]
    marks = [f"#{attributes['id']}"] if "id" in attributes else []
    for names in (classes, marks):
        yield names
        yield [tag + name for name in names]


def _media(condition: str) -> str:
    """For whom rules hold: "" for all."""
    kinds = {" ".join(kind.split()).lower() for kind in condition.split(",")}
    if kinds & _FOR_ALL:
        return ""
    return _DESK if any(map(_AT_A_DESK.fullmatch, kinds)) else _APART


def _block(begin: str) -> str:
    """What a block is, by what it begins with: selectors, or for whom what is in it holds."""
    before, semicolon, begin = begin.rpartition(";")
    begin = begin.strip()
    if semicolon and not before.lstrip().startswith("@"):  # as behind an @import
        return _APART
    if begin[:6].lower() == "@media":
        return _media(begin[6:])
    if begin[:6].lower() == "@layer":
        return ""
    return begin or _APART


def _rules(css: str, outer: str) -> Iterator[tuple[str, str, bool]]:
    """Selectors and style of the rules that hold for every reader, or for one at a desk: those in no other block."""
    text = plain_css(css).replace("<!--", " ").replace("-->", " ")
    blocks: list[str] = []
    apart, desks = int(outer == _APART), int(outer == _DESK)
    stray = ""  # an end too many spoils what follows
    for piece in re.split(r"(?<=[{}])", text):
        if piece.endswith("{"):
            blocks.append(_APART if stray else _block(piece[:-1]))
            stray = ""
            desks += blocks[-1] == _DESK
            apart += blocks[-1] not in ("", _DESK)
        elif piece.endswith("}") and not blocks:
            stray = piece
        elif piece.endswith("}"):
            block = blocks.pop()
            desks -= block == _DESK
            apart -= block not in ("", _DESK)
            if block and not block.startswith("@") and not apart:
                yield block, piece[:-1], desks > 0
