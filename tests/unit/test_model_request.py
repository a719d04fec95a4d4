"""Requests as they are sent, and estimates."""

import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessageParam
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter

from agent_core.models.chat_wire import WireSettings, build_request, encode_request
from agent_core.models.estimate import TokenEstimate, raw_tokens
from agent_core.models.providers import PROVIDERS, ProviderConfig, build_model
from hermes.errors import ModelError
from hermes.messages import Message, ToolCall
from hermes.model import ModelRequest, ToolSpec

SETTINGS = WireSettings(model="m", window=8192, origin="openrouter:m")
READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def asked(*messages: Message, **fields: Any) -> ModelRequest:
    return ModelRequest("Be brief.", messages or (Message("user", "hi"),), **fields)


def conversation(call: ToolCall, **extra: Any) -> ModelRequest:
    return asked(
        Message("user", "read a"),
        Message("assistant", "", (call,), extra=extra),
        Message("tool", "content", tool_call_id=call.id, name=call.name),
        tools=(READ,),
        session="s1",
    )


def test_requests_have_the_shape_that_the_openai_sdk_describes() -> None:
    full = WireSettings("m", 8192, 100, 0.5, cache_key=True, max_tokens_field="max_completion_tokens")
    body = build_request(conversation(ToolCall("c1", "read", {"path": "a"}, '{"path":"a"}')), full, 10)
    adapter = TypeAdapter(CompletionCreateParamsStreaming)
    messages = TypeAdapter(list[ChatCompletionMessageParam])
    adapter.validate_python(body, strict=True)
    messages.validate_python(body["messages"])
    with pytest.raises(ValueError, match="tool_call_id"):
        messages.validate_python([{"role": "tool", "content": "no id"}])
    with pytest.raises(ValueError, match="stream_options"):
        adapter.validate_python({**body, "stream_options": True})
    assert body["prompt_cache_key"] == "s1"
    assert [m["role"] for m in body["messages"]] == ["system", "user", "assistant", "tool"]


def test_MD_02_arguments_in_the_history_are_always_a_json_object() -> None:
    body = build_request(conversation(ToolCall("c1", "read", None, '{"path":"a')), SETTINGS)
    assert json.loads(body["messages"][2]["tool_calls"][0]["function"]["arguments"]) == {}


def test_arguments_go_back_byte_for_byte() -> None:
    raw = '{ "path" : "a" }'
    body = build_request(conversation(ToolCall("c1", "read", {"path": "a"}, raw)), SETTINGS)
    assert body["messages"][2]["tool_calls"][0]["function"]["arguments"] == raw


def test_MD_11_an_empty_assistant_message_is_not_sent() -> None:
    body = build_request(
        asked(Message("user", "a"), Message("assistant", ""), Message("user", "b")), SETTINGS
    )
    assert [m["content"] for m in body["messages"]] == ["Be brief.", "a", "b"]


def test_reasoning_goes_back_to_whom_it_came_from() -> None:
    call = ToolCall("c1", "read", {}, "{}")
    details = [{"type": "reasoning.text", "text": "x"}]
    same = build_request(conversation(call, origin="openrouter:m", reasoning_details=details), SETTINGS)
    other = build_request(conversation(call, origin="openai:m", reasoning_details=details), SETTINGS)
    assert same["messages"][2]["reasoning_details"] == details
    assert "origin" not in same["messages"][2]
    assert "reasoning_details" not in other["messages"][2]


def test_MD_20_no_output_limit_unless_configured() -> None:
    assert "max_tokens" not in build_request(asked(), SETTINGS, 500)


@pytest.mark.parametrize(
    ("configured", "prompt", "sent"), [(8192, 500, 7628), (100, 500, 100), (8192, 8200, None)]
)
def test_MD_20_the_output_limit_leaves_room_for_the_prompt(
    configured: int, prompt: int, sent: int | None
) -> None:
    assert build_request(asked(max_tokens=configured), SETTINGS, prompt).get("max_tokens") == sent


def test_MD_21_no_lone_surrogate_is_sent() -> None:
    call = ToolCall("c1", "read", {"path": "\ufffd"}, '{"path":"\\ud83d"}')
    request = conversation(call)
    messages = [*request.messages, Message("user", "ok \ud83d end \ud83d\ude00 \udc00")]
    sent = encode_request(build_request(asked(*messages), SETTINGS)).decode("utf-8")
    assert "\\ud83d" not in sent.lower()
    assert "ok \ufffd end \U0001f600 \ufffd" in sent


# --- providers ------------------------------------------------------------------------------------


def test_each_known_provider_can_be_built() -> None:
    for name in PROVIDERS:
        config = ProviderConfig(name, "m", base_url="http://127.0.0.1:9/v1", api_key="k\n")
        assert build_model(config).name == "m"


@pytest.mark.parametrize(
    ("config", "word"),
    [
        (ProviderConfig("openrouter", "m"), "OPENROUTER_API_KEY"),
        (ProviderConfig("openrouter", api_key="k"), "hermes model"),
        (ProviderConfig("custom", "m"), "base_url"),
        (ProviderConfig("custom", "m", base_url="localhost:80"), "http://"),
        (ProviderConfig("none", "m"), "known are"),
        (ProviderConfig("openai", "m", api_key="clé"), "characters"),
        (ProviderConfig("ollama", "m", headers={"X-A": "1\r\nX-B: 2"}), "X-A"),
    ],
)
def test_what_is_missing_is_said(config: ProviderConfig, word: str) -> None:
    with pytest.raises(ModelError) as caught:
        build_model(config)
    assert caught.value.kind == "config"
    assert word in str(caught.value)


def test_keys_are_not_shown() -> None:
    config = ProviderConfig("openai", "m", api_key="sk-secret", headers={"X": "sk-other"})
    assert "sk-" not in repr(config)


# --- estimates ------------------------------------------------------------------------------------


def test_estimates_are_near_for_latin_cyrillic_and_han() -> None:
    assert raw_tokens("word " * 100) == pytest.approx(125)
    assert 70 <= raw_tokens("汉" * 100) <= 120
    assert 45 <= raw_tokens("ж" * 100) <= 75
    raw_tokens("\ud83d")


def test_the_estimate_learns_and_is_bounded() -> None:
    request = asked(Message("user", "word " * 1000))
    first = TokenEstimate().request(request)
    learned = TokenEstimate().learned(request, first * 2)
    assert learned.request(request) == pytest.approx(first * 2, rel=0.01)
    again = learned.learned(request, first)
    assert first < again.request(request) < first * 2
    assert TokenEstimate().learned(request, first * 100).factor == 2.5
    assert TokenEstimate().learned(request, 1).factor == 0.5
    assert TokenEstimate().learned(request, 0) == TokenEstimate()
    assert TokenEstimate().learned(asked(), 5000) == TokenEstimate()


def test_tools_calls_and_reasoning_count() -> None:
    call = ToolCall("c1", "read", {"path": "a" * 400}, "")
    bare = TokenEstimate().request(asked(Message("user", "read a")))
    assert TokenEstimate().request(conversation(call, reasoning="y" * 400)) > bare + 200
    assert TokenEstimate().text("abcde") == 2
