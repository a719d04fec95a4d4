"""Whether a mail is from whom it says. Pure.

Only our own mail server knows, and it writes what it found into Authentication-Results, above everything that came
with the mail: https://www.rfc-editor.org/rfc/rfc8601 . So the topmost such field counts, and only when it carries our
server's name; any other is what a stranger wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["is_forged", "is_genuine"]

_MOST = 8_192
_RESULT = re.compile(r"\s*([A-Za-z][\w-]*)(?:/\d+)?\s*=\s*([A-Za-z]+)")
_PROPERTY = re.compile(r"(?<!\S)(header|smtp|policy)\.([A-Za-z][\w-]*)\s*=\s*([^\s;]+)")


@dataclass(frozen=True, slots=True)
class _Result:
    """One method's outcome. properties: such as `header.from`, lower case."""

    method: str
    outcome: str
    properties: dict[str, str]


def is_genuine(fields: Sequence[str], authserv_id: str, domain: str) -> bool:
    """Whether our server says that a mail with this (ASCII) From domain comes from there.

    fields: the Authentication-Results fields, the topmost first.
    """
    results = _results(fields[0], authserv_id) if fields else None
    if results is None:
        return False
    policy = [result for result in results if result.method == "dmarc"]
    if policy:
        return all(result.outcome == "pass" and _is_about(result, domain) for result in policy)
    return any(result.outcome == "pass" and _signs(result, domain) for result in results)


def is_forged(fields: Sequence[str], authserv_id: str) -> bool:
    """Whether our server says that the From's domain disowns the mail (DMARC): an answer would go to a victim."""
    results = _results(fields[0], authserv_id) if fields else None
    policy = [result for result in results or () if result.method == "dmarc"]
    return any(result.outcome == "fail" for result in policy)


def _is_about(result: _Result, domain: str) -> bool:
    return _domain(result.properties.get("header.from", "")) == domain


def _signs(result: _Result, domain: str) -> bool:
    """A signature of that domain or of one above it, or the envelope's sender at it."""
    if result.method == "dkim":
        signer = _domain(result.properties.get("header.d") or result.properties.get("header.i", ""))
        return "." in signer and (domain == signer or domain.endswith("." + signer))
    if result.method == "spf":
        return _domain(result.properties.get("smtp.mailfrom", "")) == domain
    return False


def _domain(value: str) -> str:
    return value.rpartition("@")[2].lower().rstrip(".")


def _results(field: str, authserv_id: str) -> list[_Result] | None:
    """What a field says; `None` when it is not our server's."""
    plain = _plain(field[:_MOST])
    if plain is None:
        return None
    head, *rest = plain.split(";")
    name = head.split()
    if not name or name[0].lower() != authserv_id.lower():
        return None
    return list(_read(rest))


def _plain(field: str) -> str | None:
    """The field without comments and quotes; `None` when one of them does not end.

    What stands in quotes may be the sender's own words (`"@bank.org"@evil.org` is an address at evil.org): of its
    signs only those stay that separate nothing.
    """
    out: list[str] = []
    depth, quoted, escaped = 0, False, False
    for char in field:
        if escaped:
            escaped = False
            out.append("_" if quoted else " ")
        elif (quoted or depth) and char == "\\":
            escaped = True
        elif char == '"' and not depth:
            quoted = not quoted
        elif quoted:
            out.append(char if char.isalnum() or char in ".-_" else "_")
        elif char in "()":
            depth = max(0, depth + (1 if char == "(" else -1))
            out.append(" ")
        else:
            out.append(" " if depth else char)
    return None if quoted or depth else "".join(out)


def _read(parts: Sequence[str]) -> Iterator[_Result]:
    for part in parts:
        if found := _RESULT.match(part):
            rest = part[found.end() :]
            properties = {f"{kind}.{name}".lower(): value for kind, name, value in _PROPERTY.findall(rest)}
            yield _Result(found[1].lower(), found[2].lower(), properties)
