"""The Bot API's client: python-telegram-bot's `Bot`, plain dicts in and out. Only this file knows the SDK.

Its types are not built: polls and sends need a few fields, and one malformed update must not cost the batch
it came in. Errors that leave here are ours, and none of them holds the token.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import warnings
from collections.abc import Mapping
from typing import Any

import httpx
from telegram import Bot
from telegram.error import TelegramError
from telegram.request import HTTPXRequest
from telegram.warnings import PTBUserWarning

from adapters.telegram.failures import failure
from hermes.config import Network
from hermes.errors import AdapterError, OutcomeUnknown, Unreachable

__all__ = ["BotApi"]

# `Bot` says on every raw call that it has a method of that name.
warnings.filterwarnings("ignore", message=".*do_api_request", category=PTBUserWarning)

_CONNECT, _ANSWER, _POOL = 10.0, 30.0, 30.0  # seconds
_CONNECTIONS = 256
_TALKATIVE = ("httpx", "telegram.Bot")  # loggers that write addresses, and so the token
_UNSENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
)


class _Failed(TelegramError):
    """Carries our own error through the SDK."""

    def __init__(self, error: AdapterError) -> None:
        super().__init__(str(error))
        self.error = error


class _Request(HTTPXRequest):
    """One pool of connections; every answer and every failure is judged here, where all of it is known."""

    async def do_request(self, url: str, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        """Return only answers that are a success. Raises `_Failed`."""
        method = url.rpartition("/")[2]
        try:
            status, body = await super().do_request(url, *args, **kwargs)
        except TelegramError as e:
            raise _Failed(_lost(method, e.__cause__)) from e.__cause__
        if not 200 <= status < 300:
            raise _Failed(failure(method, status, body))
        return status, body

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        """The answer of a success. The SDK's own version logs what it cannot read: people's words."""
        try:
            answer = json.loads(payload)
        except (ValueError, RecursionError) as e:
            raise TelegramError("no JSON") from e
        if not isinstance(answer, dict) or "result" not in answer:
            raise TelegramError("no result")
        return answer


class BotApi:
    """Calls methods of the Bot API. Polls have their own connections. Opens itself at the first call."""

    def __init__(self, token: str, base_url: str, base_file_url: str, network: Network) -> None:
        self._token = token
        self._base_url = base_url
        self._base_file_url = base_file_url
        self._network = network
        self._bot: Bot | None = None
        self._requests: tuple[_Request, ...] = ()
        self._opening = asyncio.Lock()
        self._closed = False
        self._mask = _Mask(token)

    async def call(
        self, method: str, params: Mapping[str, Any] | None = None, *, answer_within: float = _ANSWER
    ) -> Any:  # noqa: ANN401  JSON; each caller checks the fields it needs
        """The `result` of a method. `params`: plain JSON values.

        Raises `Unreachable` when no byte was sent, `OutcomeUnknown` when the answer did not come within
        `answer_within` seconds or makes no sense, else what `failures.failure` says.
        """
        bot = self._bot or await self._open()
        try:
            return await bot.do_api_request(method, dict(params or {}), read_timeout=answer_within)
        except _Failed as e:
            raise e.error from e.__cause__
        except TelegramError as e:
            raise OutcomeUnknown(f"Telegram's answer to {method} could not be read.") from e

    async def aclose(self) -> None:
        """Close all connections. Calls after that raise `Unreachable`."""
        self._closed = True
        async with self._opening:
            requests, self._requests, self._bot = self._requests, (), None
            for request in requests:
                await request.shutdown()
        for name in _TALKATIVE:
            logging.getLogger(name).removeFilter(self._mask)

    async def _open(self) -> Bot:
        async with self._opening:
            if self._closed:
                raise Unreachable("The connection to Telegram is closed.")
            if self._bot is not None:
                return self._bot
            for name in _TALKATIVE:
                logging.getLogger(name).addFilter(self._mask)
            # Reading CA files blocks.
            self._requests, bot = await asyncio.to_thread(self._build)
            self._bot = bot
            return bot

    def _build(self) -> tuple[tuple[_Request, ...], Bot]:
        context = _tls(self._base_url, self._network)
        proxy = self._network.proxy_for(httpx.URL(self._base_url).host)
        polling, calling = (_request(size, proxy, context) for size in (2, _CONNECTIONS))
        bot = Bot(
            self._token,
            base_url=self._base_url,
            base_file_url=self._base_file_url,
            request=calling,
            get_updates_request=polling,
        )
        return (polling, calling), bot


class _Mask(logging.Filter):
    """Takes the token out of the addresses that libraries log."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._secret = token

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if self._secret in text:
            record.msg, record.args = text.replace(self._secret, "***"), ()
        return True


def _request(size: int, proxy: str | None, context: ssl.SSLContext) -> _Request:
    return _Request(
        connection_pool_size=size,
        connect_timeout=_CONNECT,
        read_timeout=_ANSWER,
        write_timeout=_ANSWER,
        pool_timeout=_POOL,
        proxy=proxy,
        httpx_kwargs={"trust_env": False, "verify": context},
    )


def _tls(base_url: str, network: Network) -> ssl.SSLContext:
    if base_url.startswith("http://") and not (network.proxy or "").startswith("https://"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used, and trusts nobody
    context = httpx.create_ssl_context(trust_env=False)
    if network.ca_file is not None:
        try:
            context.load_verify_locations(network.ca_file)
        except OSError as e:  # ssl.SSLError too
            told = f"network.ca_file ({network.ca_file}) cannot be read as PEM certificates."
            raise Unreachable(told) from e
    return context


def _lost(method: str, cause: BaseException | None) -> AdapterError:
    kind = type(cause).__name__
    if isinstance(cause, _UNSENT):
        return Unreachable(f"Telegram could not be reached for {method} ({kind}).")
    return OutcomeUnknown(f"Telegram's answer to {method} was lost ({kind}).")
