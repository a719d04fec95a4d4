"""What people see of a mrkdwn text: written from Slack's page on formatting, apart from what writes it.

https://docs.slack.dev/messaging/formatting-message-text . Marks of full width count too, and what stands for a date without
a valid format is shown as it is: https://github.com/speee/jsx-slack/blob/main/docs/about-escape-and-exact-mode.md
"""

import re

_GAP = "\u200b"
_EDGE_BEFORE = r"(?<![A-Za-z0-9*＊_＿~`｀])"
_EDGE_AFTER = r"(?![A-Za-z0-9*＊_＿~`｀])"
_STYLES = [
    re.compile(rf"{_EDGE_BEFORE}[{mark}](?=\S)([^{mark}\n]+?)(?<=\S)[{mark}]{_EDGE_AFTER}")
    for mark in ("*＊", "_＿", "~")
]
_CODE = re.compile(r"((?<![A-Za-z0-9`｀])[`｀][^`｀\n]+[`｀](?![A-Za-z0-9`｀]))")
_LITERAL = re.compile(r"<!date\^0+\^\{_\}\|(.)>")
_HIDDEN = 0xF0000
"""Added to what is shown as it is, so that nothing takes it for a mark."""
_TOKEN = re.compile(r"<([^<>|\n]*)(?:\|([^<>\n]*))?>")


def displayed(source: str) -> str:
    """The text without marks, escapes undone."""
    parts = source.split("```")
    if len(parts) % 2 == 0:
        raise ValueError("a code block is not closed")
    shown = [_code(part) if n % 2 else _prose(part) for n, part in enumerate(parts)]
    return "".join(shown).replace(_GAP, "").translate({_HIDDEN + ord(mark): mark for mark in "*＊_＿~`｀"})


def code_blocks(source: str) -> list[str]:
    """The contents of its code blocks."""
    return [_code(part) for part in source.split("```")[1::2]]


def pings(source: str) -> list[str]:
    """The tokens that notify somebody."""
    found = [target for target, _ in _TOKEN.findall(source)]
    return [t for t in found if t.startswith("@") or (t.startswith("!") and not t.startswith("!date"))]


def _code(part: str) -> str:
    return _unescaped(part.removeprefix("\n").removesuffix("\n"))


def _prose(part: str) -> str:
    part = _LITERAL.sub(lambda literal: chr(_HIDDEN + ord(literal[1])), part)
    lines = [re.sub(r"^> ?", "", line) for line in part.split("\n")]
    pieces = _CODE.split("\n".join(lines))
    return "".join(_unescaped(p[1:-1]) if n % 2 else _styled(p) for n, p in enumerate(pieces))


def _styled(text: str) -> str:
    text = _TOKEN.sub(lambda token: token[2] if token[2] is not None else token[1], text)
    for _ in range(3):
        for style in _STYLES:
            text = style.sub(r"\1", text)
    return _unescaped(text)


def _unescaped(text: str) -> str:
    if re.search(r"[<>]", text) or re.search(r"&(?!amp;|lt;|gt;)", text):
        raise ValueError(f"not escaped: {text[:80]!r}")
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
