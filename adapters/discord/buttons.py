"""Answers to pick as buttons under a message, and which of them was pressed. Pure.

Source: https://discord.com/developers/docs/components/reference#button . What a button says is read from the message, which
Discord sends along with a press; its id only tells which one of the message's buttons it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adapters.discord.render import AGAIN, LIMIT
from adapters.fields import objects
from adapters.markdown.clusters import boundary_before
from adapters.markdown.cuts import is_blank
from adapters.markdown.split import utf16_len
from hermes.adapter import Piece
from hermes.messages import scrub_surrogates

__all__ = ["Button", "pressed", "with_buttons", "without_buttons"]

_ROW, _BUTTON, _GREY = 1, 2, 2
_IN_ROW = 5
_LONGEST = 80
"""Of a label: "characters" there, counted in UTF-16 units as texts are."""
_ID = re.compile(r"choice:([0-9]{1,2})(?::([0-9]{1,20}))?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Button:
    """number: among the message's, from 0. thread: the one that the message was meant for, where it was to begin one."""

    number: int
    label: str
    thread: str = ""


def with_buttons(piece: Piece, choices: Sequence[str]) -> Piece:
    """See `ChoosingAdapter.render_choices`. A label that is too long for Discord is cut."""
    thread = str(piece.format["message"]) if piece.format.get("parent") else ""
    made = [_button(number, choice, thread) for number, choice in enumerate(choices)]
    rows = [{"type": _ROW, "components": made[at : at + _IN_ROW]} for at in range(0, len(made), _IN_ROW)]
    return replace(piece, format={**piece.format, "components": rows})


def without_buttons(piece: Piece) -> Piece | None:
    """The piece with what its buttons say as a list at its end, if there is room for it; `None`: it has no buttons."""
    rows = piece.format.get("components")
    if not isinstance(rows, list) or not rows:
        return None
    labels = [str(button.get("label")) for row in rows for button in objects(row, "components")]
    whole = "\n".join([f"{piece.text}\n", *(f"{n}. {label}" for n, label in enumerate(labels, 1))])
    text = whole if utf16_len(whole) <= LIMIT - utf16_len(AGAIN) else piece.text
    return replace(piece, text=text, format={k: v for k, v in piece.format.items() if k != "components"})


def pressed(message: object, data: Mapping[str, Any]) -> Button | None:
    """Which of the message's buttons was pressed; `None`: it is not one of ours."""
    told = data.get("custom_id")
    found = _ID.fullmatch(told) if isinstance(told, str) else None
    if found is None or not isinstance(message, Mapping):
        return None
    for row in objects(message, "components"):
        for button in objects(row, "components"):
            if button.get("custom_id") == told and (label := _cleaned(str(button.get("label") or ""))):
                return Button(int(found[1]), label, found[2] or "")
    return None


def _button(number: int, choice: str, thread: str) -> dict[str, Any]:
    label = _cleaned(choice)
    shown = str(number + 1) if is_blank(label) else _cut(label)
    name = f"choice:{number}:{thread}" if thread else f"choice:{number}"
    return {"type": _BUTTON, "style": _GREY, "label": shown, "custom_id": name}


def _cleaned(label: str) -> str:
    return " ".join(_CONTROL.sub(" ", scrub_surrogates(label)).split())


def _cut(label: str) -> str:
    if utf16_len(label) <= _LONGEST:
        return label
    end = next(at for at in range(len(label), 0, -1) if utf16_len(label[:at]) < _LONGEST)
    return label[: boundary_before(label, end, 0)] + "…"
