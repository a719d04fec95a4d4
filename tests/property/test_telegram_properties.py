"""Whatever an update looks like, it becomes one `Parsed` that can be stored."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.addressing import Account, read_text
from adapters.telegram.parse import parse_update
from adapters.telegram.reading import Reading
from hermes.events import Event, Ignored, Unparsable, event_from_json, event_to_json

US = Account(42, "mybot")
READING = Reading("telegram", US)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WHOLE: dict[str, Any] = {
    "message_id": 70,
    "date": 1_700_000_000,
    "chat": {"id": -1001, "type": "supergroup", "title": "Team"},
    "from": {"id": 9, "is_bot": False, "first_name": "Bob"},
    "text": "\U0001f680 @mybot hi",
    "entities": [{"type": "mention", "offset": 3, "length": 6}],
    "message_thread_id": 77,
    "is_topic_message": True,
    "reply_to_message": {"message_id": 3, "from": {"id": 42}, "text": "why"},
    "edit_date": 5,
}


@given(st.dictionaries(st.sampled_from(sorted(WHOLE)), ANYTHING, max_size=4), st.integers(0, 1 << 40))
def test_a_message_with_wrong_parts_harms_nobody(wrong: dict[str, Any], number: int) -> None:
    parsed = parse_update({"update_id": number, "message": {**WHOLE, **wrong}}, READING)
    if isinstance(parsed, Event):
        assert event_from_json(event_to_json(parsed)) == parsed
        event_to_json(parsed).encode("utf-8")
    else:
        assert isinstance(parsed, Ignored | Unparsable)


@given(ANYTHING)
def test_any_json_is_read_without_an_exception(update: object) -> None:
    parsed = parse_update(update, READING)
    if isinstance(parsed, Unparsable):
        json.loads(parsed.raw)


@given(st.text(max_size=40), st.text(max_size=40))
def test_TG_23_our_name_is_found_wherever_it_stands(before: str, after: str) -> None:
    text = f"{before}@mybot{after}"
    entity = {"type": "mention", "offset": len(before.encode("utf-16-le")) // 2, "length": 6}
    said = read_text(text, [entity], US)
    if not text.startswith("/"):
        assert said.to_us
        assert said.text in ((before + after).strip(), (before + after[1:]).strip(), text)
