"""Buttons under a message: choices that people may pick, and what a press of one says. Pure.

Source: https://core.telegram.org/bots/api#inlinekeyboardmarkup and #callbackquery. A press brings the message along with
its keyboard, and the label is read from there: nothing has to be remembered of what was offered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.fields import integer, mapping, objects, text
from adapters.markdown.table import columns
from adapters.telegram.answered import beginning
from adapters.telegram.origin import chat_kind, chat_name, person, topic_of
from adapters.telegram.reading import Reading
from hermes.events import PRESSED_TWICE, Event, Ignored, Parsed
from hermes.messages import JSONObject, scrub_surrogates

__all__ = ["keyboard", "labels", "press"]

_OURS = "choice:"
"""Begins the data of a choice; buttons without it are something else's."""
_UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")
"""Control characters, and those that turn the direction of what follows."""
_ROWS = ((8, 4), (18, 2))
"""Columns of the widest label, and how many such buttons stand side by side on a telephone."""


def keyboard(choices: Sequence[str]) -> JSONObject:
    """An InlineKeyboardMarkup with a button for each choice."""
    shown = [_shown(choice) or str(number) for number, choice in enumerate(choices, 1)]
    buttons = [{"text": label, "callback_data": f"{_OURS}{n}"} for n, label in enumerate(shown)]
    widest = max(map(columns, shown), default=0)
    beside = next((count for most, count in _ROWS if widest <= most), 1)
    return {"inline_keyboard": [buttons[i : i + beside] for i in range(0, len(buttons), beside)]}


def labels(markup: Mapping[str, Any]) -> list[str]:
    """What its buttons say, in order."""
    return [text(button, "text") for button in _buttons(markup)]


def press(query: Mapping[str, Any], reading: Reading) -> Parsed:
    """A press as what the presser says. One of a button that is none of ours, or is no longer to be seen, is ignored."""
    message = query.get("message")
    label = _label(message, text(query, "data")) if isinstance(message, Mapping) else ""
    if not isinstance(message, Mapping) or not label:
        return Ignored("unknown button")
    place, number, presser = (
        mapping(message, "chat"),
        integer(message, "message_id"),
        person(mapping(query, "from")),
    )
    kind, chat, thread = chat_kind(place), str(integer(place, "id")), topic_of(message)
    revision = integer(message, "edit_date") if "edit_date" in message else ""
    return Event(
        platform="telegram",
        instance=reading.instance,
        account=str(reading.account.id),
        kind=kind,
        chat=chat,
        sender=presser,
        text=label,
        dedupe_key=f"press:{text(query, 'id')}",
        replay_key=f"{chat}:{number}:{revision}:press:{presser.id}:{label}",
        replay_window=PRESSED_TWICE,
        replay_open=True,
        thread=thread,
        quoted=beginning(text(message, "text") or text(message, "caption")),
        command_text=False,
        reply_to=(reading.target(kind, chat, thread, number),),
        private_notice=kind == "direct",
        chat_name=chat_name(place),
    )


def _label(message: Mapping[str, Any], data: str) -> str:
    """What the button with that data says; empty where it is no choice."""
    if not data.startswith(_OURS):
        return ""
    markup = message.get("reply_markup")
    buttons = _buttons(markup) if isinstance(markup, Mapping) else []
    return next((text(b, "text").strip() for b in buttons if b.get("callback_data") == data), "")


def _buttons(markup: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = markup.get("inline_keyboard")
    return [b for row in (rows if isinstance(rows, list) else ()) for b in objects({"row": row}, "row")]


def _shown(choice: str) -> str:
    """A label without what no client shows; empty where nothing is left to be seen."""
    label = " ".join(_UNSHOWABLE.sub(" ", scrub_surrogates(choice)).split())
    return label if columns(label) else ""
