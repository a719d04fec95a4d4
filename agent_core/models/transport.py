"""HTTP to one provider: the only file that knows the HTTP library.

The library's transport is used without its client: cookies, redirects, authentication flows and decoding
of text are not needed for one POST, and cost half of a request's CPU time.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import httpx

from agent_core.models.limits import Limits
from hermes.config import Network
from hermes.errors import ModelError

__all__ = ["Answer", "Transport"]

_LARGEST_BODY = 32 * 1024 * 1024
_POOL = httpx.Limits(max_connections=None, max_keepalive_connections=32, keepalive_expiry=30.0)


@contextmanager
def _translated(host: str) -> Iterator[None]:
    """Errors of the library and of the sockets under it become `ModelError`."""
    try:
        yield
    except TimeoutError as error:
        raise ModelError(f"{host} did not answer in time.", kind="timeout") from error
    except httpx.ConnectTimeout as error:
        raise ModelError(f"{host} could not be reached in time.", kind="timeout") from error
    except httpx.TimeoutException as error:
        raise ModelError(f"{host} did not answer in time.", kind="timeout") from error
    except httpx.ProxyError as error:
        raise ModelError(
            f"The proxy did not pass the request to {host}; check `network.proxy`.", kind="network"
        ) from error
    except httpx.ConnectError as error:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            told = f"The certificate of {host} could not be verified; is it private, set `network.ca_file`."
            raise ModelError(told, kind="config") from error
        raise ModelError(f"{host} could not be reached.", kind="network") from error
    except httpx.UnsupportedProtocol as error:
        raise ModelError(
            f"The address of {host} must begin with http:// or https://.", kind="config"
        ) from error
    except httpx.DecodingError as error:
        raise ModelError(f"{host} sent an answer that cannot be decoded.", kind="malformed") from error
    except httpx.HTTPError as error:
        raise ModelError(f"The connection to {host} was lost.", kind="network") from error


@dataclass(slots=True)
class Answer:
    """A response whose body has not been read. Valid inside the `async with` that gave it."""

    status: int
    headers: Mapping[str, str]
    _response: httpx.Response
    _timer: asyncio.Timeout
    _silence: float

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes. The time limit begins anew with each piece."""
        loop = asyncio.get_running_loop()
        coded = self.headers.get("content-encoding", "identity") != "identity"
        self._timer.reschedule(loop.time() + self._silence)
        # Decoding is rare (we ask for none), and the way around it is shorter.
        source = (
            self._response.aiter_bytes() if coded else cast("AsyncIterable[bytes]", self._response.stream)
        )
        async for chunk in source:
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
        self._times = {"connect": limits.connect, "read": None, "write": limits.silence, "pool": None}
        self._pool = self._open(_trust(network), network)

    def _open(self, context: ssl.SSLContext, network: Network) -> httpx.AsyncHTTPTransport:
        try:
            return httpx.AsyncHTTPTransport(
                verify=context, trust_env=False, limits=_POOL, proxy=network.proxy_for(self._host)
            )
        except (ImportError, ValueError) as error:
            raise ModelError(
                "`network.proxy` cannot be used: it must be an http:// or https:// address.", kind="config"
            ) from error

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
        headers = self._headers if body is None else {**self._headers, "Content-Type": content_type}
        request = httpx.Request(
            method, self._base + path, headers=headers, content=body, extensions={"timeout": self._times}
        )
        with _translated(self._host):
            async with asyncio.timeout(self._limits.first_byte) as timer:
                response = await self._pool.handle_async_request(request)
                try:
                    yield Answer(
                        response.status_code, response.headers, response, timer, self._limits.silence
                    )
                finally:
                    await response.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()


def _trust(network: Network) -> ssl.SSLContext:
    """The well-known authorities and those of `network.ca_file`."""
    context = httpx.create_ssl_context(trust_env=False)
    if network.ca_file is not None:
        try:
            context.load_verify_locations(network.ca_file)
        except OSError as error:  # ssl.SSLError too
            told = f"`network.ca_file` ({network.ca_file}) cannot be read as PEM certificates."
            raise ModelError(told, kind="config") from error
    return context
