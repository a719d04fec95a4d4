"""The log: one line per event, on stderr and in `logs/hermes.log`, without secrets.

Whoever logs only puts a record into a bounded queue; a thread formats, hides secrets and writes. Loggers come
from `structlog.get_logger("hermes.<part>")` and take an event's name and fields; what libraries log through
`logging` goes the same way.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
import queue
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, MutableMapping
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import Any, Literal
from urllib.parse import quote

import structlog

__all__ = ["FILE", "NOISY", "Logs", "Redactor", "configure", "quiet", "redact", "scrub"]

FILE = "hermes.log"
QUEUE_SIZE = 20_000
SHORTEST_SECRET = 4
"""Shorter ones would star half of every line."""
NOISY = (
    "httpx",
    "httpcore",
    "telegram",
    "aiohttp",
    "asyncio",
    "PIL",
    "h11",
    "hpack",
)
"""Libraries that speak only from WARNING on, unless everything is asked for."""
_TRACING = "markdown_it"
"""It has a debug line for each rule that it tries on each line: reading a text would take ten times as long."""

Level = Literal["debug", "info", "warning", "error"]
Form = Literal["text", "json"]

# --- secrets -------------------------------------------------------------------------------------

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?i)/bot\d+(?::|%3A)[\w%-]+"), "/bot***"),
    (re.compile(r"\b\d{6,12}:[\w-]{30,}"), "***"),
    (re.compile(r"(?i)\b(bearer|basic)(\s+)[\w.~+/=-]{6,}"), r"\1\2***"),
    (re.compile(r"\bsk-[\w-]{12,}"), "***"),
    (re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), "***"),
    (re.compile(r"\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"), "***"),
    (re.compile(r"\bxox[a-z]-[\w-]{10,}|\bxapp-[\w-]{10,}"), "***"),
    (re.compile(r"\bAIza[\w-]{30,}"), "***"),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"), "***"),
    (
        re.compile(r"(?i)([?&](?:api[_-]?key|access_token|token|key|secret|password|signature)=)[^&\s\"'>]+"),
        r"\1***",
    ),
    (re.compile(r"(://)[^/\s:@]*:[^/\s@]+@"), r"\1***@"),
)


_OF_RECORDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Redactor:
    """Replaces secrets by stars: values it was told, in every spelling, and what looks like a key."""

    def __init__(self) -> None:
        self._values: frozenset[str] = frozenset()
        self._known: re.Pattern[str] | None = None

    def add(self, values: Iterable[str]) -> None:
        """Hide these from now on. They are never forgotten, since an old key in a log is a secret still."""
        spelled = {s for v in values if len(v) >= SHORTEST_SECRET for s in _spellings(v)}
        if not spelled <= self._values:
            self._values |= spelled
            longest_first = sorted(self._values, key=len, reverse=True)
            self._known = re.compile("|".join(re.escape(v) for v in longest_first))

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        if self._known is not None:
            text = self._known.sub("***", text)
        for pattern, instead in _PATTERNS:
            text = pattern.sub(instead, text)
        return text


def _spellings(value: str) -> Iterable[str]:
    bot = re.fullmatch(r"\d+:(\S{4,})", value)  # a bot token's second half is the secret
    for one in (value, bot[1]) if bot else (value,):
        yield from (one, json.dumps(one)[1:-1], json.dumps(one, ensure_ascii=False)[1:-1], repr(one)[1:-1])
        yield quote(one, safe="")


_redactor = Redactor()


def redact(values: Iterable[str]) -> None:
    """Hide these values in every later line. Called whenever settings were loaded."""
    _redactor.add(values)


def scrub(text: str) -> str:
    """The text without known secrets and without what looks like one."""
    return _redactor(text)


# --- one line ------------------------------------------------------------------------------------


def _exception_text(info: object) -> str:
    if not isinstance(info, tuple) or info[1] is None:
        return ""
    kind: type[BaseException] = info[0]
    error: BaseException = info[1]
    trace: TracebackType | None = info[2]
    return "".join(traceback.format_exception(kind, error, trace)).rstrip()


def _plain(value: object) -> str:
    text = (
        value
        if isinstance(value, str)
        else repr(value)
        if isinstance(value, list | dict | tuple)
        else str(value)
    )
    simple = text and text.isprintable() and not any(c in text for c in ' "=')
    return text if simple else json.dumps(text, ensure_ascii=False)


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    """What the standard library's `extra=` brought along, where it is a plain value."""
    return {
        k: v for k, v in vars(record).items() if k not in _OF_RECORDS and isinstance(v, str | int | float)
    }


class _Line(logging.Formatter):
    """A record as one line of text or JSON; runs in the writing thread."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        ours = (
            record.msg if isinstance(record.msg, dict) else {**_extra(record), "event": record.getMessage()}
        )
        fields = {k: v for k, v in ours.items() if k not in {"event", "exc_info"}}
        trace = _exception_text(record.exc_info or ours.get("exc_info")) or record.exc_text or ""
        event = str(ours.get("event", ""))
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        if self._form == "json":
            line = self._json(record, event, when, fields, trace)
        else:
            line = self._text(record, event, when, fields, trace)
        return _redactor(line)

    @staticmethod
    def _text(record: logging.LogRecord, event: str, when: str, fields: dict[str, Any], trace: str) -> str:
        said = event if event.isprintable() else json.dumps(event, ensure_ascii=False)
        pairs = "".join(f" {k}={_plain(v)}" for k, v in fields.items())
        line = f"{when} {record.levelname.lower():<7} {record.name}: {said}{pairs}"
        return f"{line}\n{trace}" if trace else line

    @staticmethod
    def _json(record: logging.LogRecord, event: str, when: str, fields: dict[str, Any], trace: str) -> str:
        out = {
            **fields,
            "time": when,
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": event,
        }
        if trace:
            out["exception"] = trace
        return json.dumps(out, ensure_ascii=False, default=str)


# --- where lines go --------------------------------------------------------------------------------


class _File(logging.handlers.RotatingFileHandler):
    """A log file of mode 0600 that survives a full disk: lines are lost then, the daemon is not."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding="utf-8", errors="backslashreplace", opener=_private)

    def reopen(self) -> None:
        """Write to the file that has the name now (something else may have moved ours away)."""
        with suppress(OSError):
            self.close()
            self.stream = self._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's name
        """Say nothing: stderr has the line, and a traceback of ours would not be free of secrets."""


class _Stderr(logging.StreamHandler[Any]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's name
        """Say nothing: the terminal is gone."""


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


class _Queue(logging.handlers.QueueHandler):
    """Puts records as they are; when the queue is full they are counted instead."""

    def __init__(self, records: queue.Queue[Any]) -> None:
        super().__init__(records)
        self._records = records
        self.dropped = 0

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        if not isinstance(record.msg, dict):
            try:
                record.msg = record.getMessage()
            except (TypeError, ValueError, KeyError):  # a library's own format string is wrong
                record.msg = str(record.msg)
            record.args = None
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        if self._records.qsize() < QUEUE_SIZE:
            self._records.put_nowait(record)
        else:
            self.dropped += 1


class _Call(logging.LogRecord):
    """Something to do in the writing thread, in its turn among the records."""

    def __init__(self, call: Callable[[], None]) -> None:
        super().__init__("hermes.logs", logging.NOTSET, "", 0, "", None, None)
        self.call = call


class _Listener(logging.handlers.QueueListener):
    def handle(self, record: logging.LogRecord) -> None:
        if isinstance(record, _Call):
            record.call()
        else:
            super().handle(record)


class Logs:
    """The running log. `close` writes what waits; nothing is lost but by a full queue."""

    def __init__(self, folder: Path, form: Form, files: int, file_size: int, *, stderr: bool) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._records: queue.Queue[Any] = queue.Queue()  # `_Queue` sets its bound
        self._file = _File(folder / FILE, maxBytes=file_size, backupCount=max(0, files - 1), encoding="utf-8")
        self._stderr = _Stderr(sys.stderr) if stderr else None
        handlers: list[logging.Handler] = [self._file, *([self._stderr] if self._stderr else [])]
        for handler in handlers:
            handler.setFormatter(_Line(form))
        self._queue = _Queue(self._records)
        self._listener = _Listener(self._records, *handlers)
        root = logging.getLogger()
        root.addHandler(self._queue)
        logging.captureWarnings(capture=True)
        self._listener.start()

    @property
    def dropped(self) -> int:
        """Lines that were lost because the queue was full."""
        return self._queue.dropped

    def set_level(self, level: Level) -> None:
        """What is worth a line from now on."""
        number = getattr(logging, level.upper())
        logging.getLogger().setLevel(number)
        for name in NOISY:
            logging.getLogger(name).setLevel(number if level == "debug" else max(number, logging.WARNING))
        logging.getLogger(_TRACING).setLevel(logging.WARNING)
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(number))

    def reopen(self) -> None:
        """Open the file anew, after what waits was written (SIGHUP: something else rotates it)."""
        self._put(self._file.reopen)

    def quiet(self) -> None:
        """Write to the file alone from now on (the daemon has detached)."""
        if self._stderr is not None:
            self._listener.handlers = (self._file,)

    def flush(self, seconds: float = 5.0) -> None:
        """Wait until everything logged so far is written. Blocks; not for the event loop."""
        written = threading.Event()
        self._put(written.set)
        written.wait(seconds)

    def close(self) -> None:
        """Write what waits and end. Blocks for a moment; called when the loop is over."""
        global _active  # noqa: PLW0603  the one log of this process
        logging.getLogger().removeHandler(self._queue)
        self._listener.stop()
        self._file.close()
        if _active is self:
            _active = None

    def _put(self, call: Callable[[], None]) -> None:
        self._records.put_nowait(_Call(call))


_active: Logs | None = None


def _wrapped(
    _logger: object, _name: str, event: MutableMapping[str, Any]
) -> tuple[tuple[MutableMapping[str, Any]], dict[str, Any]]:
    """Hand the event over as a record's message; exceptions are formatted later, in the writing thread."""
    info = event.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()
    elif isinstance(info, BaseException):
        info = (type(info), info, info.__traceback__)
    return (event,), {"exc_info": info or None}


def configure(
    folder: Path,
    *,
    level: Level = "info",
    form: Form = "text",
    files: int = 5,
    file_size: int = 10_000_000,
    stderr: bool = True,
) -> Logs:
    """Start the process's log in `folder`: `files` files of `file_size` bytes. Blocks on the disk once."""
    global _active  # noqa: PLW0603  the one log of this process
    if _active is not None:
        _active.close()
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, _wrapped],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    _active = Logs(folder, form, files, file_size, stderr=stderr)
    _active.set_level(level)
    return _active


def quiet() -> None:
    """Stop writing to stderr, if a log runs."""
    if _active is not None:
        _active.quiet()
