"""What a message holds that is neither text nor a file, in words: a place, a contact, a poll. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from adapters.fields import mapping, objects, text

__all__ = ["named", "worded"]

_NAMES = {
    "photo": "photo",
    "live_photo": "photo",
    "voice": "voice message",
    "audio": "audio",
    "video": "video",
    "video_note": "video message",
    "animation": "animation",
    "document": "file",
    "sticker": "sticker",
    "venue": "place",
    "location": "location",
    "contact": "contact",
    "poll": "poll",
    "dice": "dice",
    "game": "game",
    "story": "story",
    "paid_media": "paid media",
    "checklist": "checklist",
    "rich_message": "formatted message",
}


def named(message: Mapping[str, Any]) -> str | None:
    """What a message holds besides text, in a word or two; `None`: nothing that people sent (a service message)."""
    return next((name for key, name in _NAMES.items() if key in message), None)


def worded(message: Mapping[str, Any]) -> str:
    """It in words, between brackets; empty where words cannot say it, or it is malformed."""
    found = next((say for key, say in _SAYINGS.items() if key in message), None)
    try:
        return found(message) if found is not None else ""
    except ValueError:
        return ""


def _venue(message: Mapping[str, Any]) -> str:
    venue = mapping(message, "venue")
    what = ", ".join(part for part in (text(venue, "title"), text(venue, "address")) if part)
    return f"[Place: {what} ({_point(mapping(venue, 'location'))})]"


def _location(message: Mapping[str, Any]) -> str:
    location = mapping(message, "location")
    kind = "Location where the sender is now" if "live_period" in location else "Location"
    return f"[{kind}: {_point(location)}]"


def _point(location: Mapping[str, Any]) -> str:
    return f"{_degrees(location, 'latitude')}, {_degrees(location, 'longitude')}"


def _degrees(location: Mapping[str, Any], key: str) -> float:
    value = location.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not -180 <= value <= 180:
        raise ValueError(f"{key} is no angle")
    return round(float(value), 6)


def _contact(message: Mapping[str, Any]) -> str:
    contact = mapping(message, "contact")
    name = f"{text(contact, 'first_name')} {text(contact, 'last_name')}".strip()
    return f"[Contact: {', '.join(part for part in (name, text(contact, 'phone_number')) if part)}]"


def _poll(message: Mapping[str, Any]) -> str:
    poll = mapping(message, "poll")
    options = (text(option, "text") for option in objects(poll, "options"))
    return _listed(f"Poll: {text(poll, 'question')}", options)


def _checklist(message: Mapping[str, Any]) -> str:
    checklist = mapping(message, "checklist")
    tasks = (
        f"{'done: ' if 'completion_date' in task else ''}{text(task, 'text')}"
        for task in objects(checklist, "tasks")
    )
    return _listed(f"Checklist: {text(checklist, 'title')}", tasks)


def _listed(head: str, lines: Iterator[str]) -> str:
    return "\n- ".join((f"[{head}", *lines)) + "]"


def _dice(message: Mapping[str, Any]) -> str:
    dice = mapping(message, "dice")
    value = dice.get("value")
    return f"[Dice {text(dice, 'emoji')}: {value if isinstance(value, int) else '?'}]"


def _sticker(message: Mapping[str, Any]) -> str:
    """For one that has no picture."""
    emoji = text(mapping(message, "sticker"), "emoji")
    return f"[Sticker {emoji}]" if emoji else ""


_SAYINGS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "venue": _venue,  # with `location` too
    "location": _location,
    "contact": _contact,
    "poll": _poll,
    "checklist": _checklist,
    "dice": _dice,
    "sticker": _sticker,
}
