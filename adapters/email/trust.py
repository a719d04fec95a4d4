"""Whether a mail is from whom it says. Pure.

Only our own mail server knows, and it writes what it found into Authentication-Results, above everything that came
with the mail: https://www.rfc-editor.org/rfc/rfc8601 . So the topmost such field counts, and only when it carries our
server's name; any other is what a stranger wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adapters.email.headers import without_comments

__all__ = ["is_forged", "is_genuine"]

_MOST = 8_192
_RESULT = re.compile(r"\s*([A-Za-z][\w-]*)(?:/\d+)?\s*=\s*([A-Za-z]+)")
_PROPERTY = re.compile(r"\b(header|smtp|policy)\.([A-Za-z][\w-]*)\s*=\s*(\"[^\"]*\"|[^\s;]+)")


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
    return value.strip('"').rpartition("@")[2].lower().rstrip(".")


def _results(field: str, authserv_id: str) -> list[_Result] | None:
    """What a field says; `None` when it is not our server's."""
    head, *rest = _split(without_comments(field[:_MOST]))
    name = head.split()
    if not name or name[0].strip('"').lower() != authserv_id.lower():
        return None
    return list(_read(rest))


def _read(parts: Sequence[str]) -> Iterator[_Result]:
    for part in parts:
        if found := _RESULT.match(part):
            rest = part[found.end() :]
            properties = {f"{kind}.{name}".lower(): value for kind, name, value in _PROPERTY.findall(rest)}
            yield _Result(found[1].lower(), found[2].lower(), properties)


def _split(field: str) -> list[str]:
    """At semicolons outside of quoted strings."""
    parts, quoted = [""], False
    for char in field:
        quoted ^= char == '"'
        if char == ";" and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    return parts
