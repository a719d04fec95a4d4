"""What the rules of a page (`<style>`) say of elements by name: which no reader sees, and whose letters have a size. Pure.

What is not understood is passed over, so that its words are read: rules for some screens alone (`@media`), and selectors of
more than one element.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from adapters.email.style import Style, declarations, laid_over, plain_css
from adapters.email.unseen import is_tiny, is_unseen

__all__ = ["Rules"]

_NAME = re.compile(r"(\w*|\*)([.#](?:[\w-]|\\[0-9a-fA-F]{1,6} ?|\\.)++)")
_ESCAPED = re.compile(r"\\(?:([0-9a-fA-F]{1,6}) ?|(.))")
_NAMES = 10_000
"""A page of people has some hundred."""
_FOR_ALL = frozenset(["", "all", "screen", "only all", "only screen", "not print"])
_NOT_AT_A_DESK = re.compile(r"print|max-(?:device-)?width")
_DOUBT, _APART = "@?", "@"
_NAMES_IN = re.compile(r"[.#][\w-]+")
_SHOWING = frozenset(["display", "visibility", "opacity", "height", "max-height"])
_LOOKED_AT = frozenset(
    "display visibility opacity animation transform clip position left top right bottom text-indent margin "  # noqa: SIM905
    "margin-left margin-right padding padding-left padding-right padding-top padding-bottom overflow height width "
    "max-height max-width min-height min-width font font-size float white-space "
    "overflow-x overflow-y text-decoration text-decoration-line vertical-align".split()
)


_Counted = dict[str, tuple[int, str]]
"""What is said, by property, and when."""


class Rules:
    """Collects the rules of a page for single names. sizes_elsewhere: others give letters a size, nobody knows which.

    A later rule counts before an earlier one, one for an id before one for a class, one with a tag before one without.
    Where one that is not understood may show what others hide, it is shown.
    """

    def __init__(self) -> None:
        self._styles: dict[str, tuple[_Counted, _Counted]] = {}
        self._doubtful: set[str] = set()
        self._count = 0
        self.sizes_elsewhere = False

    def read(self, css: str, media: str = "") -> None:
        """Add what a `<style>` says, for readers of that kind."""
        for selectors, text, for_some in _rules(css, _media(media)):
            style = _looked_at(declarations(text))
            if style.said or style.weighty:
                self._count += 1
                self._read(selectors.split(","), style, for_some=for_some)

    def of(self, tag: str, attributes: Mapping[str, str]) -> list[Style]:
        """What they say of an element, the strongest last."""
        styles: list[Style] = []
        if self._styles:
            groups = _names(tag, attributes)
            for names in groups:
                found = [self._styles[name] for name in names if name in self._styles]
                if found:
                    styles.append(Style(*map(_latest, zip(*found, strict=True))))
            if styles and not self._doubtful.isdisjoint(groups[0] + groups[2]) and _hides(laid_over(*styles)):
                return []
        return styles

    def _read(self, selectors: Sequence[str], style: Style, *, for_some: bool) -> None:
        said = laid_over(style)
        shows = not _SHOWING.isdisjoint(said) and not _hides(said)
        counted = (self._counted(style.said), self._counted(style.weighty))
        for one in selectors:
            found = None if for_some else _NAME.fullmatch(one.strip())
            if found is not None:
                self._add(found[1].lower().removeprefix("*") + _ESCAPED.sub(_letter, found[2]), counted)
                continue
            self.sizes_elsewhere |= is_tiny(said) is False and not for_some
            if shows and len(self._doubtful) < _NAMES:
                self._doubtful.update(_NAMES_IN.findall(" ".join(one.split()[-1:])))

    def _counted(self, part: Mapping[str, str]) -> _Counted:
        return {name: (self._count, value) for name, value in part.items()}

    def _add(self, name: str, counted: tuple[_Counted, _Counted]) -> None:
        known = self._styles.get(name)
        if known is not None:
            self._styles[name] = (known[0] | counted[0], known[1] | counted[1])
        elif len(self._styles) < _NAMES:
            self._styles[name] = counted


def _latest(parts: Sequence[_Counted]) -> dict[str, str]:
    latest: _Counted = {}
    for part in parts:
        for name, pair in part.items():
            latest[name] = max(pair, latest.get(name, pair))
    return {name: value for name, (_, value) in latest.items()}


def _looked_at(style: Style) -> Style:
    return Style(*({name: said for name, said in part.items() if name in _LOOKED_AT} for part in style))


def _hides(style: Mapping[str, str]) -> bool:
    display = style.get("display", "block")
    hidden = display == "none" or style.get("visibility") in ("hidden", "collapse")
    return hidden or is_unseen(style, display) or is_tiny(style) is True


def _letter(found: re.Match[str]) -> str:
    return found[2] or chr(min(int(found[1], 16), 0x10FFFF))


def _names(tag: str, attributes: Mapping[str, str]) -> list[list[str]]:
    """The names of an element, the strongest last."""
    classes = [f".{name}" for name in attributes.get("class", "").split()]
    marks = [f"#{attributes['id']}"] if "id" in attributes else []
    return [classes, [tag + name for name in classes], marks, [tag + name for name in marks]]


def _media(condition: str) -> str:
    """For whom rules hold: "" for all."""
    kinds = {" ".join(kind.split()).lower() for kind in condition.split(",")}
    if kinds & _FOR_ALL:
        return ""
    return _DOUBT if any(not _NOT_AT_A_DESK.search(kind) for kind in kinds) else _APART


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
    if begin[:9].lower() == "@supports":
        return _DOUBT
    return begin or _APART


def _rules(css: str, outer: str) -> Iterator[tuple[str, str, bool]]:
    """Selectors and style of the rules that hold for every reader, or may hold for some."""
    text = plain_css(css).replace("<!--", " ").replace("-->", " ")
    blocks: list[str] = []
    apart, some = int(outer == _APART), int(outer == _DOUBT)
    stray = ""  # an end too many spoils what follows
    for piece in re.split(r"(?<=[{}])", text):
        if piece.endswith("{"):
            blocks.append(_APART if stray else _block(piece[:-1]))
            stray = ""
            some += blocks[-1] == _DOUBT
            apart += blocks[-1] not in ("", _DOUBT)
        elif piece.endswith("}") and not blocks:
            stray = piece
        elif piece.endswith("}"):
            block = blocks.pop()
            some -= block == _DOUBT
            apart -= block not in ("", _DOUBT)
            if block and not block.startswith("@") and not apart:
                yield block, piece[:-1], some > 0
