"""One call of a language model, whatever wire protocol it speaks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from hermes.files import StoredFile
from hermes.messages import JSONObject, Message, Usage

__all__ = ["Completion", "FinishReason", "Model", "ModelRequest", "Task", "ToolSpec"]

FinishReason = Literal["stop", "tool_calls", "length", "content_filter", "other"]

Task = Literal["title", "summary", "classify", "vision"]
"""Work of a model beside the conversation."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: JSONObject


def _nothing_is_stored(file: StoredFile) -> Path:
    raise FileNotFoundError(file.name)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What is sent: system prompt, messages (legal: each call has one result, in its block), tools.

    The files of user messages are pictures that the model shall look at; `stored` says where one lies. One that is not
    there any more is left out.
    session: a stable id for the provider's prefix cache and for logs; never shown to the model.
    """

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    max_tokens: int | None = None
    session: str = ""
    stored: Callable[[StoredFile], Path] = _nothing_is_stored


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer.

    `message.role` is "assistant"; thinking that stood in the text is removed from `message.text`.
    model: `provider/model` that answered; empty where the client does not know it.
    """

    message: Message
    usage: Usage = field(default_factory=Usage)
    finish: FinishReason = "stop"
    model: str = ""


class Model(Protocol):
    """A model that can be asked. One attempt per call; retries are the caller's."""

    @property
    def name(self) -> str:
        """The model's name as the provider knows it."""
        ...

    @property
    def window(self) -> int:
        """The context window in tokens."""
        ...

    @property
    def sees(self) -> bool | None:
        """Whether it takes pictures; `None` where only trying tells."""
        ...

    async def complete(self, request: ModelRequest, on_text: Callable[[str], None]) -> Completion:
        """Ask once, streaming.

        `on_text` gets each new piece of visible text in order, must not block and must not raise.

        Raises `ModelError`. Text that was handed to `on_text` before an error is void: the caller starts
        over.
        Cancelling closes the connection.
        """
        ...

    async def aclose(self) -> None:
        """Close connections. Calls under way fail."""
        ...
