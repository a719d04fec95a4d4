"""Small signs beside the answers: a reaction to what was taken, suggestions in a new assistant thread.

Source: https://docs.slack.dev/reference/methods/reactions.add and /assistant.threads.setSuggestedPrompts . They come
after a message is stored and fail nothing: what cannot be shown now is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from adapters.slack.client import WebApi
from adapters.slack.failures import Refused
from adapters.slack.settings import SlackSettings
from hermes.clock import Clock
from hermes.errors import AdapterError, NotTaken
from hermes.events import Event, Parsed, Verdict

__all__ = ["Gesture", "Gestures", "gesture_for"]

_log = structlog.get_logger("adapters.slack")
_SEEN = "eyes"
_WAITING = 100
_LONGEST_PROMPT = 75


@dataclass(frozen=True, slots=True)
class Gesture:
    """One call."""

    method: str
    params: Mapping[str, Any]


def gesture_for(payload: object, item: Parsed, verdict: Verdict, settings: SlackSettings) -> Gesture | None:
    """What to show for one delivery. Pure."""
    if isinstance(item, Event):
        is_wanted = settings.reactions == "ack" and verdict.kind == "accepted" and not item.edited
        if not is_wanted or item.message_id is None:
            return None
        return Gesture("reactions.add", {"channel": item.chat, "timestamp": item.message_id, "name": _SEEN})
    thread = _begun(payload)
    return _suggestions(thread, settings.prompts) if thread is not None and settings.prompts else None


def _begun(payload: object) -> Mapping[str, Any] | None:
    event = payload.get("event") if isinstance(payload, Mapping) else None
    if not isinstance(event, Mapping) or event.get("type") != "assistant_thread_started":
        return None
    thread = event.get("assistant_thread")
    return thread if isinstance(thread, Mapping) else None


def _suggestions(thread: Mapping[str, Any], prompts: Sequence[str]) -> Gesture | None:
    chat, begun = thread.get("channel_id"), thread.get("thread_ts")
    if not isinstance(chat, str) or not isinstance(begun, str):
        return None
    shown = [{"title": _short(prompt), "message": prompt} for prompt in prompts]
    return Gesture(
        "assistant.threads.setSuggestedPrompts", {"channel_id": chat, "thread_ts": begun, "prompts": shown}
    )


def _short(prompt: str) -> str:
    return prompt if len(prompt) <= _LONGEST_PROMPT else prompt[: _LONGEST_PROMPT - 1] + "…"


class Gestures:
    """Shows them one after the other; what Slack refuses for want of a scope is not asked for again."""

    def __init__(self, api: WebApi, clock: Clock, settings: SlackSettings) -> None:
        self._api = api
        self._clock = clock
        self._settings = settings
        self._waiting: asyncio.Queue[Gesture] = asyncio.Queue(_WAITING)
        self._refused: set[str] = set()

    def offer(self, payload: object, item: Parsed, verdict: Verdict) -> None:
        """Show what there is to show, soon; never waits. What is too much is left out."""
        gesture = gesture_for(payload, item, verdict, self._settings)
        if gesture is not None and gesture.method not in self._refused and not self._waiting.full():
            self._waiting.put_nowait(gesture)

    async def run(self) -> None:
        """Show what was offered, until cancelled. Raises nothing."""
        while True:
            gesture = await self._waiting.get()
            try:
                await self._api.call(gesture.method, gesture.params)
            except NotTaken as e:
                await self._clock.sleep(e.retry_after or 1.0)
            except AdapterError as e:
                if isinstance(e, Refused) and e.error == "missing_scope":
                    self._refused.add(gesture.method)
                    _log.warning("slack.gesture_refused", method=gesture.method, error=str(e))
