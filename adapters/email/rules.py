"""What the rules of a page (`<style>`) say of elements by name: which no reader sees, and whose letters have a size. Pure.

Rules for some screens alone (`@media`) and selectors of more than one element are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from adapters.email.unseen import declarations, is_tiny, is_unseen, without_comments

__all__ = ["Rules", "rules_of"]

_NAME = re.compile(r"(\w*)([.#][\w-]+)")
_MEDIA = re.compile(r"\bmedia\s*+=\s*+[\"']?([^\"'>]*)", re.IGNORECASE)
_FOR_ALL = re.compile(r"@media\s++(?:all|screen)\s*+", re.IGNORECASE)
_TAG = 1000
"""Characters of a tag that are looked at."""


class Rules:
    """Collects the rules of a page; of two for the same name the later one holds."""

    def __init__(self) -> None:
        self._shown: dict[str, bool] = {}
        self._tiny: dict[str, bool] = {}

    def read(self, css: str) -> None:
        """Add what a `<style>` says."""
        for selectors, text in _rules(css):
            style = declarations(text)
            names = [tag.lower() + name for tag, name in _named(selectors)]
            if "display" in style or "visibility" in style or is_unseen(style):
                self._shown |= dict.fromkeys(names, not is_unseen(style))
            if (tiny := is_tiny(style)) is not None:
                self._tiny |= dict.fromkeys(names, tiny)

    def hide(self, tag: str, attributes: Mapping[str, str]) -> bool:
        """Whether an element is hidden by what is said of its names: an id counts before a class, with its tag before without."""
        found = _said(self._shown, tag, attributes)
        return bool(found) and not all(found)

    def are_tiny(self, tag: str, attributes: Mapping[str, str]) -> bool | None:
        """Whether its letters have no size to be read at; `None`: nothing is said of that."""
        found = _said(self._tiny, tag, attributes)
        return all(found) if found else None


def rules_of(html: str) -> Rules:
    """The rules of all `<style>` of a page, wherever they stand, for whoever reads at a screen of whatever size."""
    rules, low, at = Rules(), html.lower(), 0
    start = low.find("<style")
    while start >= 0:
        comment = low.find("<!--", at, start)  # for Outlook alone
        if comment >= 0:
            if (end := low.find("-->", comment + 4)) < 0:
                break
            at = end + 3
        else:
            opened = low.find(">", start)
            closed = low.find("</style", opened)
            if opened < 0:
                break
            media = _MEDIA.search(html[start : min(opened, start + _TAG)])
            if media is None or media[1].strip().lower() in ("", "all", "screen"):
                rules.read(html[opened + 1 : closed if closed >= 0 else len(html)])
            if closed < 0:
                break
            at = closed
        if start < at:
            start = low.find("<style", at)
    return rules


def _said(known: Mapping[str, bool], tag: str, attributes: Mapping[str, str]) -> list[bool]:
    """What is known of the strongest names of an element of which anything is."""
    if known:
        for names in _names(tag, attributes):
            if found := [known[name] for name in names if name in known]:
                return found
    return []


def _names(tag: str, attributes: Mapping[str, str]) -> Iterator[Iterable[str]]:
    """The names of an element, the strongest first."""
    marks = [f"#{attributes['id']}"] if "id" in attributes else []
    classes = [f".{name}" for name in attributes.get("class", "").split()]
    for names in (marks, classes):
        yield [tag + name for name in names]
        yield names


def _named(selectors: str) -> Iterator[tuple[str, str]]:
    for one in selectors.split(","):
        if (found := _NAME.fullmatch(one.strip())) is not None:
            yield found[1], found[2]


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """Selectors and style of the rules that hold for every reader: those in no other block (`@media print`)."""
    text = without_comments(css).replace("<!--", " ").replace("-->", " ")
    blocks: list[str] = []  # what each open block begins with; nothing for one that is for all
    for piece in re.split(r"(?<=[{}])", text):
        if piece.endswith("{"):
            begin = piece[:-1].rpartition(";")[2].strip()  # behind an @import
            blocks.append("" if _FOR_ALL.fullmatch(begin) else begin or "?")
        elif piece.endswith("}") and blocks:
            selectors = blocks.pop()
            if selectors and not selectors.startswith("@") and not any(blocks):
                yield selectors, piece[:-1]
