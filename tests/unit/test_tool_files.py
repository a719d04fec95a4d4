"""read_file, write_file and search_files: what they do, and that nothing leads outside."""

import asyncio
import os
import socket
import tracemalloc
from pathlib import Path

import pytest

from hermes.errors import ToolError
from hermes.messages import JSONObject
from hermes.services import Services
from hermes.tools import ToolContext, ToolResult
from tools.paths import locate, open_folder, open_regular
from tools.read_file import read_file
from tools.search_files import search_files
from tools.write_file import TOOLS as WRITING
from tools.write_file import write_file


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    home = tmp_path / "home"
    workspace = home / "workspace"
    workspace.mkdir(parents=True)
    (home / ".env").write_text("KEY=secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    return in_workspace(workspace, home)


def in_workspace(workspace: Path, home: Path) -> ToolContext:
    services = Services(home / "spills")
    return ToolContext("s", "k", "main", "telegram", "listed", "c", workspace.resolve(), services)


def read(context: ToolContext, path: str, **more: int) -> str:
    return read_file({"path": path, **more}, context).text


def write(context: ToolContext, path: str, content: str = "new") -> str:
    return write_file({"path": path, "content": content}, context).text


async def search(context: ToolContext, **asked: object) -> str:
    return (await search_files(dict(asked), context)).text


def test_lines_are_numbered_and_paged(context: ToolContext) -> None:
    (context.workspace / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    assert read(context, "a.txt") == "1|one\n2|two\n3|three\n4|four"
    assert read(context, "a.txt", offset=2, limit=2) == "2|two\n3|three\n[more follows: go on with offset 4]"
    result = read_file({"path": "a.txt", "offset": 9}, context)
    assert not result.ok
    assert "has no line 9" in result.text


def test_a_big_file_comes_in_pages_below_the_cap(context: ToolContext) -> None:
    (context.workspace / "big.txt").write_text("x" * 5000 + "\n" + "line\n" * 50_000)
    page = read(context, "big.txt")
    assert len(page) < 30_000
    assert "x [...]\n2|line" in page
    assert page.endswith("]")


def test_neither_one_long_line_nor_many_short_ones_fill_the_memory(context: ToolContext) -> None:
    (context.workspace / "long").write_bytes(b"x" * 20_000_000 + b"\nsecond\n")
    (context.workspace / "many").write_bytes(b"ab\n" * 400_000)
    tracemalloc.start()
    assert read(context, "long").startswith("1|xxx")
    assert read(context, "many", offset=300_000, limit=1).startswith("300000|ab")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8_000_000


def test_a_long_line_is_one_line(context: ToolContext) -> None:
    (context.workspace / "long").write_bytes(b"\xe4\xbb\x8a" * 50_000 + b"\r\nsecond")
    assert read(context, "long", offset=2) == "2|second"


def test_binary_and_empty_files_are_told(context: ToolContext) -> None:
    (context.workspace / "b").write_bytes(b"\x7fELF\0\1")
    (context.workspace / "e").touch()
    assert read(context, "b") == "b is a binary file of 6 bytes; its content is not shown."
    assert read(context, "e") == "e is empty."


def test_text_of_files_is_untrusted(context: ToolContext) -> None:
    (context.workspace / "a").write_text("x")
    assert read_file({"path": "a"}, context) == ToolResult("1|x", untrusted=True)


ESCAPES = [
    "../.env",
    "../../outside/secret.txt",
    "/etc/passwd",
    "link/secret.txt",
    "file-link",
    "chain/x",
    "~/x",
    "a\0b",
]


@pytest.mark.parametrize("path", ESCAPES)
async def test_no_tool_leaves_the_workspace(context: ToolContext, path: str) -> None:
    outside = context.workspace.parents[1] / "outside"
    (context.workspace / "link").symlink_to(outside)
    (context.workspace / "file-link").symlink_to(outside / "secret.txt")
    (context.workspace / "chain").symlink_to("link")
    for attempt in (read, write):
        with pytest.raises(ToolError):
            await asyncio.to_thread(attempt, context, path)
    with pytest.raises(ToolError):
        await search(context, name="*", path=path)
    assert (outside / "secret.txt").read_text() == "secret"
    assert [p.name for p in outside.iterdir()] == ["secret.txt"]


async def test_links_are_not_followed_by_a_search(context: ToolContext) -> None:
    outside = context.workspace.parents[1] / "outside"
    (context.workspace / "link").symlink_to(outside)
    (context.workspace / "file-link").symlink_to(outside / "secret.txt")
    assert await search(context, pattern="secret") == "Nothing found."


def test_a_link_inside_the_workspace_is_fine(context: ToolContext) -> None:
    (context.workspace / "a").write_text("x")
    (context.workspace / "l").symlink_to("a")
    assert read(context, "l") == "1|x"
    write(context, "l", "y")
    assert (context.workspace / "a").read_text() == "y"
    assert (context.workspace / "l").is_symlink()


def test_a_folder_swapped_for_a_link_after_the_check_is_not_entered(context: ToolContext) -> None:
    inner = context.workspace / "d"
    inner.mkdir()
    (inner / "secret.txt").write_text("mine")
    place = locate(context.workspace, "d/secret.txt", context.services)
    inner.rename(context.workspace / "moved")
    inner.symlink_to(context.workspace.parents[1] / "outside")
    with pytest.raises(ToolError), open_regular(place):
        pass
    with pytest.raises(ToolError), open_folder(place, up_to=-1, make=True):
        pass


def test_special_files_are_refused_without_waiting(context: ToolContext) -> None:
    os.mkfifo(context.workspace / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(context.workspace)  # the path of a socket is short
        listener.bind("sock")
        os.chdir(here)
    for name in ("fifo", "sock", "."):
        with pytest.raises(ToolError):
            read(context, name)
        with pytest.raises(ToolError):
            write(context, name)


@pytest.mark.parametrize("path", [".env", "config.yaml", "state.db", "agents/main/x", "."])
@pytest.mark.parametrize("above", [False, True])
def test_the_home_s_own_files_are_never_written_nor_read(
    context: ToolContext, path: str, above: bool
) -> None:
    home = context.workspace.parent
    root = home.parent if above else home
    wide = in_workspace(root, home)
    before = sorted(home.rglob("*"))
    asked = f"home/{path}" if above else path
    for attempt in (read, write):
        with pytest.raises(ToolError):
            attempt(wide, asked)
    assert sorted(home.rglob("*")) == before


async def test_a_search_from_above_passes_the_home_over(context: ToolContext) -> None:
    home = context.workspace.parent
    assert "home/" not in await search(in_workspace(home.parent, home), name="*")
    with pytest.raises(ToolError):
        await search(in_workspace(home, home), name="*")


def test_a_file_is_replaced_whole_and_keeps_its_mode(context: ToolContext) -> None:
    assert write(context, "new/deep/a.sh", "one").startswith("Wrote new/deep/a.sh (3 bytes)")
    file = context.workspace / "new/deep/a.sh"
    file.chmod(0o755)
    assert write(context, "new/deep/a.sh", "two").startswith("Replaced")
    assert file.read_text() == "two"
    assert file.stat().st_mode & 0o777 == 0o755
    assert [p.name for p in file.parent.iterdir()] == ["a.sh"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(context: ToolContext) -> None:
    (context.workspace / "d").mkdir()
    with pytest.raises(ToolError, match="no regular file"):
        write(context, "d")
    with pytest.raises(ToolError, match="too much"):
        write(context, "huge", "x" * 3_000_000)
    assert [p.name for p in context.workspace.iterdir()] == ["d"]


def test_writing_is_for_trusted_people_and_by_path() -> None:
    [tool] = WRITING
    assert tool.trusted_only
    assert tool.paths({"path": "a/b"}) == ("a/b",)


async def test_files_and_lines_are_found(context: ToolContext) -> None:
    for name, text in {
        "a.md": "Hello\nworld",
        "sub/b.md": "hello again",
        "c.txt": "hello",
        ".git/x": "hello",
    }.items():
        file = context.workspace / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert await search(context, name="*.md") == "a.md\nsub/b.md"
    assert await search(context, name="sub/*") == "sub/b.md"
    assert await search(context, pattern="(?i)hello", name="*.md") == "a.md:1: Hello\nsub/b.md:1: hello again"
    assert await search(context, pattern="hello", path="sub") == "b.md:1: hello again"
    limited = await search(context, pattern="(?i)hello", limit=1)
    assert limited == "a.md:1: Hello\n[more was found; only the first 1 are shown]"
    with pytest.raises(ToolError, match="no regular expression"):
        await search(context, pattern="(")
    with pytest.raises(ToolError, match="Give `name`"):
        await search(context)


@pytest.mark.timeout(30)
async def test_a_pattern_that_never_ends_is_ended(context: ToolContext) -> None:
    (context.workspace / "a").write_text("a" * 60 + "b")
    with pytest.raises(ToolError, match="took more than"):
        await search(context, pattern="(a+)+$")


async def test_a_cancelled_search_leaves_no_process(context: ToolContext) -> None:
    (context.workspace / "a").write_text("a" * 60 + "b")
    task = asyncio.create_task(search(context, pattern="(a+)+$"))
    while not (children := child_programs()):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not children & child_programs()


def child_programs() -> set[str]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
                parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
            except OSError:
                continue
            if b"searching.py" in words and int(parent) == os.getpid():
                found.add(entry.name)
    return found


def test_the_rest_of_a_long_result_can_be_read(context: ToolContext) -> None:
    spills = context.services.spills
    spills.mkdir()
    (spills / "web-0123456789abcdef.txt").write_text("the rest")
    assert read(context, "spill:web-0123456789abcdef.txt") == "1|the rest"
    asked: list[JSONObject] = [{"path": f"spill:{p}"} for p in ("../.env", "x", "web-0123456789abcdee.txt")]
    for each in asked:
        with pytest.raises(ToolError):
            read_file(each, context)


@pytest.mark.parametrize("path", ["proc/self/environ", "/proc/self/environ", "proc", "sys/kernel", "link"])
def test_D13_our_own_environment_cannot_be_read_even_where_the_workspace_is_all(
    tmp_path: Path, path: str
) -> None:
    context = in_workspace(Path("/"), tmp_path / "home")
    if path == "link":
        (tmp_path / "link").symlink_to("/proc/self/environ")
        path = str(tmp_path / "link")
    with pytest.raises(ToolError, match="kernel"):
        read(context, path)
    with pytest.raises(ToolError, match="kernel"):
        write(context, path)


async def test_D13_a_search_of_everything_passes_over_our_own_environment(tmp_path: Path) -> None:
    context = in_workspace(Path("/"), tmp_path / "home")
    with pytest.raises(ToolError, match="kernel"):
        await search(context, name="environ", path="/proc")
    found = await search(context, name="proc/[0-9]*/environ")
    assert "environ" not in found
