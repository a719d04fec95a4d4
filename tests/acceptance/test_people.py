"""One person with two accounts, through the installed daemon and command."""

import json
from typing import Any

from tests.acceptance.house import House


async def _people(house: House, *words: str) -> Any:
    done = await house.hermes("people", *words, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


async def test_one_person_from_joining_to_revocation(house: House) -> None:
    telegram = house.telegram
    house.config["platforms"]["telegram"]["allow_from"] = ["5"]
    house.config["gateway"]["sessions"] = {"dm": "per_person"}
    house.write()
    await house.start()
    assert (await house.hermes("people", "list")).out.startswith("No accounts are joined")

    telegram.push_text("the word is plum", chat=5)
    await telegram.wait_text(5, "echo: the word is plum")
    telegram.push_text("/link", chat=5)
    code = (await telegram.wait_text(5, "code: ")).split("code: ")[1].split()[0]
    telegram.push_text("/link AAAAA-AAAAA", chat=6)
    await telegram.wait_text(6, "I do not know this code")
    telegram.push_text(f"/link {code}", chat=6)
    assert "We go on with the conversation" in await telegram.wait_text(6, "joined to telegram:5")
    await telegram.wait_text(5, "telegram:6) is now joined to you")
    telegram.push_text("which word?", chat=6)
    await telegram.wait_text(6, "echo: which word?")
    assert "the word is plum" in str(house.asked())
    assert code not in house.daemon.stderr

    [person] = await _people(house, "list")
    assert [a["account"] for a in person["accounts"]] == ["telegram:5", "telegram:6"]
    assert person["role"] == "member"
    assert (await _people(house, "show", "telegram:6"))["id"] == person["id"]
    assert (await _people(house, "role", "telegram:5", "owner"))["role"] == "owner"
    telegram.push_text("/whoami", chat=6)
    assert "Role: owner" in await telegram.wait_text(6, "Role: ")

    revoked = await house.hermes("pairing", "revoke", "telegram:6")
    assert (revoked.code, revoked.out) == (0, "telegram:6 is not admitted any longer.\n")
    telegram.push_text("let me in", chat=6)
    telegram.push_text("still here", chat=5)
    await telegram.wait_text(5, "echo: still here")
    assert (await house.hermes("people", "unlink", "telegram:6")).code == 1
    await house.stop()
    assert not [text for text in house.texts(6) if "let me in" in text]
    assert "let me in" not in str(house.asked())

    joined = await _people(house, "link", "telegram:5", "telegram:7")  # without a daemon
    assert [a["account"] for a in joined["accounts"]] == ["telegram:5", "telegram:7"]
    shown = (await house.hermes("people", "show", "telegram:7")).out
    assert "owner (given)" in shown
    assert "by the others" in shown
    revoked = await house.hermes("pairing", "revoke", "telegram:5")  # whom allow_from lists
    listed = "platforms.telegram.allow_from admits telegram:5 still: take 5 out of that list."
    assert revoked.out == f"telegram:5 is not paired or joined any longer. {listed}\n"
    again = await house.hermes("pairing", "revoke", "telegram:5")
    assert (again.code, again.err) == (1, f"hermes: 5 is not paired on telegram. {listed}\n")
    house.config["platforms"]["telegram"]["allow_from"] = ["*"]
    house.write()
    again = await house.hermes("pairing", "revoke", "telegram:5")
    assert again.err.endswith(
        'platforms.telegram.allow_from admits anyone still: take "*" out of that list.\n'
    )
