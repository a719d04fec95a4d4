"""Backup and restore through the installed command."""

import asyncio
import io
import json
import signal
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes.failpoint import RESTORE_POINTS
from tests.acceptance.house import House, on_small_disk
from tests.backup_load import back_up_under_load, check_copy, check_restored
from tests.clirig import Done
from tests.peers.model.script import says


async def backup(house: House, *words: str) -> dict[str, Any]:
    done = await house.hermes("backup", "--json", *words)
    assert done.code == 0, done.err
    made: dict[str, Any] = json.loads(done.out)
    return made


async def doctor(house: House) -> Done:
    done = await house.hermes("doctor")
    assert done.code == 0, done.out + done.err
    return done


async def test_a_backup_while_messages_are_written_is_one_instant_and_can_be_gone_on_from(
    house: House,
) -> None:
    await house.start()
    house.config["gateway"]["limits"]["rate"] = "off"
    (house.home / "SOUL.md").write_text("I am kind.")
    (house.home / "skills" / "mine").mkdir(parents=True)
    (house.home / "skills" / "mine" / "run.sh").write_text("echo")
    (house.home / "skills" / "mine" / "run.sh").chmod(0o700)

    written, copied = 0, asyncio.Event()

    async def write(session: int) -> None:
        """Until the copy is made, and one message more."""
        nonlocal written
        ends = False
        while not ends:
            ends = copied.is_set()
            written += 1
            assert (await house.ask(f"message {written}", session=f"s{session}")).status_code == 200

    async with asyncio.TaskGroup() as writers:
        for session in range(8):
            writers.create_task(write(session))
        await house.model.wait_for(lambda: len(house.model.requests) >= 20, 60)
        made = await backup(house)
        copied.set()
    path = Path(made["path"])
    assert path.parent == house.home / "backups"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in path.parent.iterdir() if p.name.startswith(".state")] == []
    running = await house.hermes("restore", str(path), "--yes")
    assert running.code == 73
    assert (house.home / "hermes.pid").read_text().strip() in running.err
    await house.stop()

    restored = await house.hermes("restore", str(path), "--yes", "--json")
    assert restored.code == 0, restored.err
    said = json.loads(restored.out)
    assert said["lost"]["messages"] > 0
    assert (Path(said["aside"]) / "state.db").exists()
    assert (house.home / "SOUL.md").read_text() == "I am kind."
    assert (house.home / "skills" / "mine" / "run.sh").stat().st_mode & 0o777 == 0o700
    assert not (house.home / ".restoring").exists()
    await doctor(house)
    assert house.rows("SELECT count(*) FROM messages") < [(2 * written,)]
    await house.start()
    assert (await house.ask("go on", session="s0")).status_code == 200
    await house.stop()


async def test_backups_under_load_delay_nobody_and_hold_whole_messages(house: House, tmp_path: Path) -> None:
    await house.start()
    seen = await back_up_under_load(house, 240, tmp_path / "made")
    assert max(seen.lags) < 1, seen.lags  # tests/chaos has the real bound, alone on the machine
    answered, opened = check_copy(seen.newest, tmp_path / "copy")
    assert answered >= 24
    assert opened <= 8
    await check_restored(house, seen.newest, tmp_path / "restored")
    await house.stop()


async def test_what_was_open_at_the_backup_is_told_and_not_sent_again(house: House, tmp_path: Path) -> None:
    await house.start()
    house.model.script.add(says("never", first=60))
    house.telegram.push_text("cut me", chat=1)
    await house.model_busy()
    made = await backup(house, "-o", str(tmp_path / "b.tar.gz"))
    await house.daemon.kill()
    house.model.script.clear()
    done = await house.hermes("restore", made["path"], "--yes")
    assert "0 replies that were not sent, 1 messages that were not answered" in done.out
    assert house.rows("SELECT state FROM inbox") == [("stopped",)]
    assert house.rows("SELECT state FROM turns") == [("stopped",)]
    await house.start()
    house.telegram.push_text("next", chat=1)
    await house.telegram.wait_text(1, "echo: next", 20)
    await house.stop()
    assert house.texts(1) == ["echo: next"]

    again = await house.hermes("restore", made["path"], "--yes", "--resend")
    assert again.code == 0, again.err
    await house.start()
    await house.telegram.wait_text(1, "echo: cut me", 20)
    await house.stop()


async def test_no_secrets_leaves_them_out_and_names_them(house: House, tmp_path: Path) -> None:
    plain = await house.hermes("backup", "--no-secrets")
    assert plain.code == 1
    assert "plain text" in plain.err
    house.config = {"language": "en"}
    house.write()
    (house.home / ".env").write_text("OPENROUTER_API_KEY=sk-hidden\n")
    made = await backup(house, "--no-secrets", "-o", str(tmp_path))
    assert made["left_out"] == ["OPENROUTER_API_KEY"]
    with tarfile.open(made["path"]) as tar:
        assert ".env" not in tar.getnames()
        assert b"sk-hidden" not in b"".join((f.read() if (f := tar.extractfile(m)) else b"") for m in tar)
    done = await house.hermes("restore", made["path"], "--into", str(tmp_path / "elsewhere"))
    assert "OPENROUTER_API_KEY" in done.out
    assert (tmp_path / "elsewhere" / "config.yaml").exists()
    here = await house.hermes("restore", made["path"], "--yes")
    assert "OPENROUTER_API_KEY" not in here.out
    assert "sk-hidden" in (house.home / ".env").read_text()


async def test_five_are_kept(house: House) -> None:
    for _ in range(7):
        made = await backup(house)
    kept = list((house.home / "backups").glob("hermes-*.tar.gz"))
    assert len(kept) == 5
    assert Path(made["path"]) in kept


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    "bad",
    [
        member("../escaped"),
        member("/etc/escaped"),
        member("skills/../../escaped"),
        member("skills/link", tarfile.SYMTYPE, "/etc/passwd"),
        member("skills/hard", tarfile.LNKTYPE, "config.yaml"),
        member("skills/device", tarfile.CHRTYPE),
        member("skills/pipe", tarfile.FIFOTYPE),
        member("hermes.lock"),
        member("state.db-wal"),
    ],
    ids=lambda m: m.name,
)
async def test_a_hostile_archive_is_refused_by_name(
    house: House, tmp_path: Path, bad: tarfile.TarInfo
) -> None:
    before = house.files()
    path = tmp_path / "bad.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(bad, io.BytesIO())
    done = await house.hermes("restore", str(path), "--yes")
    assert done.code == 1
    assert bad.name in done.err
    assert {p: b for p, b in house.files().items() if p.name != "hermes.lock"} == before
    assert not (tmp_path / "escaped").exists()


async def test_a_cut_a_changed_and_a_foreign_archive_change_nothing(house: House, tmp_path: Path) -> None:
    (house.home / "SOUL.md").write_text("I am kind. " * 1000)
    made = await backup(house, "-o", str(tmp_path / "good.tar.gz"))
    good = Path(made["path"]).read_bytes()
    changed = tmp_path / "changed.tar.gz"
    with tarfile.open(made["path"]) as old, tarfile.open(changed, "w:gz") as new:
        for m in old:
            data = (f.read() if (f := old.extractfile(m)) else b"").replace(b"kind", b"evil")
            new.addfile(m, io.BytesIO(data))
    (tmp_path / "cut.tar.gz").write_bytes(good[: len(good) // 2])
    (tmp_path / "text.tar.gz").write_text("hello")
    newer = tmp_path / "newer.tar.gz"
    with tarfile.open(newer, "w:gz") as tar:
        data = json.dumps({"format": 99, "hermes": "9.0"}).encode()
        info = member("manifest.json")
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    before = {p: b for p, b in house.files().items() if p.name != "hermes.lock"}
    for name, code in (("changed", 1), ("cut", 1), ("text", 1), ("newer", 78), ("missing", 1)):
        done = await house.hermes("restore", str(tmp_path / f"{name}.tar.gz"), "--yes")
        assert done.code == code, name + done.err
        assert name in done.err
    assert {p: b for p, b in house.files().items() if p.name != "hermes.lock"} == before


async def test_what_a_backup_cannot_give_back_is_not_in_it(house: House, tmp_path: Path) -> None:
    tools = house.home / "tools"
    (tools / "a\\b").mkdir(parents=True)
    for name in ("good one.txt", "two\nlines", "\udcff.txt", "a\\b/inside", "c\\d"):
        (tools / name).write_text("x")
    made = await backup(house, "-o", str(tmp_path / "b.tar.gz"))
    assert sorted(made["skipped"]) == ["tools/a\\b", "tools/c\\d", "tools/\ufffd.txt"]
    done = await house.hermes("restore", made["path"], "--into", str(tmp_path / "new"))
    assert done.code == 0, done.err
    assert sorted(p.name for p in (tmp_path / "new" / "tools").iterdir()) == ["good one.txt", "two\nlines"]


@pytest.mark.parametrize(
    "manifest",
    [
        "[" * 100_000,
        '{"format": 1, "hermes": "1", "at": 1e300}',
        '{"format": 1, "hermes": "1\\u001b[31m", "at": 1}',
        '{"format": 1, "hermes": "1", "at": 1, "left_out": ["A\\u001b[31m"]}',
        '{"format": 99, "hermes": "\\u001b[31m"}',
    ],
    ids=["deep", "time", "version", "secret", "newer"],
)
async def test_a_hostile_manifest_is_refused_and_says_nothing_of_its_own(
    house: House, tmp_path: Path, manifest: str
) -> None:
    path, new = tmp_path / "bad.tar.gz", tmp_path / "new"
    with tarfile.open(path, "w:gz") as tar:
        info = member("manifest.json")
        info.size = len(manifest)
        tar.addfile(info, io.BytesIO(manifest.encode()))
    done = await house.hermes("restore", str(path), "--into", str(new))
    assert (done.code in {1, 78}, "unexpected" in done.err, "\x1b" in done.err) == (True, False, False), (
        done.err
    )
    assert [p.name for p in new.iterdir()] == ["hermes.lock"]
    if "99" not in manifest:
        return
    good = await backup(house, "-o", str(tmp_path / "good.tar.gz"))
    again = await house.hermes("restore", good["path"], "--into", str(new))
    assert again.code == 0, again.err


async def test_a_mount_in_the_home_is_named_before_anything_is_moved(house: House, tmp_path: Path) -> None:
    made = await backup(house, "-o", str(tmp_path / "b.tar.gz"))
    with on_small_disk(house.home / "agents", 1):
        done = await house.hermes("restore", made["path"], "--yes")
        assert (done.code, "agents is mounted" in done.err) == (1, True), done.err
        assert not (house.home / ".restoring").exists()
        assert (await house.hermes("sessions", "list")).code == 0


@pytest.mark.parametrize("place", [*RESTORE_POINTS, "restore.moved_aside:2", "restore.moved_in:2"])
async def test_killed_while_restoring_the_home_is_the_old_one_or_the_new_one(
    house: House, tmp_path: Path, place: str
) -> None:
    (house.home / "SOUL.md").write_text("old")
    (await house.hermes("sessions", "list"))
    made = await backup(house, "-o", str(tmp_path))
    (house.home / "SOUL.md").write_text("present")
    (house.home / "skills" / "later").mkdir(parents=True)
    (house.home / "skills" / "later" / "SKILL.md").write_text("later")
    house.cli.environ["HERMES_FAILPOINT"] = place
    done = await house.hermes("restore", made["path"], "--yes")
    assert done.code == -signal.SIGKILL, done.err
    del house.cli.environ["HERMES_FAILPOINT"]
    await doctor(house)  # takes the lock, and so finishes what was decided
    new = place != "restore.staged"
    assert (house.home / "SOUL.md").read_text() == ("old" if new else "present")
    assert (house.home / "skills" / "later" / "SKILL.md").exists() is not new
    asides = list(house.home.glob("before-restore-*"))
    assert len(asides) == new
    if new:
        assert (asides[0] / "SOUL.md").read_text() == "present"
        assert (asides[0] / "skills" / "later" / "SKILL.md").exists()


async def test_a_newer_store_is_refused_with_the_copies_and_the_way_back_works(house: House) -> None:
    await house.start()
    assert (await house.ask("before the upgrade", session="s")).status_code == 200
    await house.stop()
    with closing(sqlite3.connect(house.home / "state.db")) as connection:
        connection.execute(f"VACUUM INTO '{house.home / 'state.db.v4.bak'}'")
    await house.start()
    assert (await house.ask("after the upgrade", session="s")).status_code == 200
    await house.stop()
    with closing(sqlite3.connect(house.home / "state.db")) as connection:
        connection.execute("UPDATE schema_version SET version = 99 WHERE part = 'gateway'")
        connection.commit()
    code, said = await house.refused()
    assert code == 78
    assert "state.db.v4.bak" in said
    assert "99" in said
    no = await house.hermes("restore", "--database", str(house.home / "state.db"), "--yes")
    assert no.code == 78
    done = await house.hermes("restore", "--database", str(house.home / "state.db.v4.bak"), "--yes")
    assert done.code == 0, done.err
    assert "Not there any more: 2 messages, 1 turns." in done.out
    await doctor(house)
    assert house.rows("SELECT body FROM messages WHERE role = 'user'") == [("before the upgrade",)]
    await house.start()
    assert (await house.ask("and on", session="s")).status_code == 200
    await house.stop()
    assert (house.home / "state.db.v4.bak").exists()


async def test_a_home_of_an_earlier_version_is_brought_up_with_a_copy_and_keeps_everything(
    house: House,
) -> None:
    await house.start()
    assert (await house.ask("long ago", session="s")).status_code == 200
    await house.stop()
    with closing(sqlite3.connect(house.home / "state.db")) as connection:
        # As the gateway's first schema was: without what its later steps add.
        for table in ("modes", "people", "accounts", "link_codes", "chats", "homes", "moved_chats"):
            connection.execute(f"DROP TABLE {table}")
        for index in ("outbox_live", "outbox_file"):
            connection.execute(f"DROP INDEX {index}")
        for column in ("edits", "file"):
            connection.execute(f"ALTER TABLE outbox DROP COLUMN {column}")
        connection.execute("UPDATE schema_version SET version = 1 WHERE part = 'gateway'")
        connection.commit()
    await house.start()
    assert (await house.ask("today", session="s")).status_code == 200
    await house.stop()
    await doctor(house)
    assert [m for (m,) in house.rows("SELECT body FROM messages WHERE role = 'user' ORDER BY id")] == [
        "long ago",
        "today",
    ]
    (copy,) = house.home.glob("state.db.v*.bak")
    back = await house.hermes("restore", "--database", str(copy), "--yes")
    assert "2 messages, 1 turns" in back.out
    await doctor(house)
    assert house.rows("SELECT body FROM messages WHERE role = 'user'") == [("long ago",)]


async def test_sessions_delete_names_the_backups_that_still_hold_it(house: House) -> None:
    await house.start()
    assert (await house.ask("a word", session="s")).status_code == 200
    made = await backup(house)
    ((session,),) = house.rows("SELECT id FROM sessions")
    done = await house.hermes("sessions", "delete", session, "--yes")
    assert done.code == 0, done.err
    assert Path(made["path"]).name in done.out + done.err
    await house.stop()
