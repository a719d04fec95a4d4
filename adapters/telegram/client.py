"""The Bot API's client: python-telegram-bot's `Bot`, plain dicts in and out. Only this file and `sdk` know the SDK.

Its types are not built: polls and sends need a few fields, and one malformed update must not cost the batch
it came in. Errors that leave here are ours, and none of them holds the token.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import warnings
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import httpx

from adapters.telegram.failures import failure
from adapters.telegram.form import Upload
from adapters.telegram.sdk import Bot, HTTPXRequest, PTBUserWarning, TelegramError
from adapters.telegram.transfer import UNSENT, Transfer
from hermes.config import Network
from hermes.errors import AdapterError, ConfigError, OutcomeUnknown, Unreachable
from hermes.trust import trusted_for

__all__ = ["BotApi"]

# `Bot` says on every raw call that it has a method of that name.
warnings.filterwarnings("ignore", message=".*do_api_request", category=PTBUserWarning)

_CONNECT, _ANSWER, _POOL = 10.0, 30.0, 30.0  # seconds
_CONNECTIONS, _FILES = 256, 8
_TALKATIVE = ("httpx", "telegram.Bot")  # loggers that write addresses, and so the token


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
    """Calls methods of the Bot API. Polls and files have their own connections. Opens itself at the first call."""

    def __init__(self, token: str, base_url: str, base_file_url: str, network: Network) -> None:
        self._token = token
        self._base_url = base_url
        self._base_file_url = base_file_url
        self._network = network
        self._open_ones: tuple[Bot, Transfer] | None = None
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
        bot, _ = self._open_ones or await self._open()
        try:
            return await bot.do_api_request(method, dict(params or {}), read_timeout=answer_within)
        except _Failed as e:
            raise e.error from e.__cause__
        except TelegramError as e:
            raise OutcomeUnknown(f"Telegram's answer to {method} could not be read.") from e

    async def upload(self, method: str, params: Mapping[str, Any], upload: Upload) -> Any:  # noqa: ANN401  JSON
        """The `result` of a method that takes a file. Raises what `Transfer.upload` does."""
        _, transfer = self._open_ones or await self._open()
        return await transfer.upload(method, params, upload)

    async def download(self, path: str) -> AsyncGenerator[bytes, None]:
        """The bytes of a file, by the path that getFile tells. Raises what `Transfer.download` does."""
        _, transfer = self._open_ones or await self._open()
        async with aclosing(transfer.download(path)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def aclose(self) -> None:
        """Close all connections. Calls after that raise `Unreachable`."""
        self._closed = True
        async with self._opening:
            opened, self._open_ones = self._open_ones, None
            requests, self._requests = self._requests, ()
            for request in requests:
                await request.shutdown()
            if opened is not None:
                await opened[1].aclose()
        for name in _TALKATIVE:
            logging.getLogger(name).removeFilter(self._mask)

    async def _open(self) -> tuple[Bot, Transfer]:
        async with self._opening:
            if self._closed:
                raise Unreachable("The connection to Telegram is closed.")
            if self._open_ones is None:
                for name in _TALKATIVE:
                    logging.getLogger(name).addFilter(self._mask)
                # Reading CA files blocks.
                self._open_ones = await asyncio.to_thread(self._build)
            return self._open_ones

    def _build(self) -> tuple[Bot, Transfer]:
        context = _tls(self._base_url, self._network)
        proxy = self._network.proxy_for(httpx.URL(self._base_url).host)
        polling, calling = (_request(size, proxy, context) for size in (2, _CONNECTIONS))
        self._requests = (polling, calling)
        bot = Bot(
            self._token,
            base_url=self._base_url,
            base_file_url=self._base_file_url,
            request=calling,
            get_updates_request=polling,
        )
        limits = httpx.Limits(max_connections=_FILES, max_keepalive_connections=1)
        client = httpx.AsyncClient(proxy=proxy, limits=limits, trust_env=False, verify=context)
        return bot, Transfer(client, f"{self._base_url}{self._token}", f"{self._base_file_url}{self._token}")


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
    try:
        return trusted_for(base_url, network)
    except ConfigError as e:
        raise Unreachable(str(e)) from e


def _lost(method: str, cause: BaseException | None) -> AdapterError:
    kind = type(cause).__name__
    if isinstance(cause, UNSENT):
        return Unreachable(f"Telegram could not be reached for {method} ({kind}).")
    return OutcomeUnknown(f"Telegram's answer to {method} was lost ({kind}).")
