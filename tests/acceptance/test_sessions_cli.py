"""Conversations on the command line: exported, renamed, deleted, with a daemon and without."""

import json
from pathlib import Path
from typing import Any

from tests.acceptance.house import House, eventually
from tests.peers.faults import refusal
from tests.peers.telegram.world import person


async def _session(house: House, chat: int) -> str:
    found = json.loads((await house.hermes("sessions", "list", "--json")).out)
    return str(next(s["session_id"] for s in found if f":direct:{chat}" in s["key"]))


async def _say(house: House, chat: int, text: str) -> None:
    house.telegram.push_text(text, chat=chat)
    await house.telegram.wait_text(chat, text)


async def test_a_deleted_conversation_leaves_no_word_behind_and_the_next_message_begins_afresh(
    house: House,
) -> None:
    await house.start()
    await _say(house, 1, "xylophone of the deleted")
    house.telegram.push_text("/title zanzibar", chat=1)
    await house.telegram.wait_text(1, "zanzibar")
    await _say(house, 2, "marimba of the kept")
    session = await _session(house, 1)
    asked = await house.hermes("sessions", "delete", session, stdin="n\n")
    assert asked.code == 1, asked
    assert asked.err == "hermes: Add --yes to delete 1 conversation for good.\n"
    done = await house.hermes("sessions", "delete", session, "--yes", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out) == {"deleted": [session], "copies": []}
    gone = await house.hermes("sessions", "delete", session, "--yes")
    assert gone.code == 1
    assert f"no session {session}" in gone.err
    for path, content in house.files().items():
        for word in (b"xylophone", b"zanzibar"):
            assert word not in content, f"{word!r} is still in {path}"
    assert any(b"marimba" in content for content in house.files().values())

    await _say(house, 1, "hello again")
    assert "xylophone" not in str(house.asked())
    await house.stop()
    assert (await house.hermes("doctor", "--json")).code == 0


async def test_a_conversation_is_exported_renamed_and_pruned_without_a_daemon(
    house: House, tmp_path: Path
) -> None:
    await house.start()
    await _say(house, 1, "export me")
    await house.stop()
    session = await _session(house, 1)
    renamed = await house.hermes("sessions", "rename", session, "My  trip")
    assert renamed.out == f"{session} is now called My trip.\n"
    markdown = (await house.hermes("sessions", "export", session)).out
    assert markdown.startswith("# My trip\n")
    assert "## user" in markdown
    assert "echo: export me" in markdown
    lines = (await house.hermes("sessions", "export", session, "--format", "jsonl")).out.splitlines()
    assert [json.loads(line)["role"] for line in lines] == ["user", "assistant"]
    file = tmp_path / "out.json"
    wrote = await house.hermes("sessions", "export", session, "--format", "json", "-o", str(file))
    assert wrote.code == 0, wrote.err
    whole = json.loads(file.read_text())
    assert whole["session"]["title"] == "My trip"
    assert len(whole["messages"]) == 2
    refused = await house.hermes("sessions", "export", session, "-o", str(tmp_path / "no" / "where"))
    assert refused.code == 1
    assert "cannot be written" in refused.err

    assert (await house.hermes("sessions", "prune", "--older-than", "1d")).out == "There are none.\n"
    assert (await house.hermes("sessions", "prune", "--older-than", "soon")).code == 2
    pruned = await house.hermes("sessions", "prune", "--older-than", "0s", "--yes", "--json")
    assert json.loads(pruned.out)["deleted"] == [session], pruned.err
    assert json.loads((await house.hermes("sessions", "list", "--json")).out) == []


async def test_what_strangers_write_moves_no_cursor(house: House) -> None:
    del house.config["platforms"]["telegram"]["allow_from"]
    house.write()
    await house.start()
    assert (await house.ask("\x1b[2Jred\x9b31m\n\tnext", session="s")).status_code == 200
    (session,) = json.loads((await house.hermes("sessions", "list", "--json")).out)
    who: dict[str, Any] = {"from": {**person(66), "first_name": "\x1b]0;Eve\x07"}}
    house.telegram.push_text("hi", chat=66, **who)
    await house.telegram.wait_text(66, "valid for one hour")
    (asked,) = json.loads((await house.hermes("pairing", "list", "--json")).out)
    house.telegram.faults.add("sendMessage", refusal(403, "Forbidden: bot was blocked by the user", times=2))
    assert (await house.hook({"text": "\x1b[2Jblue"})).status_code == 202

    async def letters() -> list[dict[str, str]]:
        found: list[dict[str, str]] = json.loads((await house.hermes("deadletters", "list", "--json")).out)
        return found

    (letter,) = await eventually(letters)
    for words, told in (
        (("pairing", "list"), "]0;Eve"),
        (("pairing", "approve", asked["code"]), "]0;Eve (telegram:66) is admitted"),
        (("sessions", "show", session["session_id"]), "user: [2Jred31m\n\tnext"),
        (("sessions", "rename", session["session_id"], "a\x1b[31m"), "is now called a[31m"),
        (("deadletters", "show", letter["id"]), "[2Jblue"),
    ):
        done = await house.hermes(*words)
        assert told in done.out, done
        assert not set("\x1b\x07\x9b") & set(done.out), done
    await house.stop()
