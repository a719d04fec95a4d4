"""The judge of traces can say no."""

from tests.strace.trace import judge, steps

ARRIVAL = r"X-GitHub-Delivery: (m-hook-\d+)"
TOLD = r"HTTP/1\.1 202"
SOCKET = "TCP:[127.0.0.1:8642->127.0.0.1:5000]"
OTHER = "TCP:[127.0.0.1:8642->127.0.0.1:5001]"
READ = f'10 read(12<{SOCKET}>, "POST /webhooks/build HTTP/1.1\\r\\nX-GitHub-Delivery: m-hook-1\\r\\n", 262144) = 60'
STORE = '11 pwrite64(7</home/state.db-wal>, "\\0\\1 build:m-hook-1 \\2", 4096, 8192) = 4096'
SYNC = "11 fdatasync(7</home/state.db-wal>) = 0"
WRITE = f'10 write(12<{SOCKET}>, "HTTP/1.1 202 Accepted\\r\\n", 23) = 23'


def _verdicts(*lines: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = judge(list(steps(lines)), ARRIVAL, TOLD, same_file=True)
    return found.synced, found.early


def test_a_sync_in_between_is_right() -> None:
    assert _verdicts(READ, STORE, SYNC, WRITE) == (("m-hook-1",), ())


def test_no_sync_is_wrong() -> None:
    assert _verdicts(READ, STORE, WRITE) == ((), ("m-hook-1 (stored)",))
    assert _verdicts(READ, WRITE) == ((), ("m-hook-1 (read)",))


def test_a_sync_of_something_else_is_wrong() -> None:
    other = STORE.replace("m-hook-1", "m-hook-12")
    assert _verdicts(READ, other, SYNC, WRITE) == ((), ("m-hook-1 (read)",))
    assert _verdicts(READ, SYNC, STORE, WRITE) == ((), ("m-hook-1 (stored)",))


def test_a_sync_before_the_event_or_after_the_answer_is_wrong() -> None:
    assert _verdicts(SYNC, READ, STORE, WRITE, SYNC) == ((), ("m-hook-1 (stored)",))


def test_a_sync_of_another_file_or_one_that_failed_is_wrong() -> None:
    assert _verdicts(READ, STORE, SYNC.replace("state.db-wal", "log"), WRITE) == ((), ("m-hook-1 (stored)",))
    failed = SYNC.replace("= 0", "= -1 EIO (Input/output error)")
    assert _verdicts(READ, STORE, failed, WRITE) == ((), ("m-hook-1 (syncing)",))


def test_an_event_that_is_never_acknowledged_is_wrong() -> None:
    assert _verdicts(READ, STORE, SYNC, WRITE.replace(SOCKET, OTHER)) == (
        (),
        ("m-hook-1 (never acknowledged)",),
    )


def test_a_sync_counts_when_it_ends_and_saves_what_was_there_when_it_began() -> None:
    begins, ends = "11 fdatasync(7</home/state.db-wal> <unfinished ...>", "11 <... fdatasync resumed>) = 0"
    assert _verdicts(READ, STORE, begins, ends, WRITE) == (("m-hook-1",), ())
    assert _verdicts(READ, STORE, begins, WRITE, ends) == ((), ("m-hook-1 (syncing)",))
    store = STORE.replace("11 pwrite64", "12 pwrite64")
    assert _verdicts(READ, begins, store, ends, WRITE) == ((), ("m-hook-1 (stored)",))


def test_a_write_to_a_socket_counts_when_it_begins() -> None:
    begins, ends = WRITE.replace(", 23) = 23", " <unfinished ...>"), "10 <... write resumed>, 23) = 23"
    assert _verdicts(READ, STORE, begins, SYNC, ends) == ((), ("m-hook-1 (stored)",))


def test_a_read_counts_when_it_ends() -> None:
    begins = f"10 read(12<{SOCKET}>,  <unfinished ...>"
    ends = READ.replace(f"read(12<{SOCKET}>,", "<... read resumed>")
    assert _verdicts(begins, STORE, SYNC, ends, WRITE) == ((), ("m-hook-1 (read)",))
    assert _verdicts(begins, ends, STORE, SYNC, WRITE) == (("m-hook-1",), ())


def test_a_descriptor_with_its_full_address_is_read_whole() -> None:
    [step] = steps([READ])
    assert step.file == SOCKET
