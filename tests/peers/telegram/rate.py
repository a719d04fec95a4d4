"""The server's flood limits. https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this"""

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable

from tests.peers.telegram.chats import Refused

BOT_PER_SECOND = 30
CHAT_PER_SECOND = 1.0
CHAT_BURST = 3
GROUP_PER_MINUTE = 20
SLACK_SECONDS = 0.25


class _Bucket:
    """Holds at most `size` permits and gains `rate` of them a second."""

    def __init__(self, rate: float, size: float, now: float) -> None:
        self.rate, self.size, self.permits, self.at = rate, size, size, now

    def wait(self, now: float) -> float:
        """Seconds until a permit is there (0 when it is there now); takes nothing."""
        self.permits = min(self.size, self.permits + (now - self.at) * self.rate)
        self.at = now
        return 0.0 if self.permits >= 1 else (1 - self.permits) / self.rate


class FloodGate:
    """30 calls a second for the bot, 1 a second in a chat (bursts of 3), 20 a minute in a group.

    A quarter of a second of jitter on the way is forgiven. `refusals` counts the 429 answers.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._bot = _Bucket(BOT_PER_SECOND, BOT_PER_SECOND + 2, clock())
        self._chats: dict[int, _Bucket] = {}
        self._groups: dict[int, deque[float]] = defaultdict(deque)
        self.refusals = 0

    def enter(self, chat_id: int | None) -> None:
        """Take a permit, or raise `Refused` 429. `chat_id` None is governed by the bot's limit alone."""
        now = self._clock()
        wait = self._bot.wait(now)
        if chat_id is not None:
            chat = self._chats.setdefault(chat_id, _Bucket(CHAT_PER_SECOND, CHAT_BURST + SLACK_SECONDS, now))
            wait = max(wait, chat.wait(now), self._group_wait(chat_id, now))
        if wait > 0:
            self.refusals += 1
            seconds = math.ceil(wait)
            raise Refused(f"Too Many Requests: retry after {seconds}", 429, retry_after=seconds)
        self._bot.permits -= 1
        if chat_id is not None:
            self._chats[chat_id].permits -= 1
            if chat_id < 0:
                self._groups[chat_id].append(now)

    def _group_wait(self, chat_id: int, now: float) -> float:
        if chat_id > 0:
            return 0.0
        sent = self._groups[chat_id]
        while sent and sent[0] <= now - 60 + SLACK_SECONDS:
            sent.popleft()
        return sent[0] + 60 - now if len(sent) >= GROUP_PER_MINUTE else 0.0
