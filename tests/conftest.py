"""Hostile defaults for every test.

A folder under tests/ is a tier and gives its tests their mark and their time limit. A call of ours that
blocks the event loop fails, so does a warning, an error that asyncio only logs, and, in CI, a skip that
nobody foresaw.
"""

import json
import logging
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import pytest
import structlog
from blockbuster import BlockBuster

if find_spec("tests.peers") and find_spec("tests.peers.fixtures"):
    pytest_plugins = ["tests.peers.fixtures", "tests.peers.mail.fixtures"]

OURS = ["hermes", "gateway", "agent_core", "adapters", "media", "tools"]
# Seconds for one test, by tier; the default of pyproject.toml holds elsewhere.
TIME_LIMITS = {
    "unit": 30,
    "contract": 30,
    "property": 120,
    "acceptance": 180,
    "crash": 600,
    "strace": 300,
    "boot": 1800,
    "image": 1800,
    "soak": 1800,
    "chaos": 600,
}
TIERS = {*TIME_LIMITS, "integration", "bench"}
# asyncio's debug mode is slow, so it is on only where nothing is measured.
DEBUGGED = {"unit", "contract"}
# Skips that CI takes, as root too. Each is a property of the machine that no package can change.
FORESEEN_SKIPS = [
    re.compile(r"^systemd does not run here"),
    re.compile(r"^needs (macOS|Windows)"),
    re.compile(r"^this checkout has no history"),
]
# Where libraries touch the disk on the loop for a moment and once: (file, functions).
LIBRARIES_MAY_BLOCK = [
    ("/ssl.py", {"create_default_context", "load_default_certs"}),
    ("/httpx/_config.py", {"create_ssl_context"}),
    ("/certifi/core.py", {"where"}),
    ("/mimetypes.py", {"init", "_default_mime_types"}),
    ("/asyncio/base_events.py", {"subprocess_exec", "subprocess_shell"}),
    ("/asyncio/unix_events.py", {"create_unix_server", "_stop_serving"}),
    ("/logging/__init__.py", {"emit", "flush"}),  # pytest's own handlers; the daemon's are behind a queue
]

hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.register_profile("here", deadline=None, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")


# --- tiers ----------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tally", metavar="FILE", help="write the counts and the reasons for skips as JSON")


def tier_of(item: pytest.Item) -> str:
    """Return the folder under tests/ that holds the test."""
    here = Path(__file__).parent
    parts = item.path.relative_to(here).parts if item.path.is_relative_to(here) else ()
    return parts[0] if parts and parts[0] in TIERS else ""


def _time_limit(item: pytest.Item) -> float:
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0]) if mark is not None and mark.args else 0.0


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        tier = tier_of(item)
        if tier:
            item.add_marker(getattr(pytest.mark, tier))
        if tier in TIME_LIMITS and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIME_LIMITS[tier]))
    # What may take long begins first, so that no processor waits for it in the end.
    items.sort(key=lambda item: -_time_limit(item))


@pytest.hookimpl(tryfirst=True)  # before the test's loop is made
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.config.option.asyncio_debug = tier_of(item) in DEBUGGED


# --- the loop -------------------------------------------------------------------------------------


@pytest.fixture(autouse=True, scope="session")
def blocking_calls_fail() -> Iterator[BlockBuster]:
    """Make each blocking call raise where a loop runs and our code is on the stack."""
    watch = BlockBuster(OURS)
    for function in watch.functions.values():
        for file, names in LIBRARIES_MAY_BLOCK:
            function.can_block_in(file, names)
    watch.activate()
    yield watch
    watch.deactivate()


@pytest.fixture(autouse=True)
def logs_are_plain() -> None:
    """Paint no tracebacks: that looks for files while the loop runs, and what logs an error would fail by it."""
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[structlog.processors.add_log_level, plain])


class _LoopErrors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@pytest.fixture(autouse=True)
def loop_errors_fail(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test whose tasks or callbacks ended in an error that nobody looked at."""
    heard = _LoopErrors()
    logging.getLogger("asyncio").addHandler(heard)
    yield
    logging.getLogger("asyncio").removeHandler(heard)
    if heard.texts and request.node.get_closest_marker("logs_loop_errors") is None:
        pytest.fail("asyncio logged: " + "; ".join(heard.texts), pytrace=False)


# --- the environment ------------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    """Take away what a person's shell says about Hermes and its providers; point away from a real home."""
    for name in list(os.environ):
        if name.startswith("HERMES_") or name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL")):
            del os.environ[name]
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        os.environ.pop(name, None)
        os.environ.pop(name.upper(), None)
    os.environ["HERMES_HOME"] = str(Path(tempfile.gettempdir(), "no-hermes-home-was-asked-for"))


@pytest.fixture
def hermes_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home of mode 0700 that this process and its children take for theirs."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("HERMES_HOME", str(home))
    return home


# --- skips ----------------------------------------------------------------------------------------


def _skip_reasons(reporter: pytest.TerminalReporter) -> Counter[str]:
    reasons: Counter[str] = Counter()
    for report in reporter.stats.get("skipped", []):
        text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[text.removeprefix("Skipped: ")] += 1
    return reasons


def _unforeseen(reasons: Counter[str]) -> list[str]:
    return [text for text in reasons if not any(pattern.search(text) for pattern in FORESEEN_SKIPS)]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(session.config, "workerinput"):
        return
    as_root_in_ci = os.environ.get("CI") and hasattr(os, "geteuid") and os.geteuid() == 0
    if as_root_in_ci and session.exitstatus == 0 and _unforeseen(_skip_reasons(reporter)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    reasons = _skip_reasons(terminalreporter)
    for text, count in reasons.most_common():
        foreseen = "" if not _unforeseen(Counter([text])) else " (unforeseen: fails in CI)"
        terminalreporter.write_line(f"skipped {count}: {text}{foreseen}")
    tally = config.getoption("--tally")
    if tally:
        counts = {
            outcome: len(terminalreporter.stats.get(outcome, []))
            for outcome in ("passed", "failed", "error", "xfailed", "xpassed")
        }
        document = {"exit": int(exitstatus), "counts": counts, "skips": reasons}
        Path(tally).write_text(json.dumps(document), encoding="utf-8")
