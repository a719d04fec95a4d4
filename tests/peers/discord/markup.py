"""What people see of a message: written from Discord's page on formatting, apart from what writes it.

https://support.discord.com/hc/en-us/articles/210298617 . Discord's own programs read from left to right, the first rule that fits
at a place wins, and a mark without its partner is shown.
"""

import re

_FENCE = re.compile(r"```(?:[A-Za-z0-9_+.#-]*\n)?(.*?)```", re.DOTALL)
_GAP = "\u200b"
_RULES = (
    ("escape", re.compile(r"\\([^0-9A-Za-z\s])")),
    ("code", re.compile(r"(?P<ticks>`+)(.*?[^`])(?P=ticks)(?!`)", re.DOTALL)),
    ("link", re.compile(r"\[((?:\\.|[^\]\\])*)\]\((https?://[^\s)]*|[a-z]+:[^\s)]*)\)", re.DOTALL)),
    ("address", re.compile(r"https?://[^\s<>]+")),
    ("inner", re.compile(r"\|\|(.+?)\|\|", re.DOTALL)),
    ("inner", re.compile(r"\*\*((?:\\.|`[^`]*`|[^\\])+?)\*\*(?!\*)", re.DOTALL)),
    ("inner", re.compile(r"__((?:\\.|[^\\])+?)__(?!_)", re.DOTALL)),
    ("inner", re.compile(r"~~(?=\S)((?:\\.|[^\\])+?)~~(?!~)", re.DOTALL)),
    ("inner", re.compile(r"\*(?=\S)((?:\*\*|\\.|[^*\\])+?)(?<=\S)\*(?!\*)", re.DOTALL)),
)
_LINE = re.compile(r"^(?:> ?|#{1,3} |-# )", re.MULTILINE)


def displayed(source: str) -> str:
    """The text without marks, escapes undone. Raises `ValueError` where a code block is not closed."""
    parts, at = [], 0
    for block in _FENCE.finditer(source):
        parts += [_prose(source[at : block.start()]), block[1].removesuffix("\n")]
        at = block.end()
    rest = source[at:]
    if "```" in rest:
        raise ValueError("a code block is not closed")
    return "".join([*parts, _prose(rest)]).replace(_GAP, "")


def _prose(text: str) -> str:
    return _read(_LINE.sub("", text))


def _read(text: str) -> str:
    shown, at = [], 0
    while at < len(text):
        kind, found = _first_rule(text, at)
        if found is None:
            shown.append(text[at])
            at += 1
            continue
        at = found.end()
        match kind:
            case "escape":
                shown.append(found[1])
            case "code":
                shown.append(found[2])
            case "address":
                shown.append(found[0])
            case _:
                shown.append(_read(found[1]))
    return "".join(shown)


def _first_rule(text: str, at: int) -> tuple[str, re.Match[str] | None]:
    if text[at] not in "\\`[h|*_~":
        return "", None
    for kind, rule in _RULES:
        if found := rule.match(text, at):
            return kind, found
    return "", None
