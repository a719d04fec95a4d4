"""A mail whose reading ends the process is read more carefully, then put aside; nobody else waits for it."""

import json
import os
import threading
from pathlib import Path

from adapters.email.head import Reading
from adapters.email.trial import Trial
from hermes.events import Ignored, Parsed, Unparsable

READING = Reading("email", "bot@x.test")


def dying(trial: Trial, mail: str) -> None:
    """A process dies within the reading of a mail."""
    child = os.fork()
    if child == 0:
        trial.read(mail, b"raw", lambda _: os._exit(7))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def how(trial: Trial, mail: str) -> str:
    """In what way a mail is read now."""

    def parse(reading: Reading) -> Parsed:
        return Ignored("by hand" if reading.by_hand else "as usual")

    found = trial.read(mail, b"raw \xff", parse)
    if isinstance(found, Unparsable):
        assert (found.raw, found.error) == ("raw ÿ", "reading it has ended the process 3 times")
        return "not at all"
    assert isinstance(found, Ignored)
    return found.reason


def test_deaths_are_counted_for_the_mail_that_was_being_read(tmp_path: Path) -> None:
    trial = Trial(tmp_path / "deep" / "reading.json", READING)
    assert how(trial, "1:1") == "as usual"
    assert not (tmp_path / "deep" / "reading.json").exists()
    for _ in range(2):
        assert how(trial, "1:1") == "as usual"  # comes before the deadly one, in each life
        dying(trial, "1:2")
    assert (tmp_path / "deep" / "reading.json").stat().st_mode & 0o777 == 0o600
    assert how(trial, "1:3") == "as usual"
    dying(trial, "1:2")
    assert [how(trial, mail) for mail in ("1:1", "1:2", "1:2", "1:3")] == [
        "as usual", "not at all", "not at all", "as usual",
    ]  # fmt: skip


def test_what_was_read_in_the_end_is_forgotten(tmp_path: Path) -> None:
    trial = Trial(tmp_path / "reading.json", READING)
    for _ in range(2):
        dying(trial, "1:2")
    dying(trial, "1:1")  # one more that is deadly: neither hides the other
    assert [how(trial, "1:2") for _ in range(2)] == ["by hand", "as usual"]


def test_a_good_end_of_the_process_is_no_death_of_the_mail_that_is_being_read(tmp_path: Path) -> None:
    notes = tmp_path / "reading.json"
    for _ in range(4):
        trial, begun, gate = Trial(notes, READING), threading.Event(), threading.Event()

        def slow(_: Reading, begun: threading.Event = begun, gate: threading.Event = gate) -> Parsed:
            begun.set()
            gate.wait()
            return Ignored("read")

        reader = threading.Thread(target=trial.read, args=("1:1", b"raw", slow))
        reader.start()
        begun.wait()
        assert json.loads(notes.read_text()) == {"1:1": 1}
        trial.forgive()
        assert not notes.exists()
        gate.set()
        reader.join()
    dying(trial, "1:1")
    trial.forgive()  # what another life has died of stays
    dying(trial, "1:1")
    assert how(trial, "1:1") == "by hand"


def test_without_a_place_for_notes_mails_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert how(Trial(tmp_path / "file" / "reading.json", READING), "1:1") == "as usual"
    (tmp_path / "broken.json").write_text('["no notes"]')
    assert how(Trial(tmp_path / "broken.json", READING), "1:1") == "as usual"
