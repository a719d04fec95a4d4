"""What the server asks of buttons under a message. https://core.telegram.org/bots/api#inlinekeyboardbutton"""

from collections.abc import Mapping
from typing import Any

MOST_BUTTONS = 100
BESIDE = 8
LONGEST_DATA = 64  # bytes


def keyboard_faults(markup: Mapping[str, Any]) -> list[str]:
    """Why an inline keyboard is refused, in the server's words; none for other markup."""
    rows = markup.get("inline_keyboard", ())
    buttons = [button for row in rows for button in row]
    faults = [fault for button in buttons for fault in _faults(button)]
    if len(buttons) > MOST_BUTTONS or any(len(row) > BESIDE for row in rows):
        faults.append("reply markup is too long")
    return faults


def _faults(button: Mapping[str, Any]) -> list[str]:
    kinds = button.keys() - {"text", "icon_custom_emoji_id", "style"}
    faults = [] if len(kinds) == 1 else ["can't parse inline keyboard button: BUTTON_TYPE_INVALID"]
    if not button["text"].strip():
        faults.append("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
    if "callback_data" in button and not 1 <= len(button["callback_data"].encode()) <= LONGEST_DATA:
        faults.append("BUTTON_DATA_INVALID")
    return faults
