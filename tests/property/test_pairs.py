"""Whatever a history looks like, the request made of it is legal."""

from hypothesis import given
from hypothesis import strategies as st

from agent_core.context.window import TrailingWindow
from agent_core.history import blocks, legal
from hermes.messages import Message, ToolCall
from hermes.model import ModelRequest
from tests.agentrig import assert_legal

IDS = st.sampled_from(["c1", "c2", "c3", ""])
TEXTS = st.sampled_from(["", "  ", "hello", "more"])
CALLS = st.lists(
    st.builds(
        lambda i, ok: ToolCall(i, "f", {} if ok else None, "{" if not ok else "{}"), IDS, st.booleans()
    ),
    max_size=3,
).map(tuple)
MESSAGES = st.lists(
    st.one_of(
        st.builds(lambda t: Message("user", t or "hi"), TEXTS.filter(str.strip)),
        st.builds(lambda t, c: Message("assistant", t, c), TEXTS, CALLS),
        st.builds(lambda i, t: Message("tool", t, tool_call_id=i, name="f"), IDS, TEXTS),
    ),
    max_size=14,
)


@given(MESSAGES)
def test_SE_06_any_history_becomes_a_legal_request(messages: list[Message]) -> None:
    assert_legal(ModelRequest("", legal(messages)))


@given(MESSAGES)
def test_a_legal_request_stays_as_it_is(messages: list[Message]) -> None:
    once = legal(messages)
    assert legal(once) == once


@given(MESSAGES)
def test_blocks_lose_nothing(messages: list[Message]) -> None:
    assert sorted(map(id, (m for b in blocks(messages) for m in b))) == sorted(map(id, messages))


@given(MESSAGES, st.integers(0, 60), st.booleans())
async def test_MD_09_no_cut_separates_a_call_from_its_result(
    messages: list[Message], budget: int, in_a_turn: bool
) -> None:
    asked = Message("user", "the last words")
    messages = [Message("user", "before"), Message("assistant", "well"), asked, *messages] if in_a_turn else [
        *messages, asked]  # fmt: skip
    sound = legal(messages)
    window = TrailingWindow(lambda some: sum(len(m.text) + 3 for m in some))
    fitted = await window.fit(sound, budget_tokens=budget)
    assert fitted.messages[-1] == sound[-1]
    assert fitted.dropped == len(sound) - len(fitted.messages)
    # Nothing has to be mended: no stub is made up, no result is an orphan.
    assert legal(fitted.messages) == fitted.messages
    assert "interrupted" not in {m.text[1:12] for m in fitted.messages} - {m.text[1:12] for m in sound}
