"""The Web API's client: slack_sdk's calls over one aiohttp session of our own, and the socket beside them.

Only this file knows the SDK. Its Socket Mode client (and Bolt over it) is not used: it acknowledges over whichever
connection is the current one, keeps a revoked token to itself and tries for ever, and shows nobody its heartbeats.
Errors that leave here are ours, and none of them holds a token.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_base_client import AsyncBaseClient

from adapters.slack.addresses import is_slacks
from adapters.slack.failures import failure
from hermes.config import Network
from hermes.errors import AdapterError, ConfigError, OutcomeUnknown, Unreachable
from hermes.trust import trusted

__all__ = ["WebApi"]

_CONNECT, _ANSWER, _GOODBYE = 10.0, 30.0, 1.0  # seconds
_CONNECTIONS = 256
_BIGGEST_FRAME = 8 << 20
_FORMS = frozenset({
    "bots.info", "conversations.history", "conversations.info", "conversations.replies",
    "files.completeUploadExternal", "files.getUploadURLExternal", "files.info", "users.conversations", "users.info",
})  # fmt: skip  # these take no JSON
_UNSENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientProxyConnectionError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
)
_quiet = logging.getLogger("adapters.slack.sdk")
_quiet.setLevel(logging.WARNING)  # the SDK writes bodies, and so people's words, at the debug level


@dataclass(frozen=True, slots=True)
class _Opened:
    client: AsyncBaseClient
    session: aiohttp.ClientSession


class WebApi:
    """Calls methods of the Web API. Opens itself at the first call."""

    def __init__(self, token: str, base_url: str, network: Network) -> None:
        self._token = token
        self._base_url = base_url
        self._network = network
        self._opened: _Opened | None = None
        self._opening = asyncio.Lock()
        self._closed = False
        self.scopes: tuple[str, ...] = ()
        """What the bot token may do, as the newest answer says."""

    async def call(
        self, method: str, params: Mapping[str, Any] | None = None, *, token: str | None = None
    ) -> Mapping[str, Any]:
        """The answer of a method. `params`: plain JSON values. `token`: another one than the bot's.

        Raises `Unreachable` when no byte was sent, `OutcomeUnknown` when the answer did not come or makes no
        sense, else what `failures.failure` says.
        """
        client = (self._opened or await self._open()).client
        given: dict[str, Any] = {**(params or {}), **({"token": token} if token else {})}
        with _translated(method):
            if method in _FORMS:
                response = await client.api_call(method, data=given)
            else:
                response = await client.api_call(method, json=given)
        if not isinstance(response.data, Mapping):
            raise OutcomeUnknown(f"Slack's answer to {method} could not be read.")
        if token is None and (scopes := response.headers.get("x-oauth-scopes")):
            self.scopes = tuple(scope.strip() for scope in scopes.split(","))
        return response.data

    async def respond(self, url: str, body: Mapping[str, Any]) -> None:
        """Post to a command's `response_url`. Raises what `call` raises."""
        async with self.opened("response_url", "POST", url, json=body) as answer:
            if answer.status == 200:
                return
            text = (await answer.text())[:200]
        if 400 <= answer.status < 500 and answer.status != 429:
            raise failure("response_url", answer.status, {"ok": False, "error": text or "refused"})
        raise failure("response_url", answer.status, None, answer.headers.get("Retry-After"))

    @asynccontextmanager
    async def opened(
        self,
        name: str,
        verb: str,
        url: str,
        *,
        is_ours: bool = False,
        within: float | None = None,
        **request: Any,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer of an address of Slack's that is no method, unread; a redirect is not followed.

        is_ours: the bot token goes along. within: seconds for all of it, however it goes forward; `None`: only silence
        ends it. Raises what `call` raises, also while the answer is read; `Refused` for an address of somebody else.
        """
        if not is_slacks(url, self._base_url):
            raise failure(name, 200, {"ok": False, "error": "no address of Slack"})
        session = (self._opened or await self._open()).session
        if is_ours:
            request["headers"] = {**request.get("headers", {}), "Authorization": f"Bearer {self._token}"}
        if within is not None:
            request["timeout"] = _patience(within)
        with _translated(name):
            asked = session.request(verb, url, allow_redirects=False, proxy=self._proxy(url), **request)
            async with asked as answer:
                yield answer

    async def connect(self, url: str) -> aiohttp.ClientWebSocketResponse:
        """Open the socket that `apps.connections.open` has named. Raises `Unreachable`."""
        session = (self._opened or await self._open()).session
        try:
            return await session.ws_connect(
                url,
                autoping=False,
                max_msg_size=_BIGGEST_FRAME,
                timeout=aiohttp.ClientWSTimeout(ws_close=_GOODBYE),
                proxy=self._proxy(url),
            )
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as e:
            # The text of the error would show the address, and with it the ticket.
            raise Unreachable(f"The connection to Slack could not be opened ({type(e).__name__}).") from None

    async def aclose(self) -> None:
        """Close all connections. Calls after that raise `Unreachable`."""
        self._closed = True
        async with self._opening:
            opened, self._opened = self._opened, None
            if opened is not None:
                await opened.session.close()

    async def _open(self) -> _Opened:
        async with self._opening:
            if self._closed:
                raise Unreachable("The connection to Slack is closed.")
            if self._opened is not None:
                return self._opened
            context = await asyncio.to_thread(_tls, self._network)  # reading CA files blocks
            self._opened = self._build(context)
            return self._opened

    def _build(self, context: ssl.SSLContext) -> _Opened:
        connector = aiohttp.TCPConnector(limit=_CONNECTIONS, ssl=context)
        session = aiohttp.ClientSession(connector=connector, timeout=_patience(None), trust_env=False)
        client = AsyncBaseClient(
            self._token, self._base_url, ssl=context, session=session, logger=_quiet, retry_handlers=[]
        )
        client.proxy = self._proxy(self._base_url)  # the SDK takes one from the environment otherwise
        return _Opened(client, session)

    def _proxy(self, url: str) -> str | None:
        return self._network.proxy_for(urlsplit(url).hostname or "")


def _patience(within: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(
        total=within, connect=_CONNECT + _ANSWER, sock_connect=_CONNECT, sock_read=_ANSWER
    )


@contextmanager
def _translated(method: str) -> Iterator[None]:
    try:
        yield
    except SlackApiError as e:
        raise _judged(method, e.response) from e
    except _UNSENT as e:
        raise Unreachable(f"Slack could not be reached for {method} ({type(e).__name__}).") from e
    except (aiohttp.ClientError, SlackClientError, OSError, TimeoutError, ValueError) as e:
        raise OutcomeUnknown(f"Slack's answer to {method} was lost ({type(e).__name__}).") from e


def _judged(method: str, response: Any) -> AdapterError:  # noqa: ANN401  the SDK has two kinds of it
    status: int = getattr(response, "status_code", 0) or getattr(response, "status", 0)
    headers = getattr(response, "headers", {})
    return failure(method, status, getattr(response, "data", None), headers.get("Retry-After"))


def _tls(network: Network) -> ssl.SSLContext:
    try:
        return trusted(network)
    except ConfigError as e:
        raise Unreachable(str(e)) from e
