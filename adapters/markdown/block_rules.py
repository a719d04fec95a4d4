"""Rules of the dialect for blocks, in the form of the parser's own rules."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, hr, list_block, table

_MAX_CONTAINERS = 12
_MAX_COLUMNS = 64


def install(md: MarkdownIt) -> None:
    """Puts the rules in the places of the stock ones."""
    block = md.block.ruler
    block.at("blockquote", _blockquote, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    block.at("hr", _rule, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    block.at("list", _list, {"alt": ["paragraph", "reference", "blockquote"]})
    block.at("table", _table, {"alt": ["paragraph", "reference"]})
    block.at("paragraph", _paragraph)


def _rule(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    if not hr(state, start_line, end_line, silent):
        return False
    if not silent:
        begin = state.bMarks[start_line] + state.tShift[start_line]
        state.tokens[-1].content = state.src[begin : state.eMarks[start_line]].rstrip()
    return True


def _blockquote(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    marker = state.bMarks[start_line] + state.tShift[start_line]
    # `>5`, `>=`, `>>> print(1)` are prose: a quotation has a blank after its mark.
    if state.level >= _MAX_CONTAINERS or state.src[marker + 1 : marker + 2] not in ("", " ", "\t", "\n"):
        return False
    return blockquote(state, start_line, end_line, silent)


def _list(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    return state.level < _MAX_CONTAINERS and list_block(state, start_line, end_line, silent)


def _table(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    known = len(state.tokens)
    if state.src.count("|", state.bMarks[start_line], state.eMarks[start_line]) > _MAX_COLUMNS:
        return False
    if not table(state, start_line, end_line, silent):
        return False
    if not silent and _has_surplus_cells(state, start_line):
        del state.tokens[known:]  # the stock rule drops surplus cells: show the source instead
        state.line = start_line
        return False
    return True


def _has_surplus_cells(state: StateBlock, start_line: int) -> bool:
    columns = _count_cells(state, start_line)
    return any(_count_cells(state, line) > columns for line in range(start_line + 2, state.line))


def _count_cells(state: StateBlock, line: int) -> int:
    row = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()
    bars = re.findall(r"\\\||\|", row)
    inner = row.removeprefix("|")
    closed = inner.endswith("|") and not inner.endswith("\\|")
    return bars.count("|") - row.startswith("|") - closed + 1


def _paragraph(state: StateBlock, start_line: int, _end_line: int, silent: bool) -> bool:
    """The stock rule, except that every line keeps the indentation that its author gave it."""
    del silent
    line = start_line + 1
    outer, state.parentType = state.parentType, "paragraph"
    while line < state.lineMax and not state.isEmpty(line) and not _ends_paragraph(state, line):
        line += 1
    state.parentType = outer
    state.line = line
    first = state.bMarks[start_line]
    if state.src[first : first + state.tShift[start_line]].strip(" \t"):
        first += state.tShift[start_line]  # the list's own marker stands there
    lines = [state.src[first : state.eMarks[start_line]]]
    lines += [state.src[state.bMarks[n] : state.eMarks[n]] for n in range(start_line + 1, line)]
    state.push("paragraph_open", "p", 1).map = [start_line, line]
    token = state.push("inline", "", 0)
    token.content, token.map, token.children = "\n".join(lines).rstrip(" \t\n"), [start_line, line], []
    state.push("paragraph_close", "p", -1)
    return True


def _ends_paragraph(state: StateBlock, line: int) -> bool:
    if state.sCount[line] - state.blkIndent > 3 or state.sCount[line] < 0:
        return False
    silently = True
    rules = state.md.block.ruler.getRules("paragraph")
    return any(rule(state, line, state.lineMax, silently) for rule in rules)
