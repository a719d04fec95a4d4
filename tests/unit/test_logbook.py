"""The log read back: records of one or many lines, files in order, rotations while one looks on."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from gateway.logbook import Filter, Log, Record, parse, records

OLD = "2026-01-01T00:00:00.000Z info    gateway.a: started url=x"
BAD = "2026-01-02T00:00:00.500Z error   gateway.b: failed"
TRACE = ["Traceback (most recent call last):", '  File "x"', "ValueError: no"]
JSON = '{"time": "2026-01-03T00:00:00.000Z", "level": "warning", "logger": "c", "event": "odd"}'


def test_a_line_begins_a_record_or_belongs_to_the_one_before() -> None:
    first = parse(OLD)
    assert first is not None
    assert (first.level, first.fields["logger"], first.fields["text"]) == (
        "info",
        "gateway.a",
        "started url=x",
    )
    third = parse(JSON)
    assert third is not None
    assert third.level == "warning"
    assert third.fields["event"] == "odd"
    for line in ("", "  File", '{"level": "info"}', "{broken", '{"time": 3, "level": "info"}', "[]"):
        assert parse(line) is None


def test_a_trace_stays_with_its_record_and_what_stands_before_the_first_is_left_out() -> None:
    found = list(records(["torn rest", OLD, BAD, *TRACE, JSON]))
    assert [r.text.count("\n") for r in found] == [0, 3, 0]
    assert found[1].fields["exception"] == "\n".join(TRACE)


@pytest.mark.parametrize(
    ("wanted", "count"),
    [(Filter(), 3), (Filter("warning"), 2), (Filter("error"), 1), (Filter(since=1_767_312_000.0), 2)],
)
def test_records_are_chosen_by_level_and_age(wanted: Filter, count: int) -> None:
    assert sum(wanted.takes(r) for r in records([OLD, BAD, JSON])) == count


def test_files_are_read_from_the_oldest_on(tmp_path: Path) -> None:
    (tmp_path / "hermes.log").write_text(JSON + "\n")
    (tmp_path / "hermes.log.1").write_text(BAD + "\n")
    (tmp_path / "hermes.log.10").write_text(OLD + "\n")
    (tmp_path / "hermes.log.old").write_text("not ours\n")
    with Log(tmp_path) as log:
        assert [r.level for r in log.stored()] == ["info", "error", "warning"]
    with Log(tmp_path / "nowhere") as log:
        assert list(log.stored()) == []


class Writer:
    """Does one thing each time the reader waits."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "hermes.log"
        self.todo = [self.more, self.torn, self.rotate, self.truncate]

    def __call__(self, _: float) -> None:
        self.todo.pop(0)()

    def _append(self, text: str) -> None:
        with self.path.open("a") as file:
            file.write(text)

    def more(self) -> None:
        self._append(BAD + "\n" + TRACE[0] + "\n")

    def torn(self) -> None:
        self._append(OLD[:30])

    def rotate(self) -> None:
        self._append(OLD[30:] + "\n")
        self.path.rename(self.path.with_suffix(".log.1"))
        self._append(JSON + "\n")

    def truncate(self) -> None:
        self.path.write_text(OLD + "\n")


def test_what_is_written_is_followed_over_torn_lines_a_rotation_and_a_cut(tmp_path: Path) -> None:
    (tmp_path / "hermes.log").write_text(OLD + "\n")
    with Log(tmp_path, Writer(tmp_path)) as log:
        assert [r.text for r in log.stored()] == [OLD]
        found: list[Record] = list(islice(log.follow(), 4))
    assert [r.text.splitlines()[0] for r in found] == [BAD, OLD, JSON, OLD]


def test_a_log_that_begins_later_is_followed(tmp_path: Path) -> None:
    def begin(_: float) -> None:
        (tmp_path / "hermes.log").write_text(OLD + "\n")

    with Log(tmp_path, begin) as log:
        assert list(log.stored()) == []
        assert [r.text for r in islice(log.follow(), 1)] == [OLD]
