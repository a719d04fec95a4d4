"""The client side of a peer's control endpoints, for tests that start peers as programs."""

from collections.abc import Mapping
from typing import Any

import httpx

_SECONDS = 120.0


class PeerControl:
    """Calls `/__peer__/NAME` of the peer at `base`; plain verbs block, those with an `a` in front do not."""

    def __init__(self, base: str) -> None:
        self.base = base.rstrip("/")

    def get(self, name: str, query: Mapping[str, str] | None = None) -> Any:
        """Ask; raises `TimeoutError` when the peer says that a wait has run out."""
        with httpx.Client(timeout=_SECONDS, trust_env=False) as client:
            return _result(client.get(self._url(name), params=dict(query or {})))

    def post(self, name: str, body: Any) -> Any:
        """Tell."""
        with httpx.Client(timeout=_SECONDS, trust_env=False) as client:
            return _result(client.post(self._url(name), json=body))

    async def aget(self, name: str, query: Mapping[str, str] | None = None) -> Any:
        """As `get`, on the event loop."""
        async with httpx.AsyncClient(timeout=_SECONDS, trust_env=False) as client:
            return _result(await client.get(self._url(name), params=dict(query or {})))

    async def apost(self, name: str, body: Any) -> Any:
        """As `post`, on the event loop."""
        async with httpx.AsyncClient(timeout=_SECONDS, trust_env=False) as client:
            return _result(await client.post(self._url(name), json=body))

    def _url(self, name: str) -> str:
        return f"{self.base}/__peer__/{name}"


def _result(response: httpx.Response) -> Any:
    if response.status_code == 408:
        raise TimeoutError(f"the peer waited in vain; it shows {response.text[:2000]}")
    response.raise_for_status()
    return response.json()
