"""Mail addresses, read with suspicion: whose mail it is must not depend on which parser looks.

Source: https://www.rfc-editor.org/rfc/rfc5322#section-3.4 . Quoted local parts and those that are not ASCII
(RFC 6531) are not taken: no answer could be sent to them everywhere.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["base_address", "canonical", "domain_of", "is_machine", "single_address"]

_LONGEST = 16_384
"""Characters of a field with one address, whatever its name is."""
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?")
_MACHINE = re.compile(
    r"(?:.*[._+-])?(?:no|do[._-]?not|dont|never)[._-]?reply(?:[._+=-].*)?"
    r"|mailer-daemon|postmaster|mail-?daemon|daemon|bounces?(?:[._+=-].*)?|(?:.*[._-])bounces?|auto-?reply"
    r"|.*-(?:bounces|owner|request)|owner-.*",
    re.IGNORECASE,
)


def canonical(text: str) -> str | None:
    """The address in the one form in which addresses are compared: lower case, the domain in its ASCII form.

    `None` for what is none. Local parts are case-sensitive by the letter of the RFC and by no provider.
    """
    local, at, domain = text.strip().rpartition("@")
    if not at or len(text) > 320 or len(local) > 64 or not _LOCAL.fullmatch(local):
        return None
    ascii_domain = _ascii(domain)
    return None if ascii_domain is None else f"{local.lower()}@{ascii_domain}"


def _ascii(domain: str) -> str | None:
    """The domain's ASCII form. Characters that show nothing are refused, where IDNA would drop them."""
    if not domain.isascii():
        if any(unicodedata.category(char)[0] not in "LMN" and char not in ".-" for char in domain):
            return None
        try:
            domain = domain.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    labels = domain.lower().split(".")
    if len(domain) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    return ".".join(labels)


def domain_of(address: str) -> str:
    """The domain of a canonical address."""
    return address.rpartition("@")[2]


def base_address(address: str) -> str:
    """A canonical address without what stands after a plus sign."""
    local, _, domain = address.rpartition("@")
    return f"{local.partition('+')[0] or local}@{domain}"


def is_machine(address: str) -> bool:
    """Whether nobody reads what is sent there."""
    return _MACHINE.fullmatch(address.rpartition("@")[0]) is not None


def single_address(value: str) -> tuple[str, str] | None:
    """The one address in a From or Reply-To, canonical, and the name as it is written (still encoded).

    `None` where there is none or more than one. The address in angle brackets counts, whatever the name claims.
    """
    masked = _masked(value) if len(value) <= _LONGEST else None
    if masked is None:
        return None
    opened, closed = masked.count("<"), masked.count(">")
    if (opened, closed) == (0, 0):
        found = canonical(masked) if '"' not in value else None
        return None if found is None else (found, "")
    start, end = masked.find("<"), masked.find(">")
    if (opened, closed) != (1, 1) or end < start or masked[end + 1 :].strip() or '"' in value[end:]:
        return None
    if any(char in masked[:start] for char in ",;:"):
        return None
    found = canonical(value[start + 1 : end])
    return None if found is None else (found, _unquoted(value[:start]))


def _masked(value: str) -> str | None:
    """The value with quoted strings and comments blanked out; `None` when one of them does not end."""
    out: list[str] = []
    depth, quoted, escaped = 0, False, False
    for char in value:
        inside = quoted or depth > 0
        out.append(" " if inside or char in '"(' else char)
        if escaped:
            escaped = False
        elif inside and char == "\\":
            escaped = True
        elif quoted:
            quoted = char != '"'
        elif char == '"' and depth == 0:
            quoted = True
        elif char == "(":
            depth += 1
        elif char == ")" and depth > 0:
            depth -= 1
    return None if quoted or depth else "".join(out)


def _unquoted(name: str) -> str:
    name = name.strip()
    if len(name) >= 2 and name[0] == name[-1] == '"':
        name = re.sub(r"\\(.)", r"\1", name[1:-1])
    return name
