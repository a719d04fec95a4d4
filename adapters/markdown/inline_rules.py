"""Rules of the dialect inside a line of text, in the form of the parser's own rules."""

from __future__ import annotations

import re
import unicodedata

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, image, link
from markdown_it.rules_inline.state_inline import Delimiter

_MAX_LINK_DEPTH = 12
_MAX_MARKS = 20_000  # runs of `*` and `_` in one text; what comes after them is prose
_OPENS_UNDERSCORE = frozenset("([{<\"'*~|“‘«‹„‚—–-:,;>")
_GLUE_AFTER_UNDERSCORE = frozenset("/\\@=&%+#$")
_ESCAPABLE = frozenset("*_~`[]#>|!")
_LINE_MARK = re.compile(r"(?:^|\n)[ \t]*\d{0,9}\Z")
_BRACKET = re.compile(r"\\.|\[|\](\()?", re.DOTALL)


def install(md: MarkdownIt) -> None:
    """Puts the rules in the places of the stock ones."""
    inline = md.inline
    inline.add_terminator_char("|")
    inline.ruler.at("newline", _by_first_character)
    inline.ruler.disable(["escape", "emphasis", "link", "image"])


def _by_first_character(state: StateInline, silent: bool) -> bool:
    """The rule for a character. One look for all of them: a parse spends its time in calls of rules that do not fit."""
    rule = _RULES.get(state.src[state.pos])
    return rule is not None and rule(state, silent)


def _newline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "\n":
        return False
    if not silent:
        # Blanks before a line break are invisible; blanks after it are indentation and stay.
        state.pending = state.pending.rstrip(" \t")
        state.push("softbreak", "br", 0)
    state.pos += 1
    return True


def _escape(state: StateInline, silent: bool) -> bool:
    pos = state.pos
    if state.src[pos] != "\\" or pos + 1 >= state.posMax:
        return False
    char = state.src[pos + 1]
    if char == "\n":
        if not silent:
            state.push("hardbreak", "br", 0)
    elif char == "\\":
        _push_text(state, "\\\\", silent)  # UNC paths, regular expressions, TeX: both stay
    elif char in _ESCAPABLE or (char in "-+.)" and _LINE_MARK.search(state.src[max(0, pos - 24) : pos])):
        _push_text(state, char, silent)
    else:
        return False
    state.pos = pos + 2
    return True


def _push_text(state: StateInline, text: str, silent: bool) -> None:
    if not silent:
        state.push("text_special", "", 0).content = text


def _emphasis(state: StateInline, silent: bool) -> bool:
    start, marker = state.pos, state.src[state.pos]
    if silent or marker not in "*_" or state.env.get("marks", 0) > _MAX_MARKS:
        return False
    state.env["marks"] = state.env.get("marks", 0) + 1
    scanned = state.scanDelims(start, marker == "*")
    before = state.src[start - 1] if start else " "
    after_at = start + scanned.length
    after = state.src[after_at] if after_at < state.posMax else " "
    sides = _star_sides if marker == "*" else _underscore_sides
    can_open, can_close = sides(before, after, scanned.can_open, scanned.can_close)
    for _ in range(scanned.length):
        state.push("text", "", 0).content = marker
        state.delimiters.append(
            Delimiter(ord(marker), scanned.length, len(state.tokens) - 1, -1, can_open, can_close)
        )
    state.pos = after_at
    return True


def _star_sides(before: str, after: str, can_open: bool, can_close: bool) -> tuple[bool, bool]:
    if before in "/\\" or (_is_ascii_word(before) and _is_ascii_word(after)):
        can_open = False  # globs and products: src/*.py, 2*3*4, 2**8
    # Scripts without spaces: a mark beside their punctuation may open or close (commonmark-spec issue 650).
    if _is_wide_punctuation(before) and not after.isspace():
        can_close = True
    if _is_wide_punctuation(after) and not before.isspace():
        can_open = True
    return can_open, can_close


def _underscore_sides(before: str, after: str, can_open: bool, can_close: bool) -> tuple[bool, bool]:
    opens = before.isspace() or before in _OPENS_UNDERSCORE or not before.isascii()
    return can_open and opens, can_close and after not in _GLUE_AFTER_UNDERSCORE


def _is_ascii_word(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _is_wide_punctuation(char: str) -> bool:
    return not char.isascii() and unicodedata.category(char).startswith("P")


def _link(state: StateInline, silent: bool) -> bool:
    return state.src[state.pos] == "[" and state.pos in _link_starts(state) and link(state, silent)


def _image(state: StateInline, silent: bool) -> bool:
    return state.src[state.pos] == "!" and state.pos + 1 in _link_starts(state) and image(state, silent)


def _link_starts(state: StateInline) -> set[int]:
    """Brackets that could begin a link, found in one pass: the stock rule looks to the end for each `[`."""
    known: dict[str, set[int]] = state.env.setdefault("link_starts", {})
    if state.src not in known:
        known[state.src] = _scan_link_starts(state.src)
    return known[state.src]


def _scan_link_starts(source: str) -> set[int]:
    open_at: list[int] = []
    starts: set[int] = set()
    for found in _BRACKET.finditer(source):
        if found[0] == "[":
            open_at.append(found.start())
        elif found[0].startswith("]") and open_at:
            start = open_at.pop()
            if found[1] and len(open_at) < _MAX_LINK_DEPTH:
                starts.add(start)
    return starts


def _spoiler(state: StateInline, silent: bool) -> bool:
    src, start = state.src, state.pos
    if not src.startswith("||", start):
        return False
    # The next pair must be the closing one: one look per pair, and `a || b || c` is not touched.
    end = src.find("||", start + 2, state.posMax)
    if end <= start + 2 or src[start + 2].isspace() or src[end - 1].isspace():
        return False
    if (start and _is_joined(src[start - 1])) or (end + 2 < len(src) and _is_joined(src[end + 2])):
        return False
    if not silent:
        maximum = state.posMax
        state.pos, state.posMax = start + 2, end
        state.push("spoiler_open", "", 1).markup = "||"
        state.md.inline.tokenize(state)
        state.push("spoiler_close", "", -1).markup = "||"
        state.posMax = maximum
    state.pos = end + 2
    return True


def _is_joined(char: str) -> bool:
    return char.isalnum() or char in "|_)]"


_RULES = {
    "\n": _newline,
    "\\": _escape,
    "|": _spoiler,
    "*": _emphasis,
    "_": _emphasis,
    "[": _link,
    "!": _image,
}
