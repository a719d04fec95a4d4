"""Finds the style sheets of a page. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.email.parser import feed
from adapters.email.rules import Rules

__all__ = ["rules_of"]

_APART = frozenset(["template", "noscript"])


def rules_of(html: str) -> Rules:
    """The rules of all `<style>` of a page, wherever they stand. Raises what `feed` does."""
    sheets = _Sheets()
    if "<style" in html.lower():
        feed(html, sheets)
    return sheets.rules


class _Sheets:
    """Listens for them alone: only the parser knows what is a tag, and what stands in a comment or in another one."""

    def __init__(self) -> None:
        self.rules = Rules()
        self._apart = 0
        self._media = ""
        self._css: list[str] | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _APART:
            self._apart += 1
        elif tag == "style" and not self._apart and attributes.get("type", "").lower() in ("", "text/css"):
            self._css, self._media = [], attributes.get("media", "")

    def end(self, tag: str) -> None:
        if tag in _APART:
            self._apart -= 1
        elif self._css is not None:
            self.rules.read("".join(self._css), self._media)
            self._css = None

    def data(self, text: str) -> None:
        if self._css is not None:
            self._css.append(text)

    def doctype(self) -> None:
        """Changes no rule."""
