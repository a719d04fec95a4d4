"""The server's side of a webhook: updates are posted in order, each until it is answered with 2xx.

https://core.telegram.org/bots/api#setwebhook. Retries come after a tenth of a second, where Telegram takes seconds.
"""

import asyncio
import time
from typing import Any

import aiohttp

from tests.peers.telegram.updates import UpdateQueue

_HEADER = "X-Telegram-Bot-Api-Secret-Token"
_RETRY = 0.1
_PATIENCE = 10.0


class Hook:
    """url: empty while there is none; only one on this machine is called.

    tries: how often something was posted. failure: date and words of the last one that failed.
    """

    def __init__(self, updates: UpdateQueue) -> None:
        self.url = ""
        self.secret = ""
        self.tries = 0
        self.failure: tuple[int, str] | None = None
        self._updates = updates
        self._task: asyncio.Task[None] | None = None

    @property
    def is_near(self) -> bool:
        """Whether the address is on this machine."""
        return self.url.startswith("http://127.0.0.1:")

    def set(self, url: str, secret: str = "") -> None:
        """Post to this address from now on."""
        self.url, self.secret = url, secret
        self._updates.wake()

    def info(self) -> dict[str, Any]:
        """The WebhookInfo object."""
        failure = self.failure
        told = {"last_error_date": failure[0], "last_error_message": failure[1]} if failure else {}
        pending = len(self._updates.waiting)
        return {"url": self.url, "has_custom_certificate": False, "pending_update_count": pending, **told}

    def start(self) -> None:
        """Begin to post."""
        self._task = asyncio.create_task(self._run(), name="peer-hook")

    async def stop(self) -> None:
        """Post no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=_PATIENCE)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                await self._updates.until(lambda: self.is_near and bool(self._updates.waiting))
                update = self._updates.waiting[0]
                if await self._posted(session, update):
                    self._updates.take_out(update)
                else:
                    await asyncio.sleep(_RETRY)

    async def _posted(self, session: aiohttp.ClientSession, update: dict[str, Any]) -> bool:
        self.tries += 1
        headers = {_HEADER: self.secret} if self.secret else {}
        try:
            async with session.post(self.url, json=update, headers=headers) as answer:
                status = answer.status
        except (aiohttp.ClientError, TimeoutError) as wrong:
            self.failure = (int(time.time()), f"Connection failed: {type(wrong).__name__}")
            return False
        if 200 <= status < 300:
            return True
        self.failure = (int(time.time()), f"Wrong response from the webhook: {status}")
        return False
