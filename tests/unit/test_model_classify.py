"""What refusals mean."""

import json

import pytest

from agent_core.models.classify import classify, parse_refusal, retry_after
from hermes.errors import ModelError

NOW = 1_700_000_000.0


def refused(status: int | None, body: object = "") -> ModelError:
    raw = body if isinstance(body, str) else json.dumps(body)
    return classify(status, parse_refusal(raw.encode()), provider="openrouter", model="m", wait=7.0)


def error(message: str, code: object = None, kind: object = None) -> dict[str, object]:
    return {"error": {"message": message, "code": code, "type": kind}}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, error("No auth credentials found"), "auth"),
        (403, "", "auth"),
        (400, error("API key not valid. Please pass a valid API key."), "auth"),
        (402, error("Insufficient credits"), "auth"),
        (429, error("You exceeded your current quota", "insufficient_quota"), "auth"),
        (429, error("Rate limit reached for requests"), "rate_limit"),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "overload"),
        (503, "<html>unavailable</html>", "overload"),
        (500, error("The server had an error"), "overload"),
        (502, "", "overload"),
        (408, "", "timeout"),
        (413, error("request_too_large"), "overflow"),
        (413, "Payload Too Large", "overflow"),  # MD-19a: by its number alone
        (400, error("x", "context_length_exceeded"), "overflow"),
        (
            400,
            error("This model's maximum context length is 65536 tokens. However, you requested 70000 tokens"),
            "overflow",
        ),
        (400, error("prompt is too long: 210000 tokens > 200000 maximum"), "overflow"),
        (
            400,
            {
                "error": {
                    "code": 400,
                    "message": "the request exceeds the available context size. try increasing it",
                }
            },
            "overflow",
        ),
        (
            400,
            {"message": "The prompt (length 25938) is too long to fit into the model (context length 4096)"},
            "overflow",
        ),
        (
            400,
            error("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
            "overflow",
        ),
        (400, error("Input is too long for requested model."), "overflow"),
        (
            429,
            error("Request too large for model on tokens per min (TPM): Limit 6000, Requested 9000"),
            "overflow",
        ),
        (500, error("input length exceeds the context length"), "overflow"),
        (400, error("invalid tool call arguments"), "bad_request"),
        (400, error("max_tokens must be at least 1"), "bad_request"),
        (404, error("model 'x' not found"), "bad_request"),
        (400, "registry.ollama.ai/library/x does not support tools", "bad_request"),
        (422, {"detail": [{"msg": "field required"}]}, "bad_request"),
        (None, error("Provider returned error", 502), "overload"),
        (None, error("Rate limit exceeded", "429"), "rate_limit"),
        (None, error("Overloaded", None, "overloaded_error"), "overload"),
        (None, [error("slow down", 429)], "rate_limit"),
        (400, "[" * 100_000, "bad_request"),
    ],
)
def test_kinds(status: int | None, body: object, kind: str) -> None:
    assert refused(status, body).kind == kind


def test_MD_19b_a_complaint_about_arguments_is_no_overflow() -> None:
    assert refused(400, error("invalid tool call arguments", "invalid_request_error")).kind == "bad_request"


def test_messages_name_the_cause_without_the_providers_words() -> None:
    told = str(refused(401, error("Incorrect API key provided: sk-abc123", "invalid_api_key")))
    assert "sk-abc123" not in told
    assert "hermes model" in told
    assert "invalid_api_key" in told
    assert "HTTP 401" in told
    assert "sk-" not in str(refused(401, error("bad", "sk-abc-4242")))


def test_the_wait_stands_in_the_error() -> None:
    assert refused(429).retry_after == 7.0
    assert refused(400).retry_after is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_MD_17_retry_after_in_its_three_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds
