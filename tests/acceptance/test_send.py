"""`hermes send`: with a daemon, without one, refused, repeated."""

import json
from pathlib import Path

from tests.acceptance.house import House
from tests.peers.faults import Fault, refusal


async def test_a_message_goes_out_with_and_without_a_daemon_and_once_per_key(house: House) -> None:
    telegram = house.telegram
    telegram.add_chat(5)

    done = await house.hermes("send", "--to", "telegram:5", "**before** it runs", "--key", "k1")
    assert (done.code, done.out) == (0, "Sent to telegram:5.\n"), done.err
    assert telegram.chats[5].texts() == ["before it runs"]
    assert "getUpdates" not in {call.method for call in telegram.journal}  # nobody listened

    await house.start()
    assert (await house.hermes("send", "--to", "telegram:5", "-", stdin="piped\n")).code == 0
    again = json.loads(
        (await house.hermes("send", "--to", "telegram:5", "before", "--key", "k1", "--json")).out
    )
    assert (again["state"], again["target"], len(again["message_ids"])) == ("sent", "telegram:5", 1)

    telegram.faults.add("sendMessage", refusal(403, "Forbidden: bot was blocked by the user"))
    refused = await house.hermes("send", "--to", "telegram:5", "no")
    assert refused.code == 1
    assert "blocked by the user" in refused.err
    telegram.faults.add("sendMessage", Fault("lost"))
    marked = await house.hermes("send", "--to", "telegram:5", "maybe")
    assert marked.code == 0, marked.err
    await house.stop()
    shown = telegram.chats[5].texts()
    assert shown[:3] == ["before it runs", "piped", "maybe"]
    assert len(shown) == 4  # the repeat is marked
    assert shown[3] != "maybe"
    assert shown[3].endswith("maybe")


async def test_what_the_platform_does_not_take_now_waits_and_bad_requests_are_named(house: House) -> None:
    telegram = house.telegram
    telegram.add_chat(5)
    telegram.faults.add("sendMessage", refusal(502, "Bad Gateway", times=50))
    waiting = await house.hermes("send", "--to", "telegram:5", "later", "--wait", "0.2")
    assert waiting.code == 0, waiting.err
    assert "Not taken yet" in waiting.out
    telegram.faults.clear()
    await house.start()
    await telegram.wait_text(5, "later", 20)

    for words, said in [
        (("--to", "telegram:", "x"), "is no delivery target"),
        (("--to", "telegram", "x"), "telegram has no home"),
        (("--to", "nowhere:5", "x"), "names no platform that can be sent to"),
        (("--to", "webhook:build", "x"), "names no platform that can be sent to"),
        (("--to", "telegram:5", " "), "empty"),
    ]:
        done = await house.hermes("send", *words)
        assert done.code != 0, words
        assert said in done.err, (words, done.err)
        assert "Traceback" not in done.err
    await house.stop()
    absent = await house.hermes("send", "--to", "nowhere:5", "x")
    assert absent.code == 78
    assert "platforms.nowhere is not set up" in absent.err
    assert telegram.chats[5].texts() == ["later"]


async def test_files_go_out_with_and_without_a_daemon_once_per_key_and_bad_ones_are_named(
    house: House, tmp_path: Path
) -> None:
    telegram = house.telegram
    telegram.add_chat(5)
    report, notes, empty = (tmp_path / name for name in ("report.pdf", "notes.txt", "empty.txt"))
    report.write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 400)
    notes.write_bytes(b"what was said")
    empty.touch()
    both = ("send", "--to", "telegram:5", "--file", str(report), "--file", str(notes), "--key", "k")

    done = await house.hermes(*both, "Both of **them**")
    assert (done.code, done.out) == (0, "Sent to telegram:5.\n"), done.err
    await house.start()
    again = json.loads((await house.hermes(*both, "--json")).out)
    assert (again["state"], len(again["message_ids"])) == ("sent", 2)
    assert (await house.hermes("send", "--to", "telegram:5", "--file", str(notes))).code == 0
    shown = [m for m in telegram.chats[5] if m.from_bot]
    got = [(m.file_name, m.file_data, m.text) for m in shown if m.media is not None]
    assert got == [
        ("report.pdf", report.read_bytes(), "Both of them"),
        ("notes.txt", b"what was said", ""),
        ("notes.txt", b"what was said", ""),
    ]

    for words, said in [
        (("--file", str(tmp_path / "absent")), "There is no file"),
        (("--file", str(tmp_path)), "is a folder"),
        (("--file", str(empty)), "is empty"),
        (("--file", "/dev/null"), "is no regular file"),
        (("--file", str(notes), "--to", "home"), "no single chat"),
    ]:
        refused = await house.hermes("send", "--to", "telegram:5", *words)
        assert refused.code != 0, words
        assert said in refused.err, (words, refused.err)
    assert len([m for m in telegram.chats[5] if m.from_bot]) == 3
    report.unlink()
    gone = await house.hermes(*both, "Both of **them**")
    assert (gone.code, gone.out) == (0, "Sent to telegram:5.\n"), gone.err
    new = await house.hermes("send", "--to", "telegram:5", "--file", str(report), "--key", "new")
    assert (new.code, "There is no file" in new.err) == (1, True), new.err

    assert (await house.hermes("people", "role", "telegram:5", "member")).code == 0
    telegram.push_text("/sethome", chat=5)
    await telegram.wait_text(5, "my home on telegram", 20)
    listed = json.loads((await house.hermes("send", "--list", "--json")).out)
    assert [(t["target"], t["home"]) for t in listed] == [("telegram:5", True)]
    await house.stop()
    assert (await house.hermes("send", "--to", "home", "home again")).out == "Sent to telegram:5.\n"
    assert telegram.chats[5].texts()[-1] == "home again"
