"""Hostile documents, each in a process of its own: what they cost is what the limits say."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from hermes.reading import Reading, ReadingLimits
from media.documents import Documents
from media.kinds import kind_of
from media.packages import DOCX, XLSX
from tests import documents

LIMITS = ReadingLimits(
    characters=5_000, seconds=100.0
)  # enough on any machine: what must end by its time has SHORT
SHORT = replace(LIMITS, seconds=2.0)
SMALL = replace(SHORT, memory=100_000_000)
SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
HUGE = SHEET.replace(b"<sheetData>", b"<dimension ref='A1:XFD1048576'/><sheetData>")
LAUGHS = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
BOMB = f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY e0 "ha">{LAUGHS}]>'


async def read(path: Path, data: bytes, mime: str = "", limits: ReadingLimits = LIMITS) -> Reading:
    path.write_bytes(data)
    return await Documents().read(path, mime or kind_of(data)[1], limits)


async def said(path: Path, words: str, limits: ReadingLimits = LIMITS) -> Reading:
    """What is made of a process that runs these words in place of the reader."""
    path.write_bytes(b"text")
    return await Documents(program=(sys.executable, "-c", words)).read(path, "text/plain", limits)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a file"


async def test_documents_are_read_two_at_a_time(tmp_path: Path) -> None:
    documents_ = Documents(at_once=2)
    made = {
        "a": documents.pdf("Hello"),
        "b": documents.word(),
        "c": documents.sheets(),
        "d": "Grüße".encode(),
    }
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
    most = 0

    async def watch() -> None:
        nonlocal most
        while True:
            most = max(most, len(children()))
            await asyncio.sleep(0.005)

    watching = asyncio.create_task(watch())
    readings = await asyncio.gather(
        *(documents_.read(tmp_path / name, kind_of(data)[1], LIMITS) for name, data in made.items())
    )
    watching.cancel()
    assert [r.reason for r in readings] == [None] * 4
    assert readings[0].text == "[Page 1]\nHello"
    assert readings[3].text == "Grüße"
    assert most <= 2


def children() -> list[psutil.Process]:
    return [p for p in psutil.Process().children() if "media.child" in " ".join(p.cmdline())]


def sheet_of(rows: str, begin: bytes = SHEET) -> bytes:
    """The sheet of a workbook with these rows in place of its own."""
    parts = documents.parts_of(documents.sheets())
    parts["xl/worksheets/sheet1.xml"] = begin + rows.encode() + b"</sheetData></worksheet>"
    return documents.archive(parts)


HOSTILE: dict[str, tuple[Callable[[], bytes], str, ReadingLimits, set[str | None]]] = {
    "zip bomb of spaces": (
        lambda: documents.bomb("word/document.xml", b"<d>", b" ", 4_000_000_000), DOCX, SHORT, {"timeout"},
    ),
    "zip bomb of one name": (
        lambda: documents.bomb("word/document.xml", b"<d a='", b"x", 4_000_000_000), DOCX, SMALL, {"memory", "timeout"},
    ),
    "zip bomb of paragraphs": (
        lambda: documents.bomb("word/document.xml", b"<d>", b"<p><t>word</t></p>", 4_000_000_000),
        DOCX, LIMITS, {"too_long"},
    ),
    "zip bomb in a sheet": (
        lambda: documents.archive_with(documents.sheets(), "xl/worksheets/sheet1.xml", SHEET, b"<row/>", 2_000_000_000),
        XLSX, SHORT, {"timeout", "memory"},
    ),
    "entities in a letter": (
        lambda: documents.archive({"word/document.xml": BOMB + "<d>&e9;</d>"}), DOCX, LIMITS, {"damaged"},
    ),
    "entities in a sheet": (
        lambda: documents.archive_with(
            documents.sheets(), "xl/worksheets/sheet1.xml",
            BOMB.encode() + SHEET + b"<row><c t='inlineStr'><is><t>&e9;</t></is></c></row></sheetData></worksheet>", b"", 0,
        ),
        XLSX, LIMITS, {"damaged", "memory"},
    ),
    "a million empty rows": (lambda: sheet_of("<row r='1048576'><c r='B1048576'><v>1</v></c></row>"), XLSX, LIMITS, {None}),
    "a sheet that says it is huge": (
        lambda: sheet_of("<row r='1'><c r='A1'><v>1</v></c></row>", HUGE), XLSX, LIMITS, {None},
    ),
    "a page of 20 MB": (lambda: b"<!doctype html><p>" + b"<b>word</b> " * 1_700_000, "text/html", LIMITS, {"too_long"}),
    "a page that needs more memory than it may": (
        lambda: b"<!doctype html><p>" + b"<b>word</b> " * 350_000,
        "text/html",
        replace(LIMITS, memory=60_000_000),
        {"memory", "damaged"},
    ),
    "a deep page": (lambda: b"<!doctype html>" + b"<div>" * 200_000 + b"x", "text/html", LIMITS, {"damaged"}),
    "deep pages": (lambda: documents.nested_pdf(10_000), "application/pdf", LIMITS, {"damaged"}),
    "a PDF in circles": (documents.circular_pdf, "application/pdf", LIMITS, {"damaged"}),
    "a swollen PDF": (lambda: documents.swollen_pdf(3_000_000_000), "application/pdf", LIMITS,
                      {"empty", "damaged"}),
    "text without an end of line": (lambda: b"x" * 30_000_000, "text/plain", LIMITS, {"too_long"}),
}  # fmt: skip


@pytest.mark.timeout(150)
@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_document_costs_what_the_limits_say(file: Path, name: str) -> None:
    make, mime, limits, reasons = HOSTILE[name]
    data = await asyncio.to_thread(make)
    began = time.monotonic()
    found = await read(file, data, mime, limits)
    assert found.reason in reasons
    assert len(found.text) <= limits.characters
    assert time.monotonic() - began < limits.seconds + 40, "a busy machine starts a process late"
    assert children() == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("import time; time.sleep(60)", Reading(reason="timeout")),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", Reading(reason="damaged")),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Reading(reason="memory")),
        ("import os; os._exit(3)", Reading(reason="damaged")),
        ("print('no word of ours')", Reading(reason="damaged")),
        ("print('[1, 2]')", Reading(reason="damaged")),
        ("print('x' * 3_000_000)", Reading(reason="damaged")),
        ("print('[\"part\", \"page 1 of 2\"]', flush=True); import time; time.sleep(60)",
         Reading("part", "timeout", "page 1 of 2")),
        ("print('[\"part\", \"page 1 of 2\"]', flush=True); import os; os.abort()",
         Reading("part", "memory", "page 1 of 2")),
        ("print('[\"all\", \"\"]'); print('{\"reason\": null}')", Reading("all")),
        ("print('{\"reason\": \"something new\"}')", Reading(reason="damaged")),
    ],
)  # fmt: skip
async def test_whatever_becomes_of_the_process(file: Path, words: str, expected: Reading) -> None:
    limits = replace(LIMITS, seconds=2.5) if expected.reason == "timeout" else LIMITS
    assert await said(file, words, limits) == expected
    assert children() == []


async def test_a_process_that_says_too_much_is_ended(file: Path) -> None:
    found = await said(file, "while True: print('[\"' + 'x' * 999 + '\", \"\"]')")
    assert (len(found.text), found.reason) == (5000, "too_long")


async def test_who_is_cancelled_leaves_no_process(file: Path) -> None:
    reading = asyncio.create_task(said(file, "import time; time.sleep(60)  # media.child"))
    while not children():  # in another process
        await asyncio.sleep(0.01)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert children() == []


async def test_the_process_gets_the_file_and_no_secret(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "sk-very-secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@proxy")
    words = (
        "import os, sys, json; here = os.environ | {'argv': sys.argv, 'fds': sorted(os.listdir('/proc/self/fd')),"
        " 'file': sys.stdin.read(), 'leader': os.getsid(0) == os.getpid()};"
        "print(json.dumps([json.dumps(here), ''])); print('{\"reason\": null}')"
    )
    seen = json.loads((await said(file, words)).text)
    assert "secret" not in str(seen)
    assert str(file) not in str(seen)
    assert (seen["file"], seen["leader"]) == ("text", True)
    assert seen["fds"] == ["0", "1", "2", "3"], "3 is the list itself"
    assert seen["argv"][1:] == ["text/plain", "5000", "100", str(LIMITS.memory)]


async def test_a_file_that_is_gone_and_a_type_that_nobody_reads(tmp_path: Path) -> None:
    for path in (tmp_path / "gone", tmp_path):
        assert await Documents().read(path, "text/plain", LIMITS) == Reading(reason="failed")
    assert await Documents().read(tmp_path / "gone", "image/png", LIMITS) == Reading(reason="unsupported")


def test_the_daemon_imports_no_reader() -> None:
    heavy = {"pypdf", "openpyxl", "lxml", "inscriptis", "cryptography", "charset_normalizer"}
    words = "import sys, gateway.wiring, media.documents, media.kinds, media.voice; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert heavy & loaded == set()
    assert not any(name.startswith("media.formats") or name == "media.child" for name in loaded)


async def test_the_process_may_write_no_file_and_is_the_first_to_be_killed(file: Path) -> None:
    file.write_bytes(b"x")
    words = (
        "import os, sys, media.child as c; c._confine(5, 1 << 30);"
        "print(open('/proc/self/oom_score_adj').read().strip(), os.nice(0) >= 5);\n"
        f"try:\n with open({str(file)!r}, 'w') as f: f.write('y' * 99)\n"
        "except OSError as e: print(e.errno)"
    )
    done = await asyncio.create_subprocess_exec(sys.executable, "-c", words, stdout=asyncio.subprocess.PIPE)
    out, _ = await done.communicate()
    assert out.split() == [b"900", b"True", b"27"], "EFBIG"
    assert file.read_bytes() == b""
