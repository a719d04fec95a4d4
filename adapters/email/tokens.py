"""Access tokens for `auth: xoauth2`, from a command or a refresh token; kept until they expire.

Source: https://www.rfc-editor.org/rfc/rfc6749#section-6 .
"""

from __future__ import annotations

import asyncio
import shlex

import httpx

from adapters.email.settings import OAuth
from hermes.clock import Clock
from hermes.config import Network
from hermes.errors import AdapterError, Unauthorized, Unreachable

__all__ = ["Tokens"]

_SECONDS = 30.0
_EARLY = 60.0
_COMMAND_LIFE = 300.0
"""Seconds for which a command's token is used: what it says of its end is not known."""


class Tokens:
    """The tokens of one account."""

    def __init__(self, oauth: OAuth, network: Network, clock: Clock) -> None:
        self._oauth = oauth
        self._network = network
        self._clock = clock
        self._token = ""
        self._until = float("-inf")
        self._lock = asyncio.Lock()

    async def token(self) -> str:
        """A token that holds. Raises `Unauthorized`, `Unreachable`."""
        async with self._lock:
            if self._clock.monotonic() >= self._until:
                token, life = await (self._run() if self._oauth.command else self._refresh())
                if not token or not token.isascii() or any(c.isspace() for c in token):
                    raise Unauthorized("What should be an access token is none; see platforms.*.oauth.")
                self._token, self._until = token, self._clock.monotonic() + life - _EARLY
            return self._token

    def forget(self) -> None:
        """The token was refused: the next one is fetched anew."""
        self._until = float("-inf")

    async def _run(self) -> tuple[str, float]:
        words = shlex.split(self._oauth.command or "")
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except OSError as e:
            raise AdapterError(f"The command of platforms.*.oauth cannot be run: {e}") from e
        try:
            async with asyncio.timeout(_SECONDS):
                out, _ = await process.communicate()
        except TimeoutError as e:
            process.kill()
            await process.wait()
            raise Unreachable("The command of platforms.*.oauth gave no token in time.") from e
        if process.returncode != 0:
            raise AdapterError(f"The command of platforms.*.oauth ended with {process.returncode}.")
        return out.decode("utf-8", "replace").strip(), _COMMAND_LIFE

    async def _refresh(self) -> tuple[str, float]:
        oauth = self._oauth
        url = httpx.URL(oauth.token_url or "")
        form = {"grant_type": "refresh_token", "client_id": oauth.client_id or ""}
        if oauth.refresh_token is not None:
            form["refresh_token"] = oauth.refresh_token.get_secret_value()
        if oauth.client_secret is not None:
            form["client_secret"] = oauth.client_secret.get_secret_value()
        if oauth.scope is not None:
            form["scope"] = oauth.scope
        proxy = self._network.proxy_for(url.host)
        try:
            async with httpx.AsyncClient(proxy=proxy, trust_env=False, timeout=_SECONDS) as client:
                response = await client.post(url, data=form)
        except (httpx.HTTPError, httpx.InvalidURL) as e:
            raise Unreachable(f"{url.host} gave no access token: {type(e).__name__}") from e
        return _granted(response, url.host)


def _granted(response: httpx.Response, host: str) -> tuple[str, float]:
    try:
        answer = response.json()
    except ValueError:
        answer = None
    answer = answer if isinstance(answer, dict) else {}
    if response.status_code in (400, 401, 403):
        why = str(answer.get("error", response.status_code))[:100]
        raise Unauthorized(
            f"{host} refused the refresh token ({why}); allow the access anew and set oauth.refresh_token."
        )
    if response.status_code != 200 or not isinstance(answer.get("access_token"), str):
        raise Unreachable(f"{host} gave no access token (HTTP {response.status_code}).")
    life = answer.get("expires_in", 3600)
    return answer["access_token"], float(life) if isinstance(life, int | float) else 3600.0
