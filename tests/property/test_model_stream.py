"""Streams may be cut anywhere: what comes out does not depend on it."""

from hypothesis import given
from hypothesis import strategies as st

from agent_core.models.chat_calls import parse_arguments
from agent_core.models.sse import EventLines
from agent_core.models.thinking import ThinkFilter

PARTS = [
    "<think>",
    "</think>",
    "<thin",
    "k>",
    "`",
    "```",
    "~~~",
    "\n",
    " ",
    "a",
    "<",
    ">",
    "汉",
    "</",
    "reasoning",
]
texts = st.lists(st.sampled_from(PARTS), max_size=25).map("".join)
cuts = st.lists(st.integers(1, 9), min_size=1, max_size=60)


def pieces(text: str, sizes: list[int]) -> list[str]:
    out: list[str] = []
    at = 0
    while at < len(text):
        size = sizes[len(out) % len(sizes)]
        out.append(text[at : at + size])
        at += size
    return out


def filtered(parts: list[str]) -> str:
    thinking = ThinkFilter()
    for part in parts:
        thinking.feed(part)
    thinking.finish()
    return thinking.text


@given(texts, cuts)
def test_MD_13_the_visible_text_does_not_depend_on_the_pieces(text: str, sizes: list[int]) -> None:
    assert filtered(pieces(text, sizes)) == filtered([text])


@given(st.text(alphabet="a<> b\n", max_size=60).filter(lambda t: "think" not in t), cuts)
def test_text_without_tags_stays_as_it_is(text: str, sizes: list[int]) -> None:
    assert filtered(pieces(text, sizes)) == text.lstrip()


@given(
    st.lists(st.text(alphabet="ab:\u2028é", max_size=9), max_size=9), cuts, st.sampled_from(["\n", "\r\n"])
)
def test_events_do_not_depend_on_the_pieces(data: list[str], sizes: list[int], end: str) -> None:
    body = "".join(f"data: {d}{end}{end}" for d in data)
    lines = EventLines()
    found = [e for p in pieces(body, sizes) for e in lines.feed(p.encode())] + lines.finish()
    assert [e.decode() for e in found] == data


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=9), min_size=1), st.data())
def test_MD_05_a_cut_object_never_parses(value: dict[str, object], data: st.DataObject) -> None:
    import json

    raw = json.dumps(value)
    assert parse_arguments(raw, cut=True) == value
    assert parse_arguments(raw[: data.draw(st.integers(0, len(raw) - 1))], cut=True) is None
