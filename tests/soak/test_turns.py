"""Twenty thousand turns over two thousand sessions: nothing grows but what is kept, each message has its one answer.

`python -m bench.soak` shows the same run; its figures stand in bench/results.md.
"""

from collections.abc import Callable

import pytest

from bench.soak import Load, Sample, Soak, soak

_WAL_LIMIT = 16 << 20  # journal_size_limit of the writer
_LOG_LIMIT = 6 * 10_000_000


@pytest.fixture(scope="module")
def done(request: pytest.FixtureRequest) -> Soak:
    """Return what the run came to; it shows how far it is."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def told(sample: Sample) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{sample.turns} turns in {sample.seconds:.0f} s, {sample.rss} MB", end="", flush=True)

    return soak(Load(), told)


def _flat(done: Soak, figure: Callable[[Sample], int], room: int) -> None:
    """No sample after each session was visited once is above the first of them by more than `room`."""
    first = done.at(done.load.sessions)
    later = [sample for sample in done.samples if sample.turns > first.turns]
    assert max(figure(sample) for sample in later) <= figure(first) + room, done.samples


def test_every_message_has_its_one_answer(done: Soak) -> None:
    assert done.samples[-1].turns == done.load.turns, "the time was over before"
    assert done.wrong == {}


def test_D12_memory_stays(done: Soak) -> None:
    assert done.growth <= 1.15, done.samples


def test_D12_descriptors_threads_tasks_and_children_stay(done: Soak) -> None:
    _flat(done, lambda sample: sample.fds, 40)  # kept connections of 24 clients, the model and Telegram
    _flat(done, lambda sample: sample.threads, 4)
    _flat(done, lambda sample: sample.tasks, 16)
    assert {sample.children for sample in done.samples} == {0}
    assert {sample.agents for sample in done.samples} == {0}  # idle ones are closed


def test_D12_files_are_bounded_or_grow_with_what_is_kept(done: Soak) -> None:
    assert max(sample.wal for sample in done.samples) <= _WAL_LIMIT
    assert max(sample.logs for sample in done.samples) <= _LOG_LIMIT
    _flat(done, lambda sample: sample.index, 200_000)  # as long as there are sessions, not turns
    first, last = done.at(done.load.sessions), done.samples[-1]
    more = last.turns / first.turns
    assert last.database <= 1.2 * more * first.database
    assert last.transcripts <= 1.2 * more * first.transcripts
