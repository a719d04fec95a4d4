"""What the elements of HTML are shown as: lines, blocks, cells, boxes beside each other, or not at all. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["APART", "AS_IT_STANDS", "NO_TEXT", "OWN_SIZE", "display_of", "is_block", "is_box"]

NO_TEXT = frozenset(
    "script style title template noscript object svg datalist video audio canvas iframe noembed noframes "  # noqa: SIM905
    "annotation annotation-xml progress meter".split()
)
"""Not the head: what of HTML5 the parser does not know, it leaves in there where a page has no <body>."""
AS_IT_STANDS = frozenset(["pre", "xmp", "listing", "plaintext"])
APART = frozenset(["p", "h1", "h2", "h3", "h4", "h5", "h6", "figure"])
OWN_SIZE = frozenset(["button", "select", "textarea", "input"])
"""Their letters do not take the size of what is around."""
_BESIDE = OWN_SIZE | {"img", "label", "option"}
_BLOCKS = APART | frozenset(
    "address article aside blockquote caption center dd details dir div dl dt fieldset figcaption footer form header "  # noqa: SIM905
    "hgroup hr layer legend li listing main menu nav ol optgroup plaintext pre section summary ul xmp".split()
)
_TABLES = {
    "table": "table",
    "thead": "table-header-group",
    "tbody": "table-row-group",
    "tfoot": "table-footer-group",
    "tr": "table-row",
    "td": "table-cell",
    "th": "table-cell",
}
_GAPS = ("padding", "padding-left", "padding-right", "margin", "margin-left", "margin-right")
_GAP = re.compile(r"(?<![\d.-])(?:[5-9]|[1-9]\d{1,2})(?:\.\d+)?p[xt]")


def display_of(tag: str, attributes: Mapping[str, str], style: Mapping[str, str]) -> str:
    """How an element is shown (CSS `display`): as the page says, else as its tag has it."""
    if "display" in style:
        return style["display"]
    if "hidden" in attributes or (tag == "dialog" and "open" not in attributes):
        return "none"
    return _TABLES.get(tag) or ("block" if tag in _BLOCKS else "inline")


def is_block(display: str) -> bool:
    """Whether it begins a line and ends one. A cell does neither."""
    return not display.startswith(("inline", "table-cell", "contents"))


def is_box(tag: str, style: Mapping[str, str]) -> bool:
    """Whether an element that is no line of its own stands beside its neighbours all the same."""
    if tag in _BESIDE or not style:
        return tag in _BESIDE
    display = style.get("display", "")
    return (
        display.startswith("inline-")
        or display == "table-cell"
        or style.get("float", "none") in ("left", "right")
        or any(_GAP.search(style[name]) for name in _GAPS if name in style)
    )
