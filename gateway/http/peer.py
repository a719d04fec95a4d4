"""Who is at the other end. Pure decisions over the socket's address and the headers.

Headers that a proxy sets can be set by anybody, so they count only when the socket's peer is a proxy that
the owner named
(RFC 7239 section 8.1), and their mere presence takes the rights of a local caller away.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

__all__ = ["Networks", "client_address", "is_forwarded", "is_local"]

Networks = tuple[IPv4Network | IPv6Network, ...]
_FORWARDING = ("X-Forwarded-For", "Forwarded", "X-Real-IP")
_FOR = re.compile(r'for="?\[?([0-9A-Fa-f.:]+?)\]?(?::\d+)?"?(?:$|[;,\s])', re.IGNORECASE)


def is_forwarded(headers: Mapping[str, str]) -> bool:
    """Whether the request says that it came through a proxy."""
    return any(name in headers for name in _FORWARDING)


def is_local(peer: str | None, headers: Mapping[str, str]) -> bool:
    """Whether a program on this machine asks directly."""
    address = _address(peer)
    return address is not None and address.is_loopback and not is_forwarded(headers)


def client_address(peer: str | None, headers: Mapping[str, str], trusted: Networks) -> str | None:
    """The address to name in logs: the peer's, or, of a trusted proxy, the last one before such proxies."""
    if not trusted or not is_forwarded(headers) or not _is_trusted(peer, trusted):
        return peer
    for hop in reversed(_hops(headers)):
        if _address(hop) is None:
            return peer
        if not _is_trusted(hop, trusted):
            return hop
    return peer


def _hops(headers: Mapping[str, str]) -> list[str]:
    if listed := headers.get("X-Forwarded-For"):
        return [hop.strip() for hop in listed.split(",")]
    if forwarded := headers.get("Forwarded"):
        return _FOR.findall(forwarded)
    return [headers["X-Real-IP"].strip()]


def _address(text: str | None) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address((text or "").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _is_trusted(text: str | None, trusted: Networks) -> bool:
    address = _address(text)
    return address is not None and any(address in network for network in trusted)
