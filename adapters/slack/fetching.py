"""Fetching the files that came with a message: what Slack says of one now, then its bytes.

Source: https://docs.slack.dev/reference/objects/file-object#authentication . The token goes to Slack's addresses alone,
also where one sends on to another. An app without the scope files:read gets the page on which people sign in.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import aiohttp

from adapters.slack.addresses import host_of
from adapters.slack.client import WebApi
from adapters.slack.failures import Refused, failure
from adapters.slack.files import address_of, is_page
from hermes.errors import Gone, NotTaken, OutcomeUnknown

__all__ = ["fetch"]

_CHUNK = 64 * 1024
_HOPS = 5
_MOVED = frozenset({301, 302, 303, 307, 308})
_FORBIDDEN = frozenset({401, 403})
_SHORTEST, _SLOWEST = 120.0, 32 * 1024  # seconds for a file, and bytes a second that it may come at
_UNKNOWN = 64 << 20
_NO_SCOPE = "the app lacks the scope files:read; add it under OAuth & Permissions and install the app anew"
_LOCKED_OUT = f"{_NO_SCOPE}; or the app is not in the channel of the file"


async def fetch(api: WebApi, file_id: str) -> AsyncIterator[bytes]:
    """See `FetchingAdapter.fetch`."""
    try:
        file = await _looked_up(api, file_id)
        async for chunk in _read(api, file):
            yield chunk
    except OutcomeUnknown as e:  # a question asked twice does no harm
        raise NotTaken(str(e)) from e


async def _looked_up(api: WebApi, file_id: str) -> Mapping[str, Any]:
    try:
        answer = await api.call("files.info", {"file": file_id})
    except Refused as e:
        raise Gone(_NO_SCOPE if e.error == "missing_scope" else f"Slack has it no longer ({e.error})") from e
    file = answer.get("file")
    if not isinstance(file, Mapping):
        raise NotTaken("Slack's answer to files.info has no file.")
    return file


async def _read(api: WebApi, file: Mapping[str, Any]) -> AsyncIterator[bytes]:
    url = address_of(file)
    size = file.get("size")
    within = _SHORTEST + (size if isinstance(size, int) and size > 0 else _UNKNOWN) / _SLOWEST
    for _ in range(_HOPS):
        try:
            async with api.opened("a file", "GET", url, is_ours=True, within=within) as answer:
                if answer.status not in _MOVED:
                    _check(answer, file)
                    async for chunk in answer.content.iter_chunked(_CHUNK):
                        yield chunk
                    return
                url = _next(url, answer.headers.get("Location", ""))
        except Refused as e:
            raise Gone(f"it lies outside of Slack, at {host_of(url)}") from e
    raise NotTaken("Slack sends whoever asks for the file round in circles.")


def _next(url: str, location: str) -> str:
    try:
        there = urljoin(url, location)
        asked = parse_qs(urlsplit(there).query)
    except ValueError as e:
        raise NotTaken("Slack sends whoever asks for the file to an address that is none.") from e
    if "redir" in asked:  # sign in, and you are brought back here
        raise Gone(_LOCKED_OUT)
    return there


def _check(answer: aiohttp.ClientResponse, file: Mapping[str, Any]) -> None:
    is_sign_in = answer.status == 200 and answer.content_type == "text/html" and not is_page(file)
    if is_sign_in or answer.status in _FORBIDDEN:
        raise Gone(_LOCKED_OUT)
    if answer.status in (404, 410):
        raise Gone(f"Slack has it no longer (HTTP {answer.status})")
    if answer.status != 200:
        raise failure("a file", answer.status, None, answer.headers.get("Retry-After"))
