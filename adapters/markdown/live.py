"""The beginning of a Markdown text that still grows, such that no half mark shows. Pure.

What stands open at the end (a code span, bold, a link being written) is held back for a moment when it is short, and shown as it
is when it turns out to be long: then it is prose.
"""

from __future__ import annotations

import re

__all__ = ["settled"]

_HELD = 120
"""Characters that are held back at most."""
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)", re.MULTILINE)
_MARKS = re.compile(r"\\.|`+|\*\*|\*|~~|\|\||!?\[|\]\([^)\s]*\)?|\]|_+|<[^>\s]*$", re.DOTALL)


def settled(markdown: str) -> str:
    """The part of `markdown` that will look the same when more has come."""
    opened = _open_fence(markdown)
    if opened is not None:
        return _settled_code(markdown, opened)
    start = markdown.rfind("\n\n") + 2 if "\n\n" in markdown else 0
    tail = markdown[start:]
    cut = _open_from(tail)
    if cut is None or len(tail) - cut > _HELD:
        return markdown
    return markdown[: start + cut].rstrip()


def _open_fence(text: str) -> int | None:
    """Where the code block begins that is still open at the end; `None` when none is."""
    fence: tuple[str, int] | None = None
    for match in _FENCE.finditer(text):
        mark = match[1]
        if fence is None:
            fence = mark, match.start()
        elif mark[0] == fence[0][0] and len(mark) >= len(fence[0]):
            fence = None
    return None if fence is None else fence[1]


def _settled_code(text: str, opened: int) -> str:
    """Inside a code block: no opening line without code, and no last line that may become the closing one."""
    head, _, last = text.rpartition("\n")
    if last.lstrip()[:1] in ("`", "~"):
        text = head
    _, _, code = text[opened:].partition("\n")
    return text if code.strip() else text[:opened].rstrip()


def _open_from(tail: str) -> int | None:
    """Where the first mark that is still open begins; `None` when all are closed."""
    stack: list[tuple[str, int]] = []
    for match in _MARKS.finditer(tail):
        mark, at = match[0], match.start()
        if mark.startswith("\\"):
            continue
        if stack and stack[-1][0].startswith("`"):
            if mark == stack[-1][0]:
                stack.pop()
            continue
        if mark.startswith("]"):
            _close_link(stack, mark, at, tail)
        elif mark in ("[", "![", "<") or mark.startswith("<"):
            stack.append(("[", at))
        elif any(open_mark == mark for open_mark, _ in stack):
            while stack.pop()[0] != mark:
                pass
        elif not _is_word_inside(tail, at, mark):
            stack.append((mark, at))
    return min((at for _, at in stack), default=None)


def _close_link(stack: list[tuple[str, int]], mark: str, at: int, tail: str) -> None:
    opened = next((i for i in range(len(stack) - 1, -1, -1) if stack[i][0] == "["), None)
    if opened is None:
        return
    unfinished = (mark.startswith("](") and not mark.endswith(")")) or (mark == "]" and at + 1 == len(tail))
    if not unfinished:
        del stack[opened:]


def _is_word_inside(tail: str, at: int, mark: str) -> bool:
    """`snake_case`, `2*3`, `* item`: a mark that opens nothing."""
    before = tail[at - 1] if at else " "
    after = tail[at + len(mark)] if at + len(mark) < len(tail) else ""
    if after.isspace():
        return True
    return mark[0] in "_*" and before.isalnum() and (after == "" or after.isalnum()) and mark in ("_", "*")
