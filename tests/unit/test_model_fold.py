"""Answers put together from streams: calls, finish reasons, usage, reasoning."""

import itertools
import json

import pytest

from agent_core.models.chat_fold import Folder, RefusedInStream
from agent_core.models.sse import EventLines, WholeBody, body_reader
from hermes.errors import ModelError
from hermes.messages import Usage
from hermes.model import Completion


def fold(*chunks: object, done: bool = True) -> tuple[Completion, str]:
    seen: list[str] = []
    ids = (f"new_{n}" for n in itertools.count())
    folder = Folder(seen.append, lambda: next(ids), origin="p:m")
    for chunk in chunks:
        folder.feed(json.dumps(chunk).encode())
    if done:
        folder.feed(b"[DONE]")
    return folder.completion(), "".join(seen)


def delta(finish: str | None = None, **fields: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(arguments: str | None = None, **fields: object) -> dict[str, object]:
    function = {
        k: v for k, v in {"name": fields.pop("name", None), "arguments": arguments}.items() if v is not None
    }
    return {**fields, "function": function}


def test_text_is_joined_and_handed_out_piece_by_piece() -> None:
    completion, seen = fold(delta(content="Hel"), delta(content="lo"), delta("stop"))
    assert completion.message.text == seen == "Hello"
    assert completion.finish == "stop"


def test_MD_01_arguments_cut_by_the_output_limit_are_none() -> None:
    cut = '{"path":"a.txt","content":"hel'
    completion, _ = fold(delta(tool_calls=[call(cut, index=0, id="c1", name="write_file")]), delta("length"))
    (made,) = completion.message.tool_calls
    assert (made.arguments, made.raw, completion.finish) == (None, cut, "length")
    whole = call('{"path":"a.txt"}', index=0, id="c1", name="write_file")
    completion, _ = fold(delta(tool_calls=[whole]), delta("length"))
    assert completion.message.tool_calls[0].arguments == {"path": "a.txt"}


def test_MD_02_cut_arguments_are_none_whatever_the_finish_reason_says() -> None:
    completion, _ = fold(
        delta(tool_calls=[call('{"path":"a', index=0, id="c1", name="w")]), delta("tool_calls")
    )
    assert completion.message.tool_calls[0].arguments is None
    assert completion.finish == "tool_calls"


def test_MD_04_empty_arguments_of_a_finished_call_are_an_empty_object() -> None:
    completion, _ = fold(
        delta(tool_calls=[call("", index=0, id="c1", name="list_jobs")]), delta("tool_calls")
    )
    assert completion.message.tool_calls[0].arguments == {}


def test_MD_04_empty_arguments_of_a_cut_answer_are_missing_ones() -> None:
    completion, _ = fold(delta(tool_calls=[call("", index=0, id="c1", name="list_jobs")]), delta("length"))
    assert completion.message.tool_calls[0].arguments is None


def test_MD_05_the_whole_call_keeps_its_arguments_and_the_cut_one_loses_them() -> None:
    completion, _ = fold(
        delta(tool_calls=[call('{"path":"a"}', index=0, id="c1", name="read_file")]),
        delta(tool_calls=[call('{"path":"b"', index=1, id="c2", name="delete_file")]),
        delta("length"),
    )
    assert [c.arguments for c in completion.message.tool_calls] == [{"path": "a"}, None]


@pytest.mark.parametrize("indexes", [(0, 1), (None, None)])
def test_MD_06_two_calls_with_one_id_become_two_ids(indexes: tuple[int | None, int | None]) -> None:
    pieces = [
        call('{"p":"a"}', index=indexes[0], id="call_1", name="read"),
        call('{"p":"b"}', index=indexes[1], id="call_1", name="read"),
    ]
    completion, _ = fold(delta(tool_calls=pieces), delta("tool_calls"))
    assert [(c.id, c.arguments) for c in completion.message.tool_calls] == [
        ("call_1", {"p": "a"}),
        ("new_0", {"p": "b"}),
    ]


def test_MD_06_an_id_that_an_earlier_message_used_is_replaced() -> None:
    folder = Folder(lambda _: None, lambda: "new", taken={"call_0"})
    folder.chunk(delta("tool_calls", tool_calls=[call("{}", index=0, id="call_0", name="f")]))
    assert [c.id for c in folder.completion().message.tool_calls] == ["new"]


def test_MD_08_interleaved_pieces_join_by_index() -> None:
    completion, _ = fold(
        delta(tool_calls=[call('{"x"', index=0, id="A", name="f")]),
        delta(tool_calls=[call('{"y"', index=1, id="B", name="g")]),
        delta(tool_calls=[call(":1}", index=0)]),
        delta(tool_calls=[call(":2}", index=1)]),
        delta("tool_calls"),
    )
    made = [(c.id, c.name, c.arguments) for c in completion.message.tool_calls]
    assert made == [("A", "f", {"x": 1}), ("B", "g", {"y": 2})]


def test_parallel_calls_that_all_have_index_zero_stay_apart() -> None:
    completion, _ = fold(
        delta(tool_calls=[call("{}", index=0, id="A", name="f")]),
        delta(tool_calls=[call("{}", index=0, id="B", name="g")]),
        delta("stop"),
    )
    assert [c.name for c in completion.message.tool_calls] == ["f", "g"]
    assert completion.finish == "tool_calls"


def test_a_name_repeated_in_every_piece_stands_once() -> None:
    pieces = [call('{"a":', index=0, id="A", name="f"), call("1}", index=0, id="A", name="f")]
    completion, _ = fold(*(delta(tool_calls=[p]) for p in pieces), delta("tool_calls"))
    assert [(c.name, c.arguments) for c in completion.message.tool_calls] == [("f", {"a": 1})]


def test_pieces_without_index_and_id_continue_the_last_call() -> None:
    completion, _ = fold(
        delta(tool_calls=[call('{"a":', name="f")]), delta(tool_calls=[call("1}")]), delta("tool_calls")
    )
    assert [(c.id, c.arguments) for c in completion.message.tool_calls] == [("new_0", {"a": 1})]


@pytest.mark.parametrize(
    "raw", ["[1]", '"x"', "NaN", '{"a":NaN}', '{"mode": fastt"}', "{'a':1}", '{"a":1}}', "[" * 5000]
)
def test_MD_25_what_is_no_json_object_is_none_and_is_not_called_a_cut(raw: str) -> None:
    good = call('{"mode": "fast"}', index=1, id="B", name="f")
    completion, _ = fold(delta(tool_calls=[call(raw, index=0, id="A", name="f"), good]), delta("tool_calls"))
    assert [c.arguments for c in completion.message.tool_calls] == [None, {"mode": "fast"}]
    assert completion.finish == "tool_calls"


def test_arguments_as_an_object_are_taken() -> None:
    piece = {"index": 0, "id": "A", "function": {"name": "f", "arguments": {"a": 1}}}
    completion, _ = fold(delta(tool_calls=[piece]), delta("tool_calls"))
    assert completion.message.tool_calls[0].arguments == {"a": 1}


def test_MD_21_lone_surrogates_do_not_come_in() -> None:
    arguments = '{"a":"ok \\ud83d end"}'
    completion, _ = fold(
        delta(content="t \ud83d", tool_calls=[call(arguments, index=0, id="A", name="f")]),
        delta("tool_calls"),
    )
    assert completion.message.tool_calls[0].arguments == {"a": "ok \ufffd end"}
    completion.message.text.encode()


def test_MD_11_an_answer_that_only_thinks_has_no_text_and_keeps_its_reasoning() -> None:
    completion, seen = fold(
        delta(content="", reasoning_content="think"), delta(reasoning_content="ing"), delta("stop")
    )
    assert (completion.message.text, seen) == ("", "")
    assert completion.message.extra == {"reasoning_content": "thinking", "origin": "p:m"}


def test_reasoning_details_are_joined_piece_by_piece() -> None:
    kind = {"type": "reasoning.text", "index": 0}
    sealed = {"type": "reasoning.encrypted", "data": "x", "index": 1}
    completion, _ = fold(
        delta(reasoning_details=[{**kind, "text": "a"}]),
        delta(reasoning_details=[{**kind, "text": "b", "signature": None}]),
        delta(reasoning_details=[{**kind, "signature": "s"}, sealed]),
        delta("stop", content="x"),
    )
    assert completion.message.extra["reasoning_details"] == [{**kind, "text": "ab", "signature": "s"}, sealed]


def test_MD_14_a_stream_without_an_end_is_a_cut() -> None:
    with pytest.raises(ModelError) as caught:
        fold(delta(content="Hello wor"), done=False)
    assert caught.value.kind == "network"


@pytest.mark.parametrize("chunks", [(), ({"choices": []},)])
def test_an_empty_stream_is_malformed(chunks: tuple[object, ...]) -> None:
    with pytest.raises(ModelError) as caught:
        fold(*chunks)
    assert caught.value.kind == "malformed"


def test_MD_15_a_last_chunk_with_usage_alone_is_fine() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}}
    completion, _ = fold(delta("stop", content="Hi"), {"choices": [], "usage": usage})
    assert completion.message.text == "Hi"
    assert completion.usage == Usage(9, 1, cached=4)


@pytest.mark.parametrize(
    "usage", [{}, {"usage": None}, {"usage": {"prompt_tokens": None}}, {"usage": {"prompt_tokens": "9"}}]
)
def test_MD_16_missing_usage_is_flagged(usage: dict[str, object]) -> None:
    completion, _ = fold({**delta("stop", content="Hi"), **usage})
    assert completion.usage.estimated


def test_MD_16_growing_usage_counts_its_last_value() -> None:
    chunks = [
        {**delta(content="x"), "usage": {"prompt_tokens": 9, "completion_tokens": n}} for n in (1, 2, 3)
    ]
    completion, _ = fold(*chunks, delta("stop"))
    assert completion.usage == Usage(9, 3)


def test_MD_16_usage_inside_the_choice_counts() -> None:
    chunk = {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop", "usage": {"prompt_tokens": 5}}]}
    assert fold(chunk)[0].usage == Usage(5, 0)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("stop", "stop"),
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("content_filter", "content_filter"),
        ("odd", "other"),
    ],
)
def test_finish_reasons(said: str, meant: str) -> None:
    assert fold(delta(said, content="x"))[0].finish == meant


def test_a_whole_message_is_taken_as_well() -> None:
    message = {
        "role": "assistant",
        "content": "Hi",
        "tool_calls": [call("{}", id="A", name="f"), call("{}", id="A", name="f")],
    }
    completion, seen = fold({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    assert seen == "Hi"
    assert [c.id for c in completion.message.tool_calls] == ["A", "new_0"]


def test_content_in_parts_is_joined_without_its_thinking() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "no"}]},
        {"type": "text", "text": "yes"},
    ]
    assert fold(delta("stop", content=parts))[0].message.text == "yes"


@pytest.mark.parametrize("chunk", [{"error": {"message": "overloaded"}}, delta("error"), {"error": "boom"}])
def test_an_error_inside_the_stream_is_raised(chunk: object) -> None:
    with pytest.raises(RefusedInStream):
        fold(delta(content="Hel"), chunk)


def test_text_that_is_no_json_is_malformed() -> None:
    folder = Folder(lambda _: None)
    with pytest.raises(ModelError) as caught:
        folder.feed(b'{"choices": [{"ind')
    assert caught.value.kind == "malformed"


# --- events ---------------------------------------------------------------------------------------

BODY = 'data: {"a":"\u2028é"}\n\n: comment\nevent: x\r\ndata:2\r\n\r\ndata: [DONE]\n\n'.encode()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_do_not_depend_on_where_chunks_end(size: int) -> None:
    lines = EventLines()
    found = [d for i in range(0, len(BODY), size) for d in lines.feed(BODY[i : i + size])]
    assert found + lines.finish() == ['{"a":"\u2028é"}'.encode(), b"2", b"[DONE]"]


def test_the_last_empty_line_may_be_missing() -> None:
    lines = EventLines()
    assert lines.feed(b"data: 1") == []
    assert lines.finish() == [b"1"]


def test_events_without_empty_lines_between_them_are_taken_apart() -> None:
    seen: list[str] = []
    folder = Folder(seen.append)
    joined = json.dumps(delta(content="a")) + "\n" + json.dumps(delta("stop", content="b"))
    folder.feed(joined.encode())
    assert folder.completion().message.text == "ab"


def test_a_line_without_end_is_refused() -> None:
    lines = EventLines()
    lines.feed(b"x" * 2**24)
    with pytest.raises(ModelError):
        lines.feed(b"x")


def test_the_reader_is_chosen_by_the_body() -> None:
    assert isinstance(body_reader(b' {"choices":'), WholeBody)
    assert isinstance(body_reader(b": ping"), EventLines)
    assert body_reader(b"\n") is None
    with pytest.raises(ModelError) as caught:
        body_reader(b"<!doctype html>")
    assert "base_url" in str(caught.value)
