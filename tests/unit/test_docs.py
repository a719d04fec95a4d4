"""What docs/ says can be done as it is written."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.config.loading import load
from gateway.disk import Disk
from gateway.metrics import Seen, render
from gateway.wiring import SCHEMA
from hermes import errors
from hermes.home import Home
from tools.registry import find

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
SECRETS = {
    "TELEGRAM_TOKEN": "123456789:AAbbCC",
    "TELEGRAM_BOT_TOKEN": "123456789:AAbbCC",
    "TELEGRAM_WEBHOOK_SECRET": "a-Secret_1",
    "DISCORD_TOKEN": "a.bots.token",
    "SLACK_BOT_TOKEN": "xoxb-1",
    "SLACK_APP_TOKEN": "xapp-1",
    "EMAIL_PASSWORD": "pw",
    "MAILBOX_REFRESH_TOKEN": "a-refresh-token",
    "BUILD_SECRET": "a-long-enough-secret",
    "WEBHOOK_ROUTES_BUILD_SECRET": "a-long-enough-secret",
    "HERMES_CLIENT_KEY": "the-api-key",
}


def blocks(language: str) -> Iterator[tuple[str, str]]:
    for page in PAGES:
        found = re.findall(
            rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
        yield from ((f"{page.name}-{i}", text) for i, text in enumerate(found))


def named(language: str) -> list[object]:
    return [pytest.param(text, id=name) for name, text in blocks(language)]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not link.startswith("http")]
    dead = [link for link in links if not (path.parent / link.partition("#")[0]).exists()]
    assert dead == []


def test_the_index_names_every_page() -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert pages <= set(re.findall(r"\(([\w-]+\.md)\)", page("index.md")))


@pytest.mark.parametrize("text", named("yaml"))
def test_settings_that_are_shown_are_right(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    snapshot = load(Home(tmp_path), SCHEMA, SECRETS)
    assert snapshot.sections or snapshot.platforms


def test_the_smallest_tool_is_one(tmp_path: Path) -> None:
    (code,) = [text for name, text in blocks("python") if name.startswith("write-a-tool")]
    (tmp_path / "smallest.py").write_text(code)
    found = find(tmp_path)
    assert found.warnings == ()
    assert "roll" in found.tools


def test_every_exit_code_is_told() -> None:
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", page("operations.md"), re.MULTILINE)}
    assert {getattr(errors, name) for name in errors.__all__ if name.startswith("EXIT_")} <= told


def test_every_metric_is_told() -> None:
    report = (ROOT / "gateway" / "report.py").read_text(encoding="utf-8")
    figures = report[report.index("def _figures") :]
    names = re.findall(r'^            "(\w+)":', figures, re.MULTILINE)
    assert len(names) > 10
    call = dict.fromkeys(("calls", "prompt", "completion", "cached", "cost"), 1) | {
        "model": "a/b",
        "task": "turn",
    }
    disk: Disk = {"kinds": {"logs": 1}, "free": 1, "total": 1}
    shown = render(Seen(dict.fromkeys(names, 1.0), {"telegram": True}, disk, [call])).decode()
    told = set(re.findall(r"hermes_\w+", page("operations.md")))
    assert set(re.findall(r"^hermes_\w+", shown, re.MULTILINE)) == told


def test_the_recorded_first_hour_has_the_tables_of_today() -> None:
    page = (ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"schema\s+(\w+)\s+(\d+)", page))
    folders = {"agent": ROOT / "agent_core" / "store" / "schema", "gateway": ROOT / "gateway" / "schema"}
    newest = {name: max(int(p.name[:4]) for p in folder.glob("*.sql")) for name, folder in folders.items()}
    assert shown == {(name, str(number)) for name, number in newest.items()}, "record it anew, see there"
