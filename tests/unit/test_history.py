"""Repair of conversations."""

from agent_core.context.window import TrailingWindow
from agent_core.history import INTERRUPTED, UNANSWERED, legal
from hermes.messages import Message, ToolCall
from hermes.model import ModelRequest
from tests.agentrig import assert_legal, texts


def asks(*ids: str) -> Message:
    return Message("assistant", "", tuple(ToolCall(i, "f", {}, "{}") for i in ids))


def result(call_id: str, text: str = "r") -> Message:
    return Message("tool", text, tool_call_id=call_id, name="f")


def test_SE_06_a_gap_in_the_middle_is_mended_and_a_late_duplicate_dropped() -> None:
    stored = [
        Message("user", "go"),
        asks("c1", "c2"),
        result("c1", "one"),
        Message("user", "again"),
        asks("c3"),
        result("c3", "three"),
        result("c1", "late"),
        Message("assistant", "done"),
    ]
    mended = legal(stored)
    assert_legal(ModelRequest("", mended))
    assert texts(mended) == [
        ("user", "go"),
        ("assistant", ""),
        ("tool", "one"),
        ("tool", INTERRUPTED),
        ("user", "again"),
        ("assistant", ""),
        ("tool", "three"),
        ("assistant", "done"),
    ]
    assert len(stored) == 8


def test_SE_05_a_tail_without_a_result_gets_a_stub_that_says_so() -> None:
    mended = legal([Message("user", "restart it"), asks("c1"), Message("user", "hi")])
    assert texts(mended)[2] == ("tool", INTERRUPTED)
    assert_legal(ModelRequest("", mended))


async def test_MD_09_a_cut_takes_whole_turns() -> None:
    history = [
        Message("user", "a" * 50),
        asks("c1"),
        result("c1"),
        Message("assistant", "ok"),
        Message("user", "b"),
    ]
    window = TrailingWindow(lambda some: sum(len(m.text) + 1 for m in some))
    fitted = await window.fit(history, budget_tokens=10)
    assert texts(fitted.messages) == [("user", "b")]
    assert fitted.dropped == 4


async def test_MD_09_a_turn_that_is_too_long_alone_keeps_its_question_and_its_newest_calls() -> None:
    turn = [Message("user", "q")]
    for number in range(5):
        turn += [asks(f"c{number}"), result(f"c{number}", "x" * 10)]
    window = TrailingWindow(lambda some: sum(len(m.text) + 1 for m in some))
    fitted = await window.fit(turn, budget_tokens=37)  # room for the result of c2, not for its call
    assert fitted.messages[0].text == "q"
    assert [m.tool_call_id for m in fitted.messages if m.role == "tool"] == ["c3", "c4"]


async def test_what_fits_is_not_touched() -> None:
    history = [Message("assistant", "hello"), Message("user", "b")]
    window = TrailingWindow(len)
    assert (await window.fit(history, budget_tokens=2)).messages == tuple(history)


def test_two_people_in_a_row_become_one_message() -> None:
    mended = legal([Message("user", "a"), Message("assistant", " "), Message("user", "b")])
    assert texts(mended) == [("user", "a\n\nb")]


def test_what_the_system_said_in_the_models_place_is_a_note_and_not_its_own_words() -> None:
    told = Message("assistant", "The model cannot be reached.", aside=True)
    mended = legal([Message("user", "go"), told, Message("user", "again"), Message("assistant", "done")])
    assert_legal(ModelRequest("", mended))
    assert texts(mended) == [
        ("user", "go"),
        ("assistant", UNANSWERED),
        ("user", "again"),
        ("assistant", "done"),
    ]
    after_work = legal([Message("user", "go"), asks("c1"), result("c1"), told])
    assert_legal(ModelRequest("", after_work))
    assert [m.role for m in after_work] == ["user", "assistant", "tool", "assistant"]
    assert after_work[-1].text == UNANSWERED
    assert Message.from_json(told.to_json()) == told
