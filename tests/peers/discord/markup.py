"""What people see of a message: written from Discord's page on formatting, apart from what writes it.

https://support.discord.com/hc/en-us/articles/210298617 . Discord's own programs read from left to right, the first rule that fits
at a place wins, and a mark without its partner is shown.
"""

import re

_FENCE = re.compile(r"```(?:[A-Za-z0-9_+.#-]*\n)?(.*?)```", re.DOTALL)
_QUOTE = re.compile(r"(?:^> [^\n]*(?:\n|\Z))+", re.MULTILINE)
_HEAD = re.compile(r"^(?:#{1,3} |-# )", re.MULTILINE)
_NUMBERED = re.compile(r"(\d{1,9})\. ")
_ITEM = re.compile(r"^[-*] ", re.MULTILINE)
_GAP = "\u200b"
_PLAIN = (
    ("escape", re.compile(r"\\([^0-9A-Za-z\s])")),
    ("code", re.compile(r"(`+)(.*?[^`])\1(?!`)", re.DOTALL)),
    ("link", re.compile(r"\[((?:\\.|\[[^\[\]\n]*\]|[^\[\]\\\n])*)\]\([a-z]+:[^\s)]*\)")),
    ("address", re.compile(r"<(https?://[^\s<>]+)>")),
    ("address", re.compile(r"(https?://[^\s<>]+)")),
)
_STYLES = (
    re.compile(r"\*(?=\S)((?:\*\*|\\.|[^*\\])+?)(?<=\S)\*(?!\*)", re.DOTALL),
    re.compile(r"\*\*((?:\\.|[^\\])+?)\*\*(?!\*)", re.DOTALL),
    re.compile(r"__((?:\\.|[^\\])+?)__(?!_)", re.DOTALL),
    re.compile(r"~~(?=\S)((?:\\.|[^\\])+?)~~(?!~)", re.DOTALL),
    re.compile(r"\|\|((?:\\.|[^\\])+?)\|\|", re.DOTALL),
)


def displayed(source: str) -> str:
    """The text without marks, escapes undone. Raises `ValueError` where a code block is not closed."""
    parts: list[str] = []
    at = 0
    while at < len(source):
        found = min(
            (m for m in (_FENCE.search(source, at), _QUOTE.search(source, at)) if m), key=_start, default=None
        )
        parts.append(_prose(source[at : found.start() if found else len(source)]))
        if found is None:
            break
        is_code = found.re is _FENCE
        inner = found[1].removesuffix("\n") if is_code else displayed(re.sub("(?m)^> ", "", found[0]))
        parts.append(inner)
        at = found.end()
    return "".join(parts).replace(_GAP, "")


def _start(found: re.Match[str]) -> int:
    return found.start()


def _prose(text: str) -> str:
    if "```" in text:
        raise ValueError("a code block is not closed")
    return _read(_listed(_ITEM.sub("• ", _HEAD.sub("", text))))


def _listed(text: str) -> str:
    """Items are counted on from the first number of their list, whatever their own is. Numbers that lie deeper are left out."""
    next_: int | None = None
    lines = text.split("\n")
    for n, line in enumerate(lines):
        if item := _NUMBERED.match(line):
            next_ = int(item[1]) if next_ is None else next_
            lines[n] = f"{next_}{line[item.end(1) :]}"
            next_ += 1
        elif n and not lines[n - 1].strip() and line[:1].strip():
            next_ = None
    return "\n".join(lines)


def _read(text: str) -> str:
    """From left to right; of the styles that begin at one place the longest holds."""
    shown: list[str] = []
    at = 0
    while at < len(text):
        if text[at] not in "\\`[h<*_~|":
            shown.append(text[at])
            at += 1
            continue
        kind, found = _rule(text, at)
        if found is None:
            shown.append(text[at])
            at += 1
            continue
        shown.append(_read(found[1]) if kind in ("style", "link") else found[found.lastindex or 0])
        at = found.end()
    return "".join(shown)


def _rule(text: str, at: int) -> tuple[str, re.Match[str] | None]:
    for kind, rule in _PLAIN:
        if found := rule.match(text, at):
            return kind, found
    styles = [found for style in _STYLES if (found := style.match(text, at))]
    return "style", max(styles, key=lambda found: found.end(), default=None)
