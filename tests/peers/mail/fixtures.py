"""Fixtures for tests that need mail servers."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.peers.mail import Dovecot, SmtpPeer, find_dovecot


@pytest.fixture(scope="session")
def dovecot() -> Iterator[Dovecot]:
    """A running IMAP server that all tests of a process share: each takes a user of its own."""
    if find_dovecot() is None:
        pytest.skip("Dovecot is not installed (dovecot-imapd, dovecot-lmtpd)")
    server = Dovecot()
    server.start()
    yield server
    server.aclose()


@pytest.fixture
async def smtp_peer(dovecot: Dovecot) -> AsyncIterator[SmtpPeer]:
    """A running submission server; fails the test at its end if there were violations."""
    peer = SmtpPeer(dovecot.cert, dovecot.key)
    await peer.start()
    yield peer
    await peer.stop()
    assert peer.violations == []
