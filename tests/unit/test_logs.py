"""The log: redaction, rotation, and that the loop never writes."""

import asyncio
import json
import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from adapters.markdown.tree import parse
from gateway.logs import FILE, NOISY, Logs, Redactor, configure, redact, scrub


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "logs"


@pytest.fixture
def restored() -> Iterator[None]:
    levels = {name: logging.getLogger(name).level for name in (None, *NOISY)}
    yield
    structlog.reset_defaults()
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    logging.captureWarnings(capture=False)


@pytest.fixture
def logs(folder: Path, restored: None) -> Iterator[Logs]:
    logs = configure(folder, level="debug", stderr=False)
    yield logs
    logs.close()


def lines(logs: Logs, folder: Path) -> list[str]:
    logs.flush()
    return (folder / FILE).read_text().splitlines()


def fail(error: Exception) -> None:
    raise error


def test_reading_a_text_costs_no_line_for_each_rule_that_is_tried(logs: Logs, folder: Path) -> None:
    parse("- a\n- *b*\n")
    logging.getLogger("httpx").debug("seen")
    assert len(lines(logs, folder)) == 1


async def test_an_event_is_one_line_with_its_fields(logs: Logs, folder: Path) -> None:
    structlog.get_logger("hermes.door").info("refused", sender="7", text="two\nlines", count=3)
    await asyncio.to_thread(logs.flush)
    line = (folder / FILE).read_text()
    assert line.endswith('Z info    hermes.door: refused sender=7 text="two\\nlines" count=3\n')


def test_what_the_standard_library_s_extra_brings_is_in_the_line(logs: Logs, folder: Path) -> None:
    logging.getLogger("tools.registry").warning(
        "tools.unusable", extra={"reason": "No TOOLS.", "odd": object()}
    )
    assert lines(logs, folder)[0].endswith(' tools.registry: tools.unusable reason="No TOOLS."')


def test_json_lines_can_be_read(folder: Path, restored: None) -> None:
    logs = configure(folder, form="json", stderr=False)
    structlog.get_logger("hermes.x").warning("odd", path=Path("/a"), text='"')
    logging.getLogger("lib").error("failed %s", "hard")
    logs.close()
    first, second = [json.loads(line) for line in (folder / FILE).read_text().splitlines()]
    assert first.items() >= {"level": "warning", "logger": "hermes.x", "event": "odd", "path": "/a"}.items()
    assert second["event"] == "failed hard"


async def test_the_loop_formats_nothing(logs: Logs, folder: Path) -> None:
    # Reading source lines for a traceback blocks; on the loop that would fail this test.
    try:
        fail(RuntimeError("boom"))
    except RuntimeError:
        structlog.get_logger("hermes.x").exception("failed")
    await asyncio.to_thread(logs.flush)
    text = (folder / FILE).read_text()
    assert "hermes.x: failed" in text
    assert 'fail(RuntimeError("boom"))' in text


TOKEN = "123456:AAtestTESTtest"


def test_PR_11_a_token_is_in_no_line_at_debug(logs: Logs, folder: Path) -> None:
    redact([TOKEN])
    url = f"https://api.telegram.org/bot{TOKEN}/sendMessage"
    logging.getLogger("httpx").debug("HTTP Request: POST %s", url)
    logging.getLogger("telegram").debug("%r", {"token": "AAtestTESTtest"})
    structlog.get_logger("hermes.telegram").debug("called", url=url, nested={"a": [url]})
    try:
        try:
            fail(ConnectionError(f"cannot reach {url}"))
        except ConnectionError as error:
            raise ValueError("404 for AAtestTESTtest") from error
    except ValueError:
        logging.getLogger("lib").exception("send failed")
    logs.flush()
    text = (folder / FILE).read_text()
    assert "AAtestTESTtest" not in text
    assert text.count("/bot***/sendMessage") == 3 + 1
    assert "send failed" in text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("GET https://h/bot1:AbC-_9/getMe", "AbC-_9"),
        ("GET https://h/file/bot1%3AAbC-_9/x", "AbC-_9"),
        ("authorization: Bearer abc.def-123", "abc.def-123"),
        ("key sk-proj-abcdefghijkl1234", "abcdefghijkl1234"),
        ("AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"),
        ("ghp_abcdefghijklmnopqrstuvwx", "ghp_abc"),
        ("xoxb-123456789012-abc", "xoxb-123"),
        ("https://h/x?a=1&api_key=zzz&b=2", "zzz"),
        ("proxy http://user:pass@h:1/", "pass"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
    ],
)
def test_what_looks_like_a_secret_is_hidden_unasked(text: str, secret: str) -> None:
    assert secret not in Redactor()(text)


def test_ordinary_lines_stay_as_they_are() -> None:
    text = "ready http://127.0.0.1:8642 platforms=telegram sk-8 10:20:30 basic idea bearer of news"
    assert Redactor()(text) == text


def test_a_known_secret_is_hidden_in_every_spelling() -> None:
    hide = Redactor()
    hide.add(['pa"ss/wörd\n', "abc"])
    for spelled in (
        'pa"ss/wörd\n',
        json.dumps('pa"ss/wörd\n'),
        repr('pa"ss/wörd\n'),
        "pa%22ss%2Fw%C3%B6rd%0A",
    ):
        assert "ss" not in hide(f"x {spelled} y")
    assert hide("abc") == "abc"  # too short: it would star half of every line
    hide.add(["longer-secret"])
    assert "ss/" not in hide('pa"ss/wörd\n')  # earlier ones stay hidden


def test_the_files_rotate_and_are_private(folder: Path, restored: None) -> None:
    logs = configure(folder, files=3, file_size=10_000, stderr=False)
    for n in range(600):
        structlog.get_logger("hermes.x").info("line", n=n, pad="x" * 80)
    logs.close()
    files = sorted(folder.iterdir())
    assert [f.name for f in files] == [FILE, f"{FILE}.1", f"{FILE}.2"]
    assert all(f.stat().st_size <= 10_000 and stat.S_IMODE(f.stat().st_mode) == 0o600 for f in files)
    assert "n=599" in (folder / FILE).read_text()


def test_reopen_follows_the_name(logs: Logs, folder: Path) -> None:
    log = structlog.get_logger("hermes.x")
    log.info("before")
    logs.flush()
    (folder / FILE).rename(folder / "moved")
    logs.reopen()
    log.info("after")
    assert [line.split(": ")[1] for line in lines(logs, folder)] == ["after"]
    assert "before" in (folder / "moved").read_text()


def test_a_full_queue_loses_lines_and_blocks_nobody(logs: Logs, folder: Path) -> None:
    import threading

    gate = threading.Event()
    logs._put(lambda: (gate.wait(), None)[1])  # holds the writing thread
    for n in range(25_000):
        structlog.get_logger("hermes.x").info("line", n=n)
    gate.set()
    assert logs.dropped >= 4_999
    logs.flush(60)
    assert logs.dropped + len((folder / FILE).read_text().splitlines()) == 25_000


def test_libraries_speak_from_warning_on(folder: Path, restored: None) -> None:
    logs = configure(folder, level="info", stderr=False)
    logging.getLogger("httpx").info("HTTP Request")
    logging.getLogger("httpx").warning("slow")
    structlog.get_logger("hermes.x").debug("detail")
    logs.set_level("debug")
    logging.getLogger("httpx").info("HTTP Request")
    structlog.get_logger("hermes.x").debug("detail")
    logs.close()
    said = [line.split(": ", 1)[1] for line in (folder / FILE).read_text().splitlines()]
    assert said == ["slow", "HTTP Request", "detail"]


def test_stderr_gets_the_lines_until_quiet(
    folder: Path, restored: None, capfd: pytest.CaptureFixture[str]
) -> None:
    import sys

    stderr = sys.stderr
    logs = configure(folder, stderr=True)
    log = structlog.get_logger("hermes.x")
    log.info("loud", token="Bearer abcdefgh")
    logs.flush()
    logs.quiet()
    log.info("silent")
    logs.close()
    assert sys.stderr is stderr
    shown = capfd.readouterr().err
    assert "loud" in shown
    assert "abcdefgh" not in shown
    assert "silent" not in shown
    assert "silent" in (folder / FILE).read_text()


def test_a_librarys_wrong_format_string_is_logged_all_the_same(logs: Logs, folder: Path) -> None:
    logging.getLogger("lib").warning("%d items", "no number")
    assert lines(logs, folder)[-1].endswith("%d items")


def test_scrub_is_for_everybody() -> None:
    redact(["correct horse"])
    assert scrub("say correct horse now") == "say *** now"
