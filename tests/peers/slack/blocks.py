"""Block Kit as far as the app uses it: what Slack refuses, what people see, and how Slack shows blocks to the app.

https://docs.slack.dev/reference/block-kit/blocks/section-block , /actions-block , /block-elements/button-element and
/composition-objects/text-object
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_MOST_BLOCKS, _MOST_ELEMENTS, _LONGEST_ID = 50, 25, 255
_LONGEST_SECTION, _LONGEST_LABEL, _LONGEST_VALUE = 3_000, 75, 2_000
_KNOWN = {
    "section": {"type", "text", "block_id", "fields", "accessory", "expand"},
    "actions": {"type", "elements", "block_id"},
    "button": {"type", "text", "action_id", "url", "value", "style", "confirm", "accessibility_label"},
    "mrkdwn": {"type", "text", "verbatim"},
    "plain_text": {"type", "text", "emoji"},
}
_EMOJI = {"\U0001f44d": ":+1:", "\U0001f389": ":tada:"}
Blocks = Sequence[Mapping[str, Any]]


def given(params: Mapping[str, Any]) -> Blocks:
    """The blocks of a call."""
    found = params.get("blocks") or []
    return list(json.loads(found) if isinstance(found, str) else found)


def sections(blocks: Blocks) -> list[str]:
    """The mrkdwn that people see, part by part."""
    return [block["text"]["text"] for block in blocks if block["type"] == "section"]


def buttons(blocks: Blocks) -> list[Mapping[str, Any]]:
    """The buttons, in order."""
    return [button for block in blocks if block["type"] == "actions" for button in block["elements"]]


def block_faults(blocks: Blocks) -> list[str]:
    """What Slack calls `invalid_blocks`."""
    faults = [f"{len(blocks)} blocks"] if len(blocks) > _MOST_BLOCKS else []
    for block in blocks:
        faults += _unknown(block)
        if block.get("type") == "section":
            faults += _text_faults(block.get("text"), _LONGEST_SECTION, ("mrkdwn", "plain_text"))
        elif block.get("type") == "actions":
            faults += _action_faults(block.get("elements") or [])
        else:
            faults.append(f"a block of type {block.get('type')!r}")
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    return [*faults, *_id_faults("block_id", ids)]


def _action_faults(elements: Blocks) -> Iterator[str]:
    if not 1 <= len(elements) <= _MOST_ELEMENTS:
        yield f"{len(elements)} elements"
    for element in elements:
        yield from _unknown(element)
        if element.get("type") != "button":
            yield f"an element of type {element.get('type')!r}"
            continue
        yield from _text_faults(element.get("text"), _LONGEST_LABEL, ("plain_text",))
        if len(element.get("value", "")) > _LONGEST_VALUE:
            yield "a value that is too long"
    yield from _id_faults("action_id", [str(element.get("action_id", "")) for element in elements])


def _text_faults(text: Any, longest: int, kinds: Sequence[str]) -> Iterator[str]:
    if not isinstance(text, Mapping) or text.get("type") not in kinds:
        yield f"a text object {text!r:.60}"
        return
    yield from _unknown(text)
    if not 1 <= len(text["text"].encode("utf-16-le")) // 2 <= longest or not text["text"].strip():
        yield f"a text of {len(text['text'])} characters, at most {longest}"


def _id_faults(name: str, ids: Sequence[str]) -> Iterator[str]:
    if len(set(ids)) < len(ids):
        yield f"one {name} twice"
    if not all(1 <= len(one) <= _LONGEST_ID for one in ids):
        yield f"a {name} that is empty or too long"


def _unknown(part: Mapping[str, Any]) -> list[str]:
    return [
        f"{key!r} in {part.get('type')}" for key in part if key not in _KNOWN.get(str(part.get("type")), part)
    ]


def echoed(blocks: Blocks) -> list[dict[str, Any]]:
    """The blocks as Slack tells of them: with ids, and the words of buttons written anew."""
    return [
        {"block_id": f"b{number}", **block, **_echoed_elements(block)} for number, block in enumerate(blocks)
    ]


def echoed_button(button: Mapping[str, Any]) -> dict[str, Any]:
    """One button so."""
    words = button["text"]["text"].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for sign, name in _EMOJI.items():
        words = words.replace(sign, name)
    return {**button, "text": {"type": "plain_text", "text": words, "emoji": True}}


def _echoed_elements(block: Mapping[str, Any]) -> dict[str, Any]:
    return {"elements": [echoed_button(one) for one in block["elements"]]} if "elements" in block else {}
