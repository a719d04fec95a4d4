"""What a provider's refusal means. Pure: status, headers and body in, a `ModelError` out.

Sources: the error pages of OpenAI, OpenRouter, Anthropic (529) and DeepSeek; RFC 9110 section 10.2.3
(Retry-After). What a provider says in words is only looked at, never passed on: it may quote the request
or part of a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from hermes.errors import ModelError, ModelErrorKind

__all__ = ["Refusal", "classify", "parse_refusal", "retry_after"]

_OVERFLOW = re.compile(
    r"context[_ ]length|context[_ ](?:window|size)|maximum context|max_model_len|model_context_window"
    r"|prompt (?:is )?too long|input is too long|input length|too many (?:input )?tokens|token limit exceeded"
    r"|(?:exceeds?|exceeded|over) the (?:model'?s )?(?:maximum|max|available) (?:number of )?(?:input )?"
    r"(?:tokens|context)|request_too_large|request too large|string_above_max_length"
    r"|reduce the length of the (?:messages|prompt|input)|max(?:imum)? (?:prompt|input) length",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|credit|funds)|billing_(?:hard_limit|not_active)", re.IGNORECASE
)
_BAD_KEY = re.compile(
    r"invalid[_ ]api[_ ]key|incorrect api key|api key not valid|authentication_error", re.IGNORECASE
)
_NO_TOOLS = re.compile(
    r"(?:not|n't) support (?:tools?|function|tool use)|no endpoints found that support tool", re.IGNORECASE
)
_NO_PICTURES = re.compile(
    r"\bno\w* (?:\w+ ){0,4}(?:support|accept)\w* (?:\w+ ){0,2}(?:image|picture|vision|multimodal)"
    r"|(?:not|n't) (?:support|accept|take|have) (?:\w+ ){0,2}(?:image|picture|vision|multimodal)"
    r"|\b(?:image|vision|multimodal)[\w`' ]{0,40}(?:is|are|not|n't|only) (?:not |only )?(?:supported|enabled|allowed|available)"
    r"|unknown variant [`'\"\\]*image_url|not a (?:multimodal|vision) model|at most 0 image"
    r"|missing data required for image input|content[\w\]`'\"\\. ]{0,20} must be a string",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model[_ ]not[_ ]found|model .{0,120}(?:not found|does not exist|not exist)"
    r"|not a valid model|unknown model",
    re.IGNORECASE,
)
_RATE = re.compile(r"rate[_ ]limit|too many requests", re.IGNORECASE)
_OVERLOAD = re.compile(
    r"overload|server_error|internal_error|unavailable|at capacity|try again later|timed? ?out", re.IGNORECASE
)
_TOKEN = re.compile(r"[A-Za-z][A-Za-z_.]{0,47}")  # letters only: no key looks like that


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as a provider wrote it.

    Its code where that is a plain word, its status where it names one, all its words.
    """

    words: str
    code: str = ""
    status: int | None = None


def parse_refusal(body: bytes | str | Mapping[str, Any]) -> Refusal:
    """Read `{"error".

    {...}}`, `{"error": "..."}`, `{"detail": ...}`, `{"message": ...}`, a list of one, or plain text.
    """
    raw: Any = body
    if isinstance(body, (bytes, str)):
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        try:
            raw = json.loads(text)
        except (ValueError, RecursionError):
            return Refusal(text[:4000])
    if isinstance(raw, list) and raw:
        raw = raw[0]
    inner = raw.get("error", raw) if isinstance(raw, Mapping) else raw
    code = inner.get("code") if isinstance(inner, Mapping) else None
    kind = inner.get("type") if isinstance(inner, Mapping) else None
    named = next((c for c in (code, kind) if isinstance(c, str) and _TOKEN.fullmatch(c)), "")
    return Refusal(json.dumps(raw, ensure_ascii=False)[:4000], named, _status(code))


def _status(code: object) -> int | None:
    if isinstance(code, str) and code.isdecimal():
        code = int(code)
    return code if isinstance(code, int) and 400 <= code <= 599 else None


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait as the provider says.

    `retry-after-ms`, or Retry-After as seconds or HTTP-date. Names in lower case.

    now: wall time in seconds, for dates. `None` where nothing usable stands there.
    """
    try:
        wait = float(headers["retry-after-ms"]) / 1000
    except (KeyError, ValueError):
        wait = _seconds_or_date(headers.get("retry-after", "").strip(), now)
    return max(0.0, wait) if wait == wait and wait != float("inf") else None  # noqa: PLR0124 - NaN


def _seconds_or_date(value: str, now: float) -> float:
    try:
        return float(value)
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError):
        return float("nan")
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now


def classify(
    status: int | None, refusal: Refusal, *, provider: str, model: str, wait: float | None = None
) -> ModelError:
    """The error for an HTTP status (or, inside a stream, for the status that the refusal itself names)."""
    code = status if status is not None and status >= 400 else refusal.status
    no_pictures = code not in (401, 402, 403) and bool(_NO_PICTURES.search(refusal.words))
    blind: tuple[ModelErrorKind, str] = ("bad_request", f"says that {model} takes no pictures")
    kind, sentence = blind if no_pictures else _verdict(code, refusal, model)
    note = f" ({', '.join(p for p in (f'HTTP {code}' if code else '', refusal.code) if p)})"
    told = f"{provider} {sentence}".rstrip(".") + (note if note != " ()" else "") + "."
    return ModelError(
        told,
        kind=kind,
        status=code,
        retry_after=wait if kind in ("rate_limit", "overload") else None,
        unknown_model=kind == "bad_request" and not no_pictures and _lacks_model(code, refusal.words),
        no_pictures=no_pictures,
    )


def _lacks_model(code: int | None, words: str) -> bool:
    return code == 404 or bool(_NO_MODEL.search(words) or _NO_TOOLS.search(words))


def _verdict(code: int | None, refusal: Refusal, model: str) -> tuple[ModelErrorKind, str]:
    words = refusal.words
    if code in (400, 413, 422, 429, 500, None) and (code == 413 or _OVERFLOW.search(words)):
        return "overflow", f"refused the conversation: it is longer than {model} takes"
    if code == 402 or (code in (400, 403, 429, None) and _QUOTA.search(words)):
        return "auth", "has no credit left for this key; add credit or set another key with `hermes model`"
    if code in (401, 403) or (code in (400, None) and _BAD_KEY.search(words)):
        return "auth", "refused the key; set a valid one with `hermes model`"
    if code == 429 or (code is None and _RATE.search(words)):
        return "rate_limit", "limits how often it may be asked; try again in a while"
    if code == 408:
        return "timeout", "took too long; try again"
    return _bad_or_overload(code, words, model)


def _bad_or_overload(code: int | None, words: str, model: str) -> tuple[ModelErrorKind, str]:
    if code in (409, 425) or (code is not None and code >= 500) or (code is None and _OVERLOAD.search(words)):
        return "overload", "is overloaded or down; try again in a while"
    if code in (400, 404, None) and _NO_TOOLS.search(words):
        return "bad_request", f"says that {model} cannot call tools; pick another model with `hermes model`"
    if code in (400, 404, None) and _NO_MODEL.search(words):
        return "bad_request", f"does not know the model {model}; pick another with `hermes model`"
    if code == 404:
        return "bad_request", "has no such address or model; check `base_url` and the model's name"
    return "bad_request", "refused the request"
