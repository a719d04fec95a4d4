"""The examples of the CommonMark specification. They are under CC-BY-SA, so they are not held here but fetched.

A source distribution has them. pip gets it, as pip is set up on this machine, once for each environment; its digest is pinned.
"""

import fcntl
import hashlib
import json
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory

VERSION, SHA256 = "4.3.0", "91a58fa5b72c71a40cf7177250fd767480d7a2bb3ac426ccfb76fb90305fdaaa"
COUNT = 652
"""Of version 0.31.2: https://spec.commonmark.org/0.31.2/"""
_ARCHIVE = f"markdown_it_py-{VERSION}.tar.gz"
_MEMBER = f"markdown_it_py-{VERSION}/tests/test_cmark_spec/commonmark.json"
_SECONDS = 100


@dataclass(frozen=True, slots=True)
class Example:
    """One example: what is written, and the HTML that shows it."""

    number: int
    markdown: str
    html: str

    def words(self) -> list[str]:
        """What a reader of the HTML reads, in order; of a picture its description."""
        reader = _Reader()
        reader.feed(self.html)
        reader.close()
        return words("".join(reader.read))


@cache
def examples() -> tuple[Example, ...]:
    """All of them, in order."""
    with tarfile.open(_archive()) as archive:
        member = archive.extractfile(_MEMBER)
        assert member is not None
        found = json.load(member)
    assert len(found) == COUNT
    return tuple(Example(e["example"], e["markdown"], e["html"]) for e in found)


def words(text: str) -> list[str]:
    """The words of a text, without the marks that can stand inside of one; a reference is the character that it names."""
    return re.findall(r"\w+", re.sub(r"[*_~`\\|]", "", unescape(text)))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    def handle_data(self, data: str) -> None:
        self.read.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.read.append(" ")  # [foo][bar] may be a bracket and a link
        self.read.extend(value or "" for name, value in attrs if (tag, name) == ("img", "alt"))


def _archive() -> Path:
    folder = Path(sys.prefix) / "share" / "commonmark"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / _ARCHIVE
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists() or hashlib.sha256(kept.read_bytes()).hexdigest() != SHA256:
            _fetch(kept)
    return kept


def _fetch(kept: Path) -> None:
    with TemporaryDirectory(dir=kept.parent) as fresh:
        wanted = Path(fresh, "wanted.txt")
        wanted.write_text(f"markdown-it-py=={VERSION} --hash=sha256:{SHA256}\n", encoding="utf-8")
        pip = (sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-input")
        what = (
            "--no-deps",
            "--no-binary",
            "markdown-it-py",
            "--require-hashes",
            "-r",
            str(wanted),
            "-d",
            fresh,
        )
        done = subprocess.run([*pip, *what], capture_output=True, text=True, timeout=_SECONDS, check=False)
        assert done.returncode == 0, f"pip cannot fetch {_ARCHIVE}:\n{done.stdout}{done.stderr}"
        Path(fresh, _ARCHIVE).rename(kept)
