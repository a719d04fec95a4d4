"""Whom TLS clients trust, with real certificates and a real handshake."""

from __future__ import annotations

import ast
import asyncio
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import certifi
import pytest

from hermes.config import Network
from hermes.errors import ConfigError
from hermes.trust import trusted, trusted_for
from tests.peers.mail.dovecot import make_certificate

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("own")
    make_certificate(folder / "cert.pem", folder / "key.pem")
    return folder / "cert.pem", folder / "key.pem"


def is_taken(context: ssl.SSLContext, own: tuple[Path, Path]) -> bool:
    """Whether a client with this context takes the server's certificate."""
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(*own)
    return asyncio.run(shake(server_side, context))


async def shake(server_side: ssl.SSLContext, context: ssl.SSLContext) -> bool:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server_side) as server:
        port = server.sockets[0].getsockname()[1]
        try:
            _, writer = await asyncio.open_connection("localhost", port, ssl=context)
        except ssl.SSLCertVerificationError:
            return False
        writer.close()
        return True


def test_a_certificate_is_taken_where_the_settings_name_it(own: tuple[Path, Path]) -> None:
    assert not is_taken(trusted(Network()), own)
    assert is_taken(trusted(Network(ca_file=own[0])), own)
    assert is_taken(trusted(Network(), own[0], purpose="mail"), own)
    assert not is_taken(trusted_for("http://there", Network()), own)
    assert is_taken(trusted_for("http://there", Network(ca_file=own[0])), own)


def test_who_trusts_the_same_has_the_same_until_the_file_changes(
    own: tuple[Path, Path], tmp_path: Path
) -> None:
    file = tmp_path / "ca.pem"
    file.write_bytes(own[0].read_bytes())
    first = trusted(Network(ca_file=file))
    assert trusted(Network(ca_file=file)) is first
    assert trusted(Network(ca_file=file), purpose="mail") is not first
    assert trusted(Network()) is not first
    file.write_bytes(own[0].read_bytes() + b"\n")
    assert trusted(Network(ca_file=file)) is not first
    assert trusted_for("http://a", Network(proxy="https://proxy")) is trusted(Network())


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_file_that_is_none_is_named(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError, match=r"network\.ca_file .*ca\.pem.* cannot be read as PEM"):
        trusted(Network(ca_file=file))
    with pytest.raises(ConfigError, match=r"^ca_file .*ca\.pem"):
        trusted(Network(), file)


@contextmanager
def machine_of(file: str, folder: str) -> Iterator[dict[str, str]]:
    yield {**os.environ, "SSL_CERT_FILE": file, "SSL_CERT_DIR": folder, "PYTHONPATH": str(ROOT)}


def told(words: str, env: dict[str, str]) -> str:
    done = subprocess.run([sys.executable, "-c", words], env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_machine_without_authorities_has_those_of_certifi(tmp_path: Path, own: tuple[Path, Path]) -> None:
    words = (
        "import sys; from hermes.config import Network; from hermes.trust import trusted\n"
        "print(trusted(Network()).cert_store_stats()['x509_ca'], 'certifi' in sys.modules)"
    )
    with machine_of("/nowhere", str(tmp_path)) as env:
        count, has_certifi = told(words, env).split()
        assert int(count) > 100
        assert has_certifi == "True"
    with machine_of(certifi.where(), str(tmp_path)) as env:
        assert told(words, env).split()[1] == "False"
    (tmp_path / "0123abcd.0").write_bytes(own[0].read_bytes())
    with machine_of("/nowhere", str(tmp_path)) as env:
        assert told(words, env) == "0 False", "a folder is looked into when it is needed"


def test_aiohttp_is_imported_without_authorities_and_nobody_else_is_the_poorer() -> None:
    words = (
        "import ssl; from hermes.trust import import_aiohttp; import_aiohttp(); import_aiohttp()\n"
        "from aiohttp import connector as c\n"
        "found = [c._SSL_CONTEXT_VERIFIED, c._SSL_CONTEXT_UNVERIFIED, ssl.create_default_context()]\n"
        "assert found[0].verify_mode == ssl.CERT_REQUIRED\n"
        "plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT); plain.set_default_verify_paths()\n"
        "print(*(bool(x.cert_store_stats()['x509_ca']) for x in [*found, plain]))"
    )
    with machine_of(certifi.where(), "/nowhere") as env:
        assert told(words, env) == "False False True True"


def test_every_session_of_aiohttp_says_whom_it_trusts() -> None:
    seen = 0
    for room in ("adapters", "agent_core", "gateway", "tools", "media"):
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if not isinstance(node, ast.Call):
                    continue
                name, given = ast.unparse(node.func), {k.arg for k in node.keywords}
                if name.endswith("ClientSession"):
                    assert "connector" in given, path
                if name.endswith("TCPConnector"):
                    assert "ssl" in given, path
                    seen += 1
    assert seen == 3
