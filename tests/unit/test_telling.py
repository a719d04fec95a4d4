"""What a turn is told of a document that was read in part, or not at all."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import get_args

import pytest

from gateway.media.folder import MediaFolder
from gateway.media.rules import MediaRules, Room
from gateway.media.telling import Telling
from gateway.sentences import say
from hermes.files import StoredFile
from hermes.home import Home
from hermes.reading import Reading, Reason
from hermes.testing import FakeClock
from hermes.voice import Transcript

REPORT = StoredFile("0" * 64, "document", "application/pdf", "report.pdf", 9)
WORDS = {"too_long": "it is too long", "timeout": "took too long", "memory": "too much memory"}


class Reader:
    """Reads every document alike."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    async def document(self, path: Path, mime: str) -> Reading:
        return self._reading

    async def speech(self, path: Path, mime: str) -> Transcript | None:
        raise NotImplementedError

    async def aclose(self) -> None:
        raise NotImplementedError


def telling(home: Path, reading: Reading, language: str = "en") -> Telling:
    folder = MediaFolder(Home(home), lambda _head, _name: ("document", "text/plain"))
    return Telling(Room(folder, MediaRules, partial(say, language), FakeClock()), Reader(reading))


@pytest.mark.parametrize("reason", get_args(Reason))
async def test_the_note_says_why_the_rest_is_missing_and_where_it_begins(
    tmp_path: Path, reason: Reason
) -> None:
    given = await telling(tmp_path, Reading("the beginning", reason, "page 3 of 9")).tell(REPORT)
    assert given.text == "the beginning"
    assert "report.pdf only the first part is shown, page 3 of 9: " in given.note
    assert given.note.endswith(WORDS.get(reason, "the rest cannot be read") + ".")
    german = await telling(tmp_path, Reading("the beginning", reason), "de").tell(REPORT)
    assert german.note.startswith("Von der Datei report.pdf ist nur der erste Teil zu sehen: ")


@pytest.mark.parametrize("reason", get_args(Reason))
async def test_of_what_cannot_be_read_at_all_there_is_the_reason_alone(
    tmp_path: Path, reason: Reason
) -> None:
    given = await telling(tmp_path, Reading(reason=reason)).tell(REPORT)
    assert (given.file, given.text) == (REPORT, "")
    assert given.note.startswith("The file report.pdf was not read: ")
