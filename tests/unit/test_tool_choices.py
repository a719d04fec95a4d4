"""Answers to pick: which labels are taken, and what is left of them."""

from pathlib import Path

import pytest

from hermes.errors import ToolError
from hermes.services import Services
from hermes.tools import ToolContext
from tools.offer_choices import offer_choices

_HERE = ToolContext("s", "k", "main", "telegram", "listed", "c", Path("/"), Services(Path("/x")))


async def offered(*labels: str) -> tuple[str, ...]:
    return (await offer_choices({"choices": list(labels)}, _HERE)).choices


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("  Yes,\n please ", "Yes, please"),
        ("a\x00b\x07", "a b"),
        ("\u202egnp.exe", "gnp.exe"),
        ("\u2067x\u2069\u200b\ufeff", "x"),
        ("👩‍👩‍👧", "👩‍👩‍👧"),
        ("می‌خواهم", "می‌خواهم"),
        (
            "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
            "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        ),
        ("\ud83dx", "x"),
    ],
)
async def test_a_label_keeps_what_is_to_be_seen(label: str, shown: str) -> None:
    assert await offered("No", label) == ("No", shown)


@pytest.mark.parametrize("label", ["", " ", "\u200b", "\u3164", "\u2800\u115f", "\u034f", "\u200d", "\x00"])
async def test_a_label_of_which_nothing_is_seen_is_refused(label: str) -> None:
    with pytest.raises(ToolError, match="1 to 60 characters"):
        await offered("No", label)


async def test_what_looks_alike_is_alike() -> None:
    with pytest.raises(ToolError, match="alike"):
        await offered("Yes", "Yes\u200b")
