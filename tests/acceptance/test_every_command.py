"""All commands at once, in all the places where a command line may find itself.

The walk goes over the command tree, so that a command without a line here, or without `--json`, fails.
"""

import json
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from gateway.cli import COMMANDS
from tests.forked import Forked, Run

CODES = {0, 1, 2, 3, 69, 73, 75, 78}
"""docs/operations.md explains each."""
NOT_REPORTS = {
    "chat",
    "run",
    "gateway run",
    "completion",
    "config reference",
    "sessions export",
    "slack manifest",
}
"""Conversations, daemons and texts; exports and manifests have formats of their own."""
EXAMPLES: dict[str, list[str]] = {
    "chat": [],  # reads stdin, which is empty
    "model": [],
    "gateway add": ["api"],
    "gateway remove": ["api", "--yes"],
    "gateway stop": [],
    "gateway restart": [],
    "gateway reload": [],
    "gateway status": [],
    "gateway list": [],
    "gateway install": ["--print"],
    "send": ["--to", "telegram:1", "text", "--wait", "0"],
    "slack manifest": [],
    "status": [],
    "config get": ["llm.model"],
    "config set": ["llm.model", "x"],
    "config show": [],
    "config path": [],
    "config check": [],
    "config reference": [],
    "pairing list": [],
    "pairing approve": ["AAAAAAAA"],
    "pairing revoke": ["telegram:1"],
    "people list": [],
    "people show": ["telegram:1"],
    "people link": ["telegram:1", "discord:2"],
    "people unlink": ["telegram:1"],
    "people role": ["telegram:1", "member"],
    "sessions list": [],
    "sessions show": ["x"],
    "sessions export": ["x"],
    "sessions rename": ["x", "y"],
    "sessions delete": ["x", "--yes"],
    "sessions prune": ["--older-than", "90d", "--yes"],
    "deadletters list": [],
    "deadletters show": ["r1"],
    "deadletters retry": ["all"],
    "deadletters drop": ["r1"],
    "logs": [],
    "backup": [],
    "restore": ["no-such-file", "--yes"],
    "metrics": [],
    "doctor": [],
    "completion": ["bash"],
}
ELSEWHERE = {"run", "gateway run", "gateway uninstall"}
"""They start what stays, or touch the machine's units; other tests have them."""
LISTS = ["sessions list", "pairing list", "people list", "deadletters list", "metrics", "gateway list"]


def leaves() -> dict[str, Any]:
    """Every command by its words."""
    found: dict[str, Any] = {}

    def walk(path: str, command: Any) -> None:
        children = getattr(command, "commands", None)
        if children is None:
            found[path] = command
        for name, child in (children or {}).items():
            walk(f"{path} {name}", child)

    for name, (place, _) in COMMANDS.items():
        module, _, attribute = place.partition(":")
        walk(name, typer.main.get_command(getattr(import_module(module), attribute)))
    return found


@pytest.fixture(scope="module")
def forked() -> Iterator[Forked]:
    with Forked() as process:
        yield process


def judge(path: str, done: Run, *, as_json: bool) -> None:
    """What holds for every command everywhere."""
    said = f"{path}: {done}"
    assert done.code in CODES, said
    assert "Traceback" not in done.out + done.err, said
    assert "unexpected" not in done.err, said
    assert "\x1b[" not in done.out + done.err, said
    if done.code in {1, 2, 69, 73, 78} and path not in {"doctor", "config check"}:
        assert done.err.strip(), said
        assert not done.out, said
    if as_json and done.out:
        for document in done.out.splitlines() if path == "logs" else [done.out]:
            json.loads(document)
    elif as_json:
        assert done.code != 0 or path in {"logs", "chat"}, said


def everywhere(
    forked: Forked, home: Path, paths: Sequence[str] = tuple(EXAMPLES), **how: Any
) -> dict[str, Run]:
    """Run the commands, with `--json` where there is one; each is judged."""
    known, done = leaves(), {}
    for path in (p for p in paths if p in known):
        as_json = "--json" in {option for p in known[path].params for option in p.opts}
        words = [
            *path.split(),
            *EXAMPLES[path],
            *(["--json"] if as_json and path != "gateway install" else []),
        ]
        done[path] = forked.hermes(home, *words, **how)
        judge(path, done[path], as_json=as_json and path != "gateway install")
    return done


def test_each_command_has_a_place_in_the_walk_and_each_report_has_json() -> None:
    found = leaves()
    assert not set(found) - {*EXAMPLES, *ELSEWHERE}, "say in EXAMPLES how it is called"
    without = {
        path
        for path, command in found.items()
        if not any("--json" in parameter.opts for parameter in command.params)
    }
    assert without <= NOT_REPORTS


def test_in_a_new_home_with_blanks_in_its_name(forked: Forked, tmp_path: Path) -> None:
    home = tmp_path / "no home yet" / "a b"
    narrow = {"COLUMNS": "20", "NO_COLOR": "1", "TERM": "dumb"}
    # Nobody is there, but a model is set up: else each command without a daemon would look for an embedded one.
    model = {"PROVIDER": "custom", "MODEL": "m", "CUSTOM__BASE_URL": "http://127.0.0.1:9/v1"}
    done = everywhere(forked, home, environ={**narrow, **{f"HERMES_LLM__{k}": v for k, v in model.items()}})
    assert {done[f"gateway {name}"].code for name in ("stop", "restart", "reload", "status")} == {3}
    assert done["sessions list"].out == "[]\n"
    assert forked.hermes(home, "sessions", "show", "\udcff").code == 2


LOOKING = [
    *LISTS, "people show", "sessions show", "sessions export", "sessions delete", "deadletters show", "deadletters retry",
    "pairing approve", "send", "logs", "backup", "doctor", "gateway remove",
]  # fmt: skip


def test_where_there_is_no_home_none_is_made_by_who_only_looks(forked: Forked, tmp_path: Path) -> None:
    for home in (tmp_path / "hermess", tmp_path / "empty"):
        if home.name == "empty":
            home.mkdir()
        done = everywhere(forked, home, LOOKING)
        assert {path: run.code for path, run in done.items()} == dict.fromkeys(LOOKING, 78)
        assert all(f"There is no home at {home}" in run.err for run in done.values()), done
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


@pytest.mark.parametrize(
    ("words", "given", "told"),
    [
        (["telegram", "--token"], "bot123:AA", ["123456789:AAbbCC", "@BotFather"]),
        (["discord", "--token"], "0123456789abcdef", ["three parts", "discord.com/developers"]),
        (["slack", "--token"], "xoxp-1\nxapp-1", ["xoxb-", "OAuth & Permissions"]),
        (["slack", "--token"], "xoxb-1\nxapp-1$", ["xapp-", "App-Level Tokens"]),
        (["slack", "--token"], "xoxb-1", ["xapp-", "connections:write"]),
        (["email", "--address", "bot", "--password"], "pw", ["bot@example.org"]),
        (["email", "--address", "bot@@x", "--password"], "pw", ["bot@example.org"]),
        (["email", "--address", "bot@x.test", "--password"], "p\nw", ["app password", "one line"]),
    ],
)
def test_a_token_of_a_wrong_shape_is_told_with_the_right_one_and_where_it_is(
    forked: Forked, tmp_path: Path, words: list[str], given: str, told: list[str]
) -> None:
    (tmp_path / "secret").write_text(given)
    done = forked.hermes(tmp_path / "home", "gateway", "add", *words, str(tmp_path / "secret"))
    assert done.code == 78, done
    assert all(word in done.err for word in told), done.err
    assert not (tmp_path / "home" / "config.yaml").exists()


def test_with_settings_that_cannot_be_read(forked: Forked, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("llm: [1\n")
    done = everywhere(forked, home)
    for path in ("model", "send", "gateway list", "config get", "config show", *LISTS):
        assert done[path].code == 78, path
        assert "config.yaml, line " in done[path].err
    assert json.loads(done["config check"].out)["ok"] is False
    assert done["backup"].code == 0  # it saves what is there


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_in_a_home_that_may_not_be_read(forked: Forked, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    done = everywhere(forked, home, [path for path in EXAMPLES if path != "completion"], user=65534)
    asked = ("status", "gateway stop", "gateway restart", "doctor", *LISTS)
    assert {path: done[path].code for path in asked} == dict.fromkeys(asked, 78)
    assert not list(home.iterdir())


@contextmanager
def dying_daemon(home: Path, answers: int) -> Iterator[None]:
    """Somebody who answers a few requests for its status and then hangs up on everything, as one does that ends."""
    place = home.parent / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        server.listen(8)
        home.joinpath("control").write_text(f"{place}\n")

        def serve() -> None:
            left = answers
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    if connection.recv(65536) and left:
                        left -= 1
                        connection.sendall(
                            json.dumps({"ok": True, "pid": 1, "role": "daemon"}).encode() + b"\n"
                        )

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(
    "path", ["gateway stop", "gateway reload", "backup", "doctor", "send", "sessions list"]
)
def test_a_daemon_that_ends_in_between_is_told_in_a_sentence(
    forked: Forked, tmp_path: Path, path: str
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with dying_daemon(home, 1):
        done = everywhere(forked, home, [path])[path]
    assert done.code in {1, 3}, done
    assert done.err


def test_a_reader_that_leaves_is_no_error_and_a_disk_that_is_full_is_one(
    forked: Forked, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "logs").mkdir()
    (home / "logs" / "hermes.log").write_text("2026-01-01T00:00:00.000000Z [info     ] event\n" * 5000)
    for words in (
        ["--help"],
        ["sessions", "--help"],
        ["config", "show"],
        ["config", "show", "--json"],
        ["completion", "bash"],
        ["sessions", "list"],
        ["logs", "-n", "5000"],
    ):
        left = forked.hermes(home, *words, stdout="unread")
        assert (left.code, left.err) == (0, ""), words
        closed = forked.hermes(home, *words, stdout="closed")
        assert (closed.code, closed.err) == (0, ""), words
        full = forked.hermes(home, *words, stdout="full")
        assert full.code == 1, words
        assert "No space left on device" in full.err
        assert "unexpected" not in full.err


def test_names_that_the_terminal_cannot_show_are_escaped(forked: Forked, tmp_path: Path) -> None:
    home = tmp_path / "家 home"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("llm: {model: 漢字🙂}\nagents: {漢: {model: é}}\n", "utf-8")
    for encoding in ("ascii", "latin-1"):
        shown = forked.hermes(home, "config", "get", "llm.model", encoding=encoding)
        assert (shown.code, shown.err) == (0, "")
        assert shown.out == "\\u6f22\\u5b57\\U0001f642\n"
        document = json.loads(forked.hermes(home, "config", "show", "--json", encoding=encoding).out)
        assert document["llm"]["model"] == "漢字🙂"
        assert forked.hermes(home, "config", "show", encoding=encoding).code == 0
        assert forked.hermes(home, "config", "path", encoding=encoding).code == 0
        assert "\\u6f22" in forked.hermes(home, "config", "get", "agents.漢.nonsense", encoding=encoding).err
