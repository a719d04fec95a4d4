"""The REST client: one call, one request, one verdict.

discord.py's own client is not used for this: it waits out pauses within a call, which would hold up a chat's lane
without anybody knowing, and it sends again after a 5xx, when a message may have been taken. What leaves here are our
errors, and none of them holds the token or an interaction's secret.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from adapters.discord.failures import failure
from adapters.discord.limits import Limits
from adapters.discord.multipart import Form, Upload
from hermes.clock import Clock
from hermes.config import Network
from hermes.errors import AdapterError, ConfigError, NotTaken, OutcomeUnknown, Unreachable
from hermes.trust import trusted

__all__ = ["Rest"]

_CONNECT, _ANSWER = 10.0, 30.0  # seconds
_STALLED = 60.0
"""Seconds without progress after which an upload counts as dead; how long all of it takes is nobody's business."""
_CONNECTIONS = 64
_AGENT = "DiscordBot (https://github.com/hermes-gateway/hermes, 1)"
_UNSENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
)


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    data: bytes | AsyncIterable[bytes] | None
    headers: Mapping[str, str]
    timeout: aiohttp.ClientTimeout


class Rest:
    """Calls the API. Opens itself at the first call; `session` and `proxy` are also the gateway's."""

    def __init__(self, token: str, base_url: str, network: Network, clock: Clock) -> None:
        self._token = token
        self._base_url = base_url
        self._network = network
        self._clock = clock
        self._limits = Limits()
        self._session: aiohttp.ClientSession | None = None
        self._opening = asyncio.Lock()
        self._closed = False

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,  # noqa: ANN401  JSON
        *,
        name: str,
        bucket: str = "",
        answer_within: float = _ANSWER,
    ) -> Any:  # noqa: ANN401  JSON; each caller checks the fields it needs
        """The answer to one request; `None` for an empty one. `name` stands for it in errors.

        Raises `Unreachable` when no byte was sent, `NotTaken` while a limit holds (then nothing is sent either),
        `OutcomeUnknown` when the answer did not come or makes no sense, else what `failures.failure` says.
        """
        headers: dict[str, str] = {}
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        timeout = aiohttp.ClientTimeout(sock_connect=_CONNECT, total=answer_within + _CONNECT)
        return await self._exchange(name, bucket, _Request(method, path, data, headers, timeout))

    async def upload(
        self, method: str, path: str, body: Mapping[str, Any], upload: Upload, *, name: str, bucket: str = ""
    ) -> Any:  # noqa: ANN401  JSON
        """See `call`, with a file. What breaks off before all of the file was sent was certainly not taken.

        Raises `Rejected` also when the file cannot be read.
        """
        async with Form.opened(body, upload) as form:
            timeout = aiohttp.ClientTimeout(sock_connect=_CONNECT, total=None)
            try:
                async with asyncio.timeout(_STALLED) as patience:

                    def moved() -> None:
                        patience.reschedule(asyncio.get_running_loop().time() + _STALLED)

                    request = _Request(method, path, form.chunks(moved), form.headers, timeout)
                    return await self._exchange(name, bucket, request)
            except (OutcomeUnknown, TimeoutError) as e:
                lost = e if isinstance(e, OutcomeUnknown) else _lost(name, e)
                if form.is_whole:
                    raise lost from e
                raise NotTaken(f"The file broke off on its way: {lost}") from e

    async def _exchange(self, name: str, bucket: str, request: _Request) -> Any:  # noqa: ANN401  JSON
        bucket = bucket or name
        wait = self._limits.wait(bucket, self._clock.monotonic())
        if wait > 0:
            raise NotTaken(f"Discord's limits hold {name} back.", retry_after=wait)
        session = await self.session()
        try:
            status, headers, answer = await self._asked(session, request)
        except (aiohttp.ClientError, TimeoutError, OSError) as e:
            raise _lost(name, e) from e
        self._limits.note(bucket, status, headers, answer, self._clock.monotonic())
        if not 200 <= status < 300:
            raise failure(name, status, headers, answer)
        return _json(name, answer)

    async def _asked(
        self, session: aiohttp.ClientSession, request: _Request
    ) -> tuple[int, Mapping[str, str], bytes]:
        own = {"Authorization": f"Bot {self._token}", "User-Agent": _AGENT}
        url = self._base_url + request.path
        async with session.request(
            request.method,
            url,
            data=request.data,
            headers={**own, **request.headers},
            timeout=request.timeout,
            proxy=self.proxy(url),
            allow_redirects=False,
        ) as response:
            return response.status, response.headers, await response.read()

    def proxy(self, url: str) -> str | None:
        """The proxy to reach `url` by."""
        return self._network.proxy_for(urlsplit(url).hostname or "")

    async def session(self) -> aiohttp.ClientSession:
        """The connections. Raises `Unreachable`."""
        async with self._opening:
            if self._closed:
                raise Unreachable("The connection to Discord is closed.")
            if self._session is None:
                # Reading CA files blocks.
                context = await asyncio.to_thread(_tls, self._network)
                connector = aiohttp.TCPConnector(limit=_CONNECTIONS, ssl=context)
                self._session = aiohttp.ClientSession(
                    connector=connector, cookie_jar=aiohttp.DummyCookieJar()
                )
            return self._session

    async def aclose(self) -> None:
        """Close all connections. Calls after that raise `Unreachable`."""
        self._closed = True
        async with self._opening:
            session, self._session = self._session, None
            if session is not None:
                await session.close()


def _tls(network: Network) -> ssl.SSLContext:
    try:
        return trusted(network)
    except ConfigError as e:
        raise Unreachable(str(e)) from e


def _lost(name: str, cause: BaseException) -> AdapterError:
    kind = type(cause).__name__
    if isinstance(cause, _UNSENT):
        return Unreachable(f"Discord could not be reached for {name} ({kind}).")
    return OutcomeUnknown(f"Discord's answer to {name} was lost ({kind}).")


def _json(name: str, answer: bytes) -> Any:  # noqa: ANN401  JSON
    if not answer:
        return None
    try:
        return json.loads(answer)
    except (ValueError, RecursionError) as e:
        raise OutcomeUnknown(f"Discord's answer to {name} could not be read.") from e
