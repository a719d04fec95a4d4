"""Whom TLS clients trust: the machine's authorities and those of the settings, read once for all connections."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Literal

from hermes.config import Network
from hermes.errors import ConfigError

__all__ = ["import_aiohttp", "trusted", "trusted_for"]

_MOST_KEPT = 8
_kept: dict[tuple[object, ...], ssl.SSLContext] = {}
_reading = Lock()


def trusted(network: Network, *more: Path, purpose: Literal["web", "mail"] = "web") -> ssl.SSLContext:
    """A context that verifies host names; everybody who trusts the same files has the same one, until a file changes.

    Its authorities: the machine's, or where it has none those of `certifi`; `network.ca_file`; the files in `more`.
    purpose: HTTP libraries write into a context which protocol they speak, which is nothing for mail servers.
    Blocks while it reads (a megabyte or two): call it off the loop. Raises `ConfigError` for a file that is no PEM.
    """
    files = tuple(path for path in (network.ca_file, *more) if path is not None)
    with _reading:
        key = (purpose, *((path, _state(path)) for path in files))
        if key not in _kept:
            context = _machines()
            for path in files:
                _add(context, path, "network.ca_file" if path == network.ca_file else "ca_file")
            _kept[key] = context
            while len(_kept) > _MOST_KEPT:
                del _kept[next(iter(_kept))]
        return _kept[key]


def trusted_for(url: str, network: Network) -> ssl.SSLContext:
    """`trusted`, or where neither the way to `url` nor its proxy is TLS a context that trusts nobody and reads nothing."""
    is_plain = url.startswith("http://") and not (network.proxy or "").startswith("https://")
    if is_plain and network.ca_file is None:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return trusted(network)


def _machines() -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"] and not _has_folder():
        import certifi  # noqa: PLC0415  a machine without authorities is rare: a slim container

        context.load_verify_locations(certifi.where())
    return context


def _has_folder() -> bool:
    """Whether there is a folder of authorities, which is looked into only when one is needed."""
    folder: str | None = ssl.get_default_verify_paths().capath
    return any(Path(folder or "/nowhere").glob("*.[0-9]"))


def import_aiohttp() -> None:
    """Import aiohttp without the machine's authorities, which it reads twice, for contexts that nobody here uses.

    That is a tenth of a second and two megabytes of each start. A session that is not told whom it trusts (`trusted`)
    trusts nobody then. Does nothing where aiohttp is there already.
    """
    if "aiohttp" in sys.modules:
        return
    with _nobody_trusted():
        import aiohttp  # noqa: F401, PLC0415


@contextmanager
def _nobody_trusted() -> Iterator[None]:
    """New contexts read no authorities meanwhile."""

    def nothing(context: ssl.SSLContext, *purpose: object) -> None:
        pass

    default = ssl.SSLContext.load_default_certs
    ssl.SSLContext.load_default_certs = nothing  # type: ignore[assignment, method-assign]
    ssl.SSLContext.set_default_verify_paths = nothing  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        ssl.SSLContext.load_default_certs = default  # type: ignore[method-assign]
        del ssl.SSLContext.set_default_verify_paths  # what is below it is C's


def _add(context: ssl.SSLContext, path: Path, name: str) -> None:
    try:
        context.load_verify_locations(path)
    except OSError as error:  # ssl.SSLError too
        raise ConfigError(f"{name} ({path}) cannot be read as PEM certificates.") from error


def _state(path: Path) -> tuple[int, int]:
    """What changes with the file's content."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)
