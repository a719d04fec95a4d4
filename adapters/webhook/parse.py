"""Body to payload. Pure."""

from __future__ import annotations

import json
from typing import Any, Never
from urllib.parse import parse_qsl

from hermes.messages import JSONObject

__all__ = ["parse_payload"]

_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 1000


def parse_payload(content_type: str, body: bytes) -> JSONObject:
    """The payload: a JSON object, or the fields of a form (GitHub's has one, `payload`, that holds JSON).

    A body that calls itself anything else is taken when it is JSON. Raises `ValueError` with a sentence.
    """
    try:
        text = body.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as e:
        raise ValueError("The body is not UTF-8.") from e
    return _form(text) if content_type.lower() == _FORM else _json(text, "The body")


def _form(text: str) -> JSONObject:
    try:
        fields = dict(
            parse_qsl(text, strict_parsing=True, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        )
    except ValueError as e:
        raise ValueError("The body is no form.") from e
    return _json(fields["payload"], "The form's field payload") if "payload" in fields else dict(fields)


def _json(text: str, what: str) -> JSONObject:
    try:
        payload: Any = _DECODER.decode(text)
    except RecursionError as e:
        raise ValueError(f"{what} is nested too deeply.") from e
    except ValueError as e:  # JSONDecodeError, and numbers of thousands of digits
        raise ValueError(f"{what} is no valid JSON.") from e
    if not isinstance(payload, dict):
        raise ValueError(f"{what} must be a JSON object.")  # noqa: TRY004  a value of the sender
    return payload


def _no_number(name: str) -> Never:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_number)  # making one costs as much as a small body
