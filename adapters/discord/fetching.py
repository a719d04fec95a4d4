"""The bytes of the files that came with messages, from Discord's CDN.

Source: https://discord.com/developers/docs/reference#signed-attachment-cdn-urls . The token is not sent there, and nothing is
taken from anywhere else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from urllib.parse import parse_qs, urlsplit

import aiohttp

from adapters.discord.attached import FilePlace, files_of
from adapters.discord.client import Rest
from adapters.discord.failures import Refused, pause_of
from adapters.discord.settings import CDN
from hermes.clock import Clock
from hermes.errors import AdapterError, Gone, NotTaken, OutcomeUnknown, Unreachable

__all__ = ["Files", "expires_at"]

_MEDIA = "https://media.discordapp.net"
_CHUNK = 64 * 1024
_MARGIN = 60.0
"""Seconds before its end at which an address is no longer used."""
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=30.0)
_NO_LONGER = (401, 403, 404, 410)


class Files:
    """What one bot can fetch. cdn: where files are served."""

    def __init__(self, rest: Rest, cdn: str, clock: Clock) -> None:
        self._rest = rest
        self._cdn = cdn
        self._clock = clock

    async def read(self, ref: str) -> AsyncIterator[bytes]:
        """See `FetchingAdapter.fetch`. An address that holds no longer is asked for anew, once."""
        place = FilePlace.from_text(ref)
        is_last = not place.message
        if not is_last and expires_at(place.url) <= self._clock.time() + _MARGIN:
            place, is_last = await self._renewed(place), True
        try:
            async with AsyncExitStack() as stack:
                answer = await stack.enter_async_context(await self._asked(place.url))
                if answer.status in _NO_LONGER and not is_last:
                    renewed = await self._renewed(place)
                    answer = await stack.enter_async_context(await self._asked(renewed.url))
                _check(answer)
                async for chunk in answer.content.iter_chunked(_CHUNK):
                    yield chunk
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as e:
            raise Unreachable(f"Discord's files could not be reached ({type(e).__name__}).") from e
        except (aiohttp.ClientError, TimeoutError, OSError) as e:
            raise NotTaken(f"A file broke off on its way ({type(e).__name__}).") from e

    async def _asked(self, told: str) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        url = self._address(told)
        session = await self._rest.session()
        return session.get(
            url,
            headers={"Accept-Encoding": "identity"},  # so that bytes that are counted are those that came
            timeout=_TIMEOUT,
            proxy=self._rest.proxy(url),
            allow_redirects=False,
        )

    def _address(self, told: str) -> str:
        if "://" not in told:
            is_moving = told.endswith(".gif") and self._cdn == CDN  # Discord serves these elsewhere
            return f"{_MEDIA if is_moving else self._cdn}/{told}"
        if told.startswith((f"{self._cdn}/", f"{CDN}/", f"{_MEDIA}/")):
            return told
        raise Gone(
            "The file stands on a server that is not Discord's; platforms.discord.cdn_url may name it."
        )

    async def _renewed(self, place: FilePlace) -> FilePlace:
        """The place with an address of now. Raises `Gone`, `NotTaken`, `Unreachable`, `Unauthorized`."""
        path = f"/channels/{place.channel}/messages/{place.message}"
        bucket = f"GET message {place.channel}"
        try:
            message = await self._rest.call("GET", path, name="GET message", bucket=bucket)
        except Refused as e:
            raise Gone(f"The message with the file is no longer there for us: {e}") from e
        except OutcomeUnknown as e:
            raise NotTaken(str(e)) from e
        for file in files_of(message) if isinstance(message, dict) else ():
            if str(file.get("id")) == place.file:
                return FilePlace(str(file["url"]), place.channel, place.message, place.file)
        raise Gone("The file was taken out of its message.")


def expires_at(url: str) -> float:
    """When a signed address stops to hold (epoch seconds); never where it does not say."""
    try:
        return float(int(parse_qs(urlsplit(url).query)["ex"][0], 16))
    except (KeyError, ValueError, OverflowError):
        return float("inf")


def _check(answer: aiohttp.ClientResponse) -> None:
    if answer.status == 200:
        return
    raise _refusal(answer)


def _refusal(answer: aiohttp.ClientResponse) -> AdapterError:
    told = f"Discord's file server answered with HTTP {answer.status}."
    if answer.status == 429:
        return NotTaken(told, retry_after=pause_of(answer.headers, b""))
    if answer.status >= 500:
        return NotTaken(told)
    return Gone(f"The file is no longer there: {told}")
