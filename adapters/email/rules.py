"""What the rules of a page (`<style>`) say of elements by name: which no reader sees, and whose letters have a size. Pure.

Rules for some screens alone (`@media`) and selectors of more than one element are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from adapters.email.unseen import declarations, is_tiny, is_unseen, without_comments

__all__ = ["Rules", "is_for_readers"]

_NAME = re.compile(r"(\w*)([.#][\w-]+)")


def is_for_readers(media: str) -> bool:
    """Whether a `<style>` with that attribute is for whoever reads at a screen, of whatever size."""
    return media.strip().lower() in ("", "all", "screen")


class Rules:
    """Collects the rules of a page; of two for the same name the later one holds."""

    def __init__(self) -> None:
        self._shown: dict[str, bool] = {}
        self._sized: set[str] = set()

    def read(self, css: str) -> None:
        """Add what a `<style>` says."""
        for selectors, text in _rules(css):
            style = declarations(text)
            names = [tag.lower() + name for tag, name in _named(selectors)]
            if "display" in style or "visibility" in style:
                self._shown |= dict.fromkeys(names, not is_unseen(style))
            if is_tiny(style) is False:
                self._sized.update(names)

    def hide(self, tag: str, attributes: Mapping[str, str]) -> bool:
        """Whether an element is hidden by what is said of its names: an id counts before a class, with its tag before without."""
        if not self._shown:
            return False
        for names in _names(tag, attributes):
            found = [self._shown[name] for name in names if name in self._shown]
            if found:
                return not all(found)
        return False

    def size(self, tag: str, attributes: Mapping[str, str]) -> bool:
        """Whether its letters have a size of their own."""
        return bool(self._sized) and any(n in self._sized for names in _names(tag, attributes) for n in names)


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
    """Selectors and style of the rules that stand in no other (`@media`)."""
    text = without_comments(css).replace("<!--", " ").replace("-->", " ")
    depth, selectors = 0, ""
    for piece in re.split(r"(?<=[{}])", text):
        if piece.endswith("{"):
            depth += 1
            selectors = piece[:-1] if depth == 1 else selectors
        elif piece.endswith("}"):
            if depth == 1 and not selectors.lstrip().startswith("@"):
                yield selectors, piece[:-1]
            depth = max(0, depth - 1)
