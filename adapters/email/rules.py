"""What the rules of a page (`<style>`) say of elements by name: which no reader sees, and whose letters have a size. Pure.

Rules for some screens alone (`@media`) and selectors of more than one element are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from adapters.email.unseen import declarations, is_tiny, without_comments

__all__ = ["Rules", "rules_of"]

_NAME = re.compile(r"(\w*)([.#][\w-]+)")
_MEDIA = re.compile(r"\bmedia\s*+=\s*+[\"']?([^\"'>]*)", re.IGNORECASE)
_FOR_ALL = re.compile(r"@media\s++(?:all|screen)\s*+", re.IGNORECASE)
_LOOKED_AT = frozenset(
    [
        "display",
        "visibility",
        "opacity",
        "transform",
        "clip",
        "position",
        "left",
        "top",
        "right",
        "bottom",
        "text-indent",
        "margin",
        "margin-left",
        "padding",
        "padding-left",
        "overflow",
        "height",
        "width",
        "max-height",
        "max-width",
        "min-height",
        "min-width",
        "font",
        "font-size",
        "float",
    ]
)
_BEGINNINGS = re.compile(r"<!--|<(?:style|script|textarea|title)(?=[\s>/])", re.IGNORECASE | re.ASCII)
_ENDS = {
    "<!--": re.compile("-->"),
    **{
        f"<{tag}": re.compile(f"</{tag}", re.IGNORECASE | re.ASCII)
        for tag in ("style", "script", "textarea", "title")
    },
}
"""What may stand in a style, a comment (for Outlook alone), a script or a field is no tag."""
_TAG = 1000
"""Characters of a tag that are looked at."""


class Rules:
    """Collects the rules of a page for single names. sizes_elsewhere: others give letters a size, nobody knows which.

    A later rule counts before an earlier one, one for an id before one for a class, one with a tag before one without.
    """

    def __init__(self) -> None:
        self._styles: dict[str, tuple[int, dict[str, str]]] = {}
        self._count = 0
        self.sizes_elsewhere = False

    def read(self, css: str) -> None:
        """Add what a `<style>` says."""
        for selectors, text in _rules(css):
            style = {name: value for name, value in declarations(text).items() if name in _LOOKED_AT}
            if not style:
                continue
            self._count += 1
            for one in selectors.split(","):
                found = _NAME.fullmatch(one.strip())
                if found is None:
                    self.sizes_elsewhere |= is_tiny(style) is False
                    continue
                name = found[1].lower() + found[2]
                self._styles[name] = (self._count, {**self._styles.get(name, (0, {}))[1], **style})

    def of(self, tag: str, attributes: Mapping[str, str]) -> dict[str, str]:
        """What they say of an element, by property."""
        style: dict[str, str] = {}
        if self._styles:
            for names in _names(tag, attributes):
                found = [self._styles[name] for name in names if name in self._styles]
                for _, said in sorted(found, key=itemgetter(0)):
                    style |= said
        return style


def rules_of(html: str) -> Rules:
    """The rules of all `<style>` of a page, wherever they stand, for whoever reads at a screen of whatever size."""
    rules, at = Rules(), 0
    for begin in _BEGINNINGS.finditer(html):
        if begin.start() < at:
            continue
        tag = begin[0].lower()
        end = _ENDS[tag].search(html, begin.end())
        if end is None and tag != "<style":
            break
        at = len(html) if end is None else end.start()
        opened = html.find(">", begin.end(), at)
        if tag == "<style" and opened >= 0:
            media = _MEDIA.search(html[begin.end() : min(opened, begin.end() + _TAG)])
            if media is None or media[1].strip().lower() in ("", "all", "screen"):
                rules.read(html[opened + 1 : at])
    return rules


def _names(tag: str, attributes: Mapping[str, str]) -> Iterator[Sequence[str]]:
    """The names of an element, the strongest last."""
    classes = [f".{name}" for name in attributes.get("class", "").split()]
    marks = [f"#{attributes['id']}"] if "id" in attributes else []
    for names in (classes, marks):
        yield names
        yield [tag + name for name in names]


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """Selectors and style of the rules that hold for every reader: those in no other block (`@media print`)."""
    text = without_comments(css).replace("<!--", " ").replace("-->", " ")
    blocks: list[str] = []  # what each open block begins with; nothing for one that is for all
    apart = 0  # those that are not
    for piece in re.split(r"(?<=[{}])", text):
        if piece.endswith("{"):
            begin = piece[:-1].rpartition(";")[2].strip()  # behind an @import
            blocks.append("" if _FOR_ALL.fullmatch(begin) else begin or "?")
            apart += bool(blocks[-1])
        elif piece.endswith("}") and blocks:
            selectors = blocks.pop()
            apart -= bool(selectors)
            if selectors and not selectors.startswith("@") and not apart:
                yield selectors, piece[:-1]
