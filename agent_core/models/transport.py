"""HTTP to one provider: the only file of the agent that knows the HTTP library."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import aiohttp
from aiohttp.http_exceptions import ContentEncodingError
from yarl import URL

from agent_core.models.limits import Limits
from hermes.config import Network
from hermes.errors import ConfigError, ModelError
from hermes.trust import trusted_for

__all__ = ["Answer", "Transport"]

_LARGEST_BODY = 32 * 1024 * 1024
_LARGEST_HEADER = 64 * 1024
_KEPT = 30.0
"""Seconds for which an idle connection is kept."""


@contextmanager
def _translated(host: str) -> Iterator[None]:
    """Errors of the library and of the sockets under it become `ModelError`."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise ModelError(f"{host} could not be reached in time.", kind="timeout") from error
    except TimeoutError as error:
        raise ModelError(f"{host} did not answer in time.", kind="timeout") from error
    except (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError) as error:
        raise ModelError(
            f"The proxy did not pass the request to {host}; check `network.proxy`.", kind="network"
        ) from error
    except aiohttp.ClientConnectorCertificateError as error:
        told = f"The certificate of {host} could not be verified; is it private, set `network.ca_file`."
        raise ModelError(told, kind="config") from error
    except aiohttp.ClientConnectorError as error:
        raise ModelError(f"{host} could not be reached.", kind="network") from error
    except aiohttp.ClientError as error:
        if isinstance(error.__cause__, ContentEncodingError):
            raise ModelError(f"{host} sent an answer that cannot be decoded.", kind="malformed") from error
        raise ModelError(f"The connection to {host} was lost.", kind="network") from error


@dataclass(slots=True)
class Answer:
    """A response whose body has not been read. Valid inside the `async with` that gave it."""

    status: int
    headers: Mapping[str, str]
    _response: aiohttp.ClientResponse
    _timer: asyncio.Timeout
    _silence: float

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes. The time limit begins anew with each piece."""
        loop = asyncio.get_running_loop()
        self._timer.reschedule(loop.time() + self._silence)
        async for chunk in self._response.content.iter_any():
            self._timer.reschedule(loop.time() + self._silence)
            yield chunk

    async def body(self, limit: int = _LARGEST_BODY) -> bytes:
        """The whole body, cut at `limit` bytes."""
        parts: list[bytes] = []
        size = 0
        async for chunk in self.chunks():
            parts.append(chunk)
            size += len(chunk)
            if size >= limit:
                break
        return b"".join(parts)[:limit]

    def hurry(self, seconds: float) -> None:
        """Wait at most so long for the rest."""
        self._timer.reschedule(asyncio.get_running_loop().time() + seconds)


class Transport:
    """A pool of connections to one provider, with one TLS context.

    Building it reads certificates: do it off the loop.
    """

    def __init__(self, base_url: str, headers: Mapping[str, str], limits: Limits, network: Network) -> None:
        self._base = base_url.rstrip("/")
        self._host = urlsplit(base_url).hostname or base_url
        self._headers = {
            "Accept-Encoding": "identity",
            "User-Agent": "hermes-gateway",
            **headers,
        }
        self._limits = limits
        self._proxy = _proxy(network.proxy_for(self._host))
        self._trust = _trust(base_url, network)
        self._session: aiohttp.ClientSession | None = None

    def _opened(self) -> aiohttp.ClientSession:
        """The pool, which belongs to the loop that asks first."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT, ssl=self._trust),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, connect=self._limits.connect),
                headers=self._headers,
                max_line_size=_LARGEST_HEADER,
                max_field_size=_LARGEST_HEADER,
            )
        return self._session

    def _address(self, path: str) -> URL:
        url = _http_url(self._base + path)
        if url is None:
            raise ModelError(
                f"The address of {self._host} must begin with http:// or https://.", kind="config"
            )
        return url

    @asynccontextmanager
    async def post(
        self, path: str, body: bytes, content_type: str = "application/json"
    ) -> AsyncIterator[Answer]:
        """Send a body.

        Leaving early closes the connection; leaving after the last byte keeps it for the next
        request.
        """
        async with self._ask("POST", path, body, content_type) as answer:
            yield answer

    @asynccontextmanager
    async def get(self, path: str) -> AsyncIterator[Answer]:
        """Ask for JSON."""
        async with self._ask("GET", path, None) as answer:
            yield answer

    @asynccontextmanager
    async def _ask(
        self, method: str, path: str, body: bytes | None, content_type: str = ""
    ) -> AsyncIterator[Answer]:
        with _translated(self._host):
            async with asyncio.timeout(self._limits.first_byte) as timer:
                response = await self._opened().request(
                    method,
                    self._address(path),
                    data=body,
                    headers=None if body is None else {"Content-Type": content_type},
                    allow_redirects=False,
                    proxy=self._proxy,
                )
                try:
                    yield Answer(response.status, response.headers, response, timer, self._limits.silence)
                finally:
                    if not response.content.at_eof():
                        response.close()

    async def aclose(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def _http_url(address: str) -> URL | None:
    """The address as the library takes it, if it is one of http or https."""
    try:
        url = URL(address, encoded=True)
    except ValueError:  # a port that is none, for one
        return None
    return url if url.scheme in ("http", "https") and url.host else None


def _proxy(address: str | None) -> URL | None:
    if address is None:
        return None
    url = _http_url(address)
    if url is None:
        raise ModelError(
            "`network.proxy` cannot be used: it must be an http:// or https:// address.", kind="config"
        )
    return url


def _trust(base_url: str, network: Network) -> ssl.SSLContext:
    try:
        return trusted_for(base_url, network)
    except ConfigError as error:
        raise ModelError(str(error), kind="config") from error
