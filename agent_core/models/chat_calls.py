"""Tool calls put together from a stream's pieces. Pure.

Pieces join by `index`. Providers differ: some send no index, some give every parallel call index 0, some
repeat id and name in every piece, some repeat one id for two calls, some send arguments as an object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from hermes.messages import JSON, JSONObject, ToolCall, scrub_surrogates

__all__ = ["CallFolder", "parse_arguments"]


class _Slot:
    """One call being written."""

    __slots__ = ("id", "name", "parts")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.parts: list[str] = []

    @property
    def raw(self) -> str:
        return "".join(self.parts)

    def take_name(self, name: str) -> None:
        """A name comes once.

        One that is repeated, or grows, replaces; pieces are joined before the arguments begin.
        """
        if name.startswith(self.name):
            self.name = name
        elif not self.parts:
            self.name += name


class CallFolder:
    """Collects pieces; `calls` gives what they make. `taken`: ids that the conversation has used already."""

    def __init__(self, new_id: Callable[[], str], taken: Collection[str] = ()) -> None:
        self._new_id = new_id
        self._taken = frozenset(taken)
        self._slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}

    def __bool__(self) -> bool:
        return bool(self._slots)

    def delta(self, piece: Mapping[str, Any]) -> None:
        """Take one piece of a call."""
        raw = piece.get("function")
        function: Mapping[str, Any] = raw if isinstance(raw, dict) else {}
        call_id, name = _text(piece.get("id")), _text(function.get("name"))
        slot = self._slot(piece.get("index"), call_id, name)
        slot.id = slot.id or call_id
        if name:
            slot.take_name(name)
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            slot.parts.append(arguments)
        elif isinstance(arguments, dict):
            slot.parts.append(json.dumps(arguments, ensure_ascii=False))

    def whole(self, call: Mapping[str, Any]) -> None:
        """Take a call that is not streamed: it never continues another."""
        self.delta({**call, "index": len(self._slots)})

    def calls(self, *, cut: bool) -> tuple[ToolCall, ...]:
        """The calls in the order in which they began.

        `cut`: the answer was cut, so empty arguments are missing ones.
        """
        taken = set(self._taken)
        return tuple(self._call(s, taken, cut=cut) for s in self._slots if s.name or s.raw.strip())

    def _slot(self, index: object, call_id: str, name: str) -> _Slot:
        if isinstance(index, int):
            slot = self._by_index.get(index)
            other = slot is not None and bool(call_id and name and slot.id and call_id != slot.id)
            if slot is None or other:
                slot = self._by_index[index] = self._begin()
            return slot
        same = next((s for s in reversed(self._slots) if s.id == call_id), None) if call_id else None
        if same is not None and not (name and parse_arguments(same.raw, cut=True) is not None):
            return same
        if same is not None or call_id or name or not self._slots:
            return self._begin()
        return self._slots[-1]

    def _begin(self) -> _Slot:
        slot = _Slot()
        self._slots.append(slot)
        return slot

    def _call(self, slot: _Slot, taken: set[str], *, cut: bool) -> ToolCall:
        call_id = slot.id if slot.id and slot.id not in taken else self._new_id()
        taken.add(call_id)
        raw = scrub_surrogates(slot.raw)
        return ToolCall(scrub_surrogates(call_id), slot.name, parse_arguments(raw, cut=cut), raw)


def parse_arguments(raw: str, *, cut: bool) -> JSONObject | None:
    """The JSON object that `raw` is, `{}` for an empty text of a whole answer, else `None`.

    Nothing is repaired or closed.
    """
    if not raw.strip():
        return None if cut else {}
    try:
        parsed = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict):
        return None
    return _scrubbed(parsed) if "\\u" in raw else parsed


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _scrubbed(value: JSON) -> Any:  # noqa: ANN401 - of the same shape as it came
    """Escapes can write lone surrogates into a string; no store and no other parser takes them."""
    if isinstance(value, str):
        return scrub_surrogates(value)
    if isinstance(value, dict):
        return {scrub_surrogates(k): _scrubbed(v) for k, v in value.items()}
    return [_scrubbed(v) for v in value] if isinstance(value, list) else value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
