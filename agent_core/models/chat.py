"""A model behind a chat-completions endpoint."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_core.models.chat_fold import Folder, RefusedInStream
from agent_core.models.chat_wire import WireSettings, build_request, encode_request
from agent_core.models.classify import classify, parse_refusal, retry_after
from agent_core.models.connection import Connection
from agent_core.models.estimate import TokenEstimate
from agent_core.models.pictures import data_urls
from agent_core.models.sse import BodyReader, WholeBody, body_reader
from hermes.clock import Clock, SystemClock
from hermes.errors import ModelError
from hermes.messages import Usage
from hermes.model import Completion, ModelRequest

if TYPE_CHECKING:
    from agent_core.models.transport import Answer

__all__ = ["ChatModel"]

_ERROR_BODY = 64 * 1024
_AFTER_DONE = (
    0.25  # for the end of the body once [DONE] has come; a server that holds on loses the connection
)
_AFTER_FINISH = 5.0  # for the figures that follow the finish reason


class ChatModel:
    """A `hermes.model.Model` over chat completions. One try per call; many calls may run at once."""

    def __init__(self, connection: Connection, settings: WireSettings, clock: Clock | None = None) -> None:
        self._connection = connection
        self._endpoint = connection.endpoint
        self._settings = settings
        self._clock = clock or SystemClock()
        self._estimate = TokenEstimate()
        self._full_name = f"{self._endpoint.provider}/{settings.model}"

    @property
    def name(self) -> str:
        """The model's name as the provider knows it."""
        return self._settings.model

    @property
    def window(self) -> int:
        """The context window in tokens."""
        return self._settings.window

    @property
    def sees(self) -> bool | None:
        """Whether it takes pictures, as the settings say; `None`: they do not."""
        return self._settings.sees

    @property
    def estimate(self) -> TokenEstimate:
        """What is known of this model's token counts so far; each answer with usage improves it."""
        return self._estimate

    async def prepare(self) -> None:
        """Import the HTTP library and read certificates, in a thread. The first call does it otherwise."""
        await self._connection.transport()

    async def complete(self, request: ModelRequest, on_text: Callable[[str], None]) -> Completion:
        """See `hermes.model.Model.complete`."""
        transport = self._connection.opened or await self._connection.transport()
        expected = self._estimate.request(request)
        body = await self._body(request, expected)
        # Some providers count their ids anew in each answer; a conversation may hold an id once.
        taken = {call.id for message in request.messages for call in message.tool_calls}
        folder = Folder(on_text, origin=self._settings.origin, taken=taken)
        try:
            async with transport.post("/chat/completions", body) as answer:
                if answer.status != 200:
                    raise await self._refused(answer)
                await self._read(answer, folder)
        except RefusedInStream as error:
            refusal = parse_refusal(error.body)
            raise classify(None, refusal, provider=self._endpoint.provider, model=self.name) from None
        except ModelError:
            # After the finish reason nothing is missing but figures and the end of the body.
            if not folder.finished:
                raise
        completion = replace(folder.completion(), model=self._full_name)
        if completion.usage.estimated:
            return self._estimated(completion, expected)
        self._estimate = self._estimate.learned(request, completion.usage.prompt)
        return completion

    async def _body(self, request: ModelRequest, expected: int) -> bytes:
        """With pictures it takes megabytes, and is made beside the loop."""
        if not any(message.files for message in request.messages):
            return encode_request(build_request(request, self._settings, expected))
        return await asyncio.to_thread(self._body_with_pictures, request, expected)

    def _body_with_pictures(self, request: ModelRequest, expected: int) -> bytes:
        return encode_request(build_request(request, self._settings, expected, data_urls(request)))

    async def aclose(self) -> None:
        """Close connections, those of other models on the same `Connection` too. Calls under way fail."""
        await self._connection.aclose()

    async def _read(self, answer: Answer, folder: Folder) -> None:
        reader: BodyReader | None = None
        latest, seen = time.monotonic(), 0
        async for chunk in answer.chunks():
            reader = reader or body_reader(chunk)
            for data in reader.feed(chunk) if reader else ():
                folder.feed(data)
            if folder.finished:
                answer.hurry(_AFTER_DONE if folder.done else _AFTER_FINISH)
            elif folder.events != seen:
                latest, seen = time.monotonic(), folder.events
            elif time.monotonic() - latest > self._endpoint.limits.stall:
                told = f"{self._endpoint.provider} keeps the connection but sends nothing."
                raise ModelError(told, kind="timeout")
        for data in reader.finish() if reader else ():
            folder.feed(data)
        folder.done = folder.done or isinstance(reader, WholeBody)

    async def _refused(self, answer: Answer) -> ModelError:
        provider = self._endpoint.provider
        if 300 <= answer.status < 400:
            return ModelError(
                f"{provider} sends to another address (HTTP {answer.status}); correct `base_url`.",
                kind="config",
                status=answer.status,
            )
        refusal = parse_refusal(await answer.body(_ERROR_BODY))
        wait = retry_after(answer.headers, self._clock.time())
        return classify(answer.status, refusal, provider=provider, model=self.name, wait=wait)

    def _estimated(self, completion: Completion, prompt: int) -> Completion:
        written = self._estimate.messages([completion.message])
        return replace(completion, usage=Usage(prompt, written, estimated=True))
