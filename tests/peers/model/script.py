"""What the model shall answer: answers, their queue, and directives inside a user's message."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Usage = Literal["auto", "none", "null", "nulls", "each", "choice", "always"]
Hang = Literal["headers", "body"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model makes. `id` "auto" gets a fresh one, None leaves it out; text as `arguments`
    goes out as it is (so it may be broken); `pieces` is how many deltas carry it."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = "auto"
    pieces: int = 2

    def text(self) -> str:
        """The arguments as they go over the wire."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the model. Times are seconds.

    `first` waits before the first byte of the body, `every` between the text's `chunks`. `finish` "auto" is
    stop or tool_calls, None leaves it out. `usage`: auto (as the client asked), none, null, nulls (an object
    of nulls), each (growing, on every chunk), choice (inside choices[0]), always (final chunk, asked or not).
    `raw` is sent as the whole body. A `status` other than 200 is an error with `body` and `headers`.
    `cut_after` drops the connection after so many bytes of the body; `malformed` sends a broken chunk after
    the first; `hang` stops before the headers or after the first bytes; `done` False leaves `[DONE]` out.
    """

    text: str = ""
    chunks: int = 3
    first: float = 0.0
    every: float = 0.0
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    interleave: bool = True
    finish: str | None = "auto"
    usage: Usage = "auto"
    raw: str | None = None
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    malformed: bool = False
    hang: Hang | None = None
    done: bool = True

    @property
    def finish_reason(self) -> str | None:
        """The reason that goes over the wire."""
        if self.finish == "auto":
            return "tool_calls" if self.tool_calls else "stop"
        return self.finish


def says(text: str, **more: Any) -> Answer:
    """A plain text answer."""
    return Answer(text=text, **more)


def calls(*tool_calls: ToolCall, **more: Any) -> Answer:
    """An answer that calls tools."""
    return Answer(tool_calls=tool_calls, **more)


def fails(
    status: int, message: str = "", *, code: str | None = None, retry_after: float | None = None
) -> Answer:
    """An HTTP error in the provider's shape."""
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(
        status, "server_error" if status >= 500 else "invalid_request_error"
    )
    body = {
        "error": {"message": message or f"scripted error {status}", "type": kind, "param": None, "code": code}
    }
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    return Answer(status=status, body=body, headers=headers)


def overflows() -> Answer:
    """400 context_length_exceeded."""
    text = (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 99999 tokens."
    )
    return fails(400, text, code="context_length_exceeded")


def answer_from_json(order: Mapping[str, Any]) -> Answer:
    """An `Answer` from the control endpoint's JSON; its fields have the same names."""
    tools = tuple(ToolCall(**call) for call in order.get("tool_calls", ()))
    return Answer(**{**order, "tool_calls": tools})


@dataclass(slots=True)
class _Planned:
    answer: Answer
    model: str | None
    text: str | None
    left: int


class Script:
    """A queue of answers; the first that fits a request's model and last user text is used."""

    def __init__(self) -> None:
        self._planned: list[_Planned] = []

    def add(
        self, *answers: Answer, model: str | None = None, text: str | None = None, times: int = 1
    ) -> None:
        """Plan answers in order; `text` must occur in the last user message, `model` is a name."""
        self._planned += [_Planned(answer, model, text, times) for answer in answers]

    def take(self, model: str, text: str) -> Answer | None:
        """The next answer for this request, or None."""
        for planned in self._planned:
            if planned.model in (None, model) and (planned.text is None or planned.text in text):
                planned.left -= 1
                if planned.left <= 0:
                    self._planned.remove(planned)
                return planned.answer
        return None

    def clear(self) -> None:
        """Forget every planned answer."""
        self._planned.clear()

    def __len__(self) -> int:
        return sum(planned.left for planned in self._planned)


# -- directives in a user's message ----------------------------------------------------------------

_SIMPLE = re.compile(r"\[\[(delay|every|chunks|text|error|hang|session|finish)(?:=(.*?))?\]\]", re.DOTALL)
_TOOL = re.compile(r"\[\[tool=([\w.-]+)\s*")


@dataclass(slots=True)
class Directives:
    """What a message asks of the model, and the rest of its text."""

    tools: list[ToolCall]
    simple: dict[str, str]
    rest: str


def read_directives(text: str) -> Directives:
    """Find `[[tool=NAME {json}]]`, `[[delay=MS]]`, `[[text=...]]`, `[[error=429 retry=1 times=2]]`,
    `[[hang]]`, `[[chunks=N]]`, `[[every=MS]]`, `[[finish=REASON]]`, `[[session=NAME]]`."""
    if "[[" not in text:
        return Directives([], {}, text)
    tools, rest = [], []
    at = 0
    for match, call, end in _tools(text):
        rest.append(text[at:match])
        tools.append(call)
        at = end
    left = "".join(rest) + text[at:]
    simple = {m[1]: m[2] or "" for m in _SIMPLE.finditer(left)}
    return Directives(tools, simple, _SIMPLE.sub("", left).strip())


def _tools(text: str) -> Iterator[tuple[int, ToolCall, int]]:
    position = 0
    while match := _TOOL.search(text, position):
        arguments: Any = {}
        end = match.end()
        if text.startswith("{", end):
            try:
                arguments, end = json.JSONDecoder().raw_decode(text, end)
            except ValueError:
                end = text.find("]]", end)
                arguments = text[match.end() : end]
        end = text.find("]]", end)
        if end < 0:
            return
        yield match.start(), ToolCall(match[1], arguments), end + 2
        position = end + 2


class Responder:
    """Answers what no script covers: echoes the last user text and obeys its directives.

    A tool of the directives is called once each, in order, one per step; then the text follows. In
    `[[text=...]]` the word {tool} stands for the last tool result.
    """

    def __init__(self) -> None:
        self._errors: Counter[str] = Counter()

    def clear(self) -> None:
        """Forget which errors were shown."""
        self._errors.clear()

    def answer(self, messages: list[dict[str, Any]], session: str) -> Answer:
        """The answer to a conversation."""
        position = last_user(messages)
        asked = read_directives(text_of(messages[position]) if position is not None else "")
        if failure := self._failure(asked.simple.get("error"), session):
            return failure
        after = messages[position + 1 :] if position is not None else []
        steps = sum(bool(m.get("tool_calls")) for m in after)
        timing = _timing(asked.simple)
        if steps < len(asked.tools):
            return replace(calls(asked.tools[steps]), **timing)
        results = [text_of(m) for m in after if m.get("role") == "tool"]
        text = asked.simple.get("text", f"echo: {asked.rest}").replace(
            "{tool}", results[-1] if results else ""
        )
        return replace(says(text), finish=asked.simple.get("finish", "auto"), **timing)

    def _failure(self, order: str | None, session: str) -> Answer | None:
        if order is None:
            return None
        status, *options = order.split()
        given = dict(option.split("=", 1) for option in options)
        key = f"{session} {order}"
        if self._errors[key] >= int(given.get("times", 1)):
            return None
        self._errors[key] += 1
        if given.get("code") == "context_length_exceeded":
            return overflows()
        return fails(int(status), retry_after=float(given["retry"]) if "retry" in given else None)


def _timing(simple: Mapping[str, str]) -> dict[str, Any]:
    timing: dict[str, Any] = {}
    if "delay" in simple:
        timing["first"] = float(simple["delay"]) / 1000
    if "every" in simple:
        timing["every"] = float(simple["every"]) / 1000
    if "chunks" in simple:
        timing["chunks"] = int(simple["chunks"])
    if "hang" in simple:
        timing["hang"] = simple["hang"] or "headers"
    return timing


def last_user(messages: list[dict[str, Any]]) -> int | None:
    """Position of the last user message."""
    return next((i for i in range(len(messages) - 1, -1, -1) if messages[i].get("role") == "user"), None)


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, its parts joined by line ends."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(p.get("text", "")) for p in content if p.get("type") == "text")
    return content if isinstance(content, str) else ""
