"""Who asks: decided by the socket first, by headers only for proxies that the owner named."""

from ipaddress import ip_network

import pytest
from multidict import CIMultiDict

from gateway.http.peer import client_address, is_local

TRUSTED = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


def address(peer: str | None, headers: dict[str, str]) -> str | None:
    return client_address(peer, CIMultiDict(headers), TRUSTED)


@pytest.mark.parametrize(
    ("peer", "local"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("fe80::1%eth0", False),
        ("", False),
        (None, False),
        ("localhost", False),
    ],
)
def test_only_loopback_is_local(peer: str | None, local: bool) -> None:
    assert is_local(peer, CIMultiDict()) is local


@pytest.mark.parametrize("name", ["X-Forwarded-For", "x-forwarded-for", "Forwarded", "X-Real-IP"])
@pytest.mark.parametrize("value", ["127.0.0.1", "", "for=127.0.0.1"])
def test_what_came_through_a_proxy_is_never_local(name: str, value: str) -> None:
    assert not is_local("127.0.0.1", CIMultiDict({name: value}))


@pytest.mark.parametrize(
    ("peer", "headers", "client"),
    [
        ("1.2.3.4", {"X-Forwarded-For": "9.9.9.9"}, "1.2.3.4"),
        ("10.0.0.1", {"X-Forwarded-For": "9.9.9.9"}, "9.9.9.9"),
        ("10.0.0.1", {"X-Forwarded-For": "6.6.6.6, 9.9.9.9, 10.0.0.2"}, "9.9.9.9"),
        ("10.0.0.1", {"X-Forwarded-For": "10.0.0.3, 10.0.0.2"}, "10.0.0.1"),
        ("10.0.0.1", {"X-Forwarded-For": "9.9.9.9, nonsense"}, "10.0.0.1"),
        ("10.0.0.1", {"Forwarded": "for=9.9.9.9;proto=https"}, "9.9.9.9"),
        ("10.0.0.1", {"Forwarded": 'for=6.6.6.6, For="[2001:db8::1]:4711"'}, "2001:db8::1"),
        ("10.0.0.1", {"Forwarded": "for=_hidden"}, "10.0.0.1"),
        ("10.0.0.1", {"X-Real-IP": " 9.9.9.9 "}, "9.9.9.9"),
        ("10.0.0.1", {}, "10.0.0.1"),
        ("fd00::2", {"X-Real-IP": "9.9.9.9"}, "9.9.9.9"),
        (None, {"X-Real-IP": "9.9.9.9"}, None),
    ],
)
def test_forwarding_headers_count_only_from_trusted_proxies(
    peer: str | None, headers: dict[str, str], client: str | None
) -> None:
    assert address(peer, headers) == client


def test_without_trusted_proxies_the_peer_is_the_client() -> None:
    assert client_address("10.0.0.1", CIMultiDict({"X-Real-IP": "9.9.9.9"}), ()) == "10.0.0.1"
