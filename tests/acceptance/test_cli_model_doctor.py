"""`hermes model`, `hermes doctor` and `hermes pairing` as installed."""

import json
import sqlite3
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.clirig import Installation, end
from tests.peers.model import ModelPeer


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Installation]:
    here = Installation(tmp_path / "home")
    yield here
    await here.aclose()


async def test_a_model_is_chosen_and_answers(here: Installation, model_peer: ModelPeer) -> None:
    chosen = await here.run(
        "model", "custom/peer-small", "--base-url", model_peer.url, "--key", "-", stdin="hush-1\n"
    )
    assert (chosen.code, chosen.err) == (0, "")
    assert "hush" not in (here.root / "config.yaml").read_text()
    assert stat.S_IMODE((here.root / ".env").stat().st_mode) == 0o600
    assert (await here.run("chat", "-q", "hi")).out == "echo: hi\n"
    assert [request.model for request in model_peer.journal if request.model] == ["peer-small"]
    listed = json.loads((await here.run("model", "--json")).out)
    custom = next(row for row in listed if row["provider"] == "custom")
    assert (custom["chosen"], custom["key"], custom["state"]) == (True, True, "set up")
    assert "peer-small" in custom["models"]
    assert "hush" not in json.dumps(listed)


async def test_a_wrong_choice_is_a_sentence_and_changes_nothing(here: Installation) -> None:
    here.configure(llm={"provider": "openai", "model": "x"})
    before = (here.root / "config.yaml").read_text()
    for words, said in (
        (["opnai/x"], 'did you mean "openai"?'),
        (["openrouter/x"], "needs a key"),
        (["custom/x"], "--base-url"),
    ):
        done = await here.run("model", *words)
        assert done.code == 78
        assert said in done.err
    assert (here.root / "config.yaml").read_text() == before


@pytest.mark.parametrize(
    ("key", "said"),
    [("\n", "empty"), ("hush\nhush\n", "one line"), ("hush-ü\n", "cannot be sent")],
)
async def test_a_key_that_is_none_is_refused(here: Installation, key: str, said: str) -> None:
    done = await here.run("model", "openai/gpt", "--key", "-", stdin=key)
    assert (done.code, said in done.err, "hush" in done.err) == (78, True, False), done.err
    assert not (here.root / "config.yaml").exists()
    assert not (here.root / ".env").exists()


async def test_what_is_no_text_is_told_like_anything_unknown(here: Installation) -> None:
    here.configure()
    for words in (
        ("pairing", "approve", "\udcff"),
        ("sessions", "show", "\udcff"),
        ("sessions", "delete", "--yes", "\udcff"),
    ):
        done = await here.run(*words)
        assert (done.code in {1, 2}, "log says why" in done.err, bool(done.err)) == (True, False, True), (
            done.err
        )


async def test_a_choice_beside_another_mistake_writes_nothing(here: Installation) -> None:
    here.configure(agent={"budget": "many"})
    before = (here.root / "config.yaml").read_text()
    words = ("custom/m", "--base-url", "http://127.0.0.1:9/v1", "--key", "-")
    done = await here.run("model", *words, stdin="hush-1\n")
    assert (done.code, "agent.budget" in done.err) == (78, True), done.err
    here.configure()
    clean = (here.root / "config.yaml").read_text()
    wrong = await here.run("model", "custom/m", "--base-url", "127.0.0.1:9", "--key", "-", stdin="hush-1\n")
    assert (wrong.code, "llm.custom.base_url" in wrong.err) == (78, True), wrong.err
    assert (here.root / "config.yaml").read_text() == clean != before
    assert not (here.root / ".env").exists()


async def test_a_new_address_that_cannot_be_reached_is_taken_and_said(
    here: Installation, model_peer: ModelPeer
) -> None:
    here.configure()
    far = await here.run("model", "custom/m", "--base-url", "http://127.0.0.1:9/v1")
    assert (far.code, "could not be reached" in far.err) == (0, True), far.err
    other = await here.run("model", "custom/m", "--base-url", model_peer.url)
    assert (other.code, "does not list m" in other.err) == (0, True), other.err


async def test_the_doctor_finds_and_mends_a_broken_index(here: Installation, model_peer: ModelPeer) -> None:
    here.configure_model(model_peer.url)
    await here.run("chat", "-q", "a word worth finding")
    healthy = await here.run("doctor")
    assert (healthy.code, "BAD" in healthy.out) == (0, False), healthy.out
    (note,) = (line for line in healthy.out.splitlines() if line.startswith("note "))
    assert "stands there in plain text" in note
    connection = sqlite3.connect(here.root / "state.db")
    connection.execute("INSERT INTO messages_fts(messages_fts) VALUES ('delete-all')")
    connection.commit()
    connection.close()
    ill = await here.run("doctor", "--json")
    assert ill.code == 1
    assert [f["name"] for f in json.loads(ill.out) if not f["ok"]] == ["index"]
    mended = await here.run("doctor", "--fix")
    assert (mended.code, "BAD" in mended.out) == (0, False), mended.out


async def test_the_doctor_asks_a_running_daemon_and_mends_nothing_beside_it(here: Installation) -> None:
    here.configure()
    daemon, _ = await here.run_daemon()
    seen = await here.run("doctor")
    assert (seen.code, "transcripts" in seen.out) == (0, True), seen.out
    refused = await here.run("doctor", "--fix")
    assert (refused.code, "gateway stop" in refused.err) == (1, True)
    assert (await end(daemon)).code == 0


async def test_pairing_without_and_with_a_daemon(here: Installation) -> None:
    here.configure()
    assert json.loads((await here.run("pairing", "list", "--json")).out) == []
    wrong = await here.run("pairing", "approve", "NOTACODE")
    assert (wrong.code, "valid for one hour" in wrong.err) == (1, True)
    daemon, _ = await here.run_daemon()
    assert (await here.run("pairing", "list")).out == "Nobody has asked.\n"
    gone = await here.run("pairing", "revoke", "telegram:1")
    assert (gone.code, gone.err.startswith("hermes: ")) == (1, True)
    assert (await here.run("pairing", "revoke", "telegram")).code == 2
    assert (await end(daemon)).code == 0


async def test_fallbacks_are_listed_and_one_that_cannot_work_is_named(
    here: Installation, model_peer: ModelPeer
) -> None:
    custom = {"base_url": model_peer.url, "api_keys": ["hush-1", "hush-2"]}
    beside = {"fallbacks": ["openai/gpt-x", "custom/peer-small"], "auxiliary": {"title": "custom/peer-small"}}
    here.configure(llm={"provider": "custom", "model": "peer-model", "custom": custom, **beside})
    done = await here.run("model", "list", "--json")
    assert "hush" not in done.out + done.err
    rows = {row["provider"]: row for row in json.loads(done.out)}
    assert rows["openai"]["fallbacks"] == [{"place": 1, "model": "openai/gpt-x"}]
    assert rows["custom"]["fallbacks"] == [{"place": 2, "model": "custom/peer-small"}]
    assert (rows["custom"]["auxiliary"], rows["custom"]["keys"]) == ({"title": "custom/peer-small"}, 2)
    doctor = await here.run("doctor", "--json")
    bad = [f["detail"] for f in json.loads(doctor.out) if not f["ok"]]
    assert (doctor.code, len(bad), "openai/gpt-x cannot answer" in bad[0]) == (1, 1, True)
    check = json.loads((await here.run("config", "check", "--json")).out)
    assert any("openai/gpt-x cannot answer" in line for line in check["warnings"])
    here.configure(llm={"provider": "custom", "model": "m", "fallbacks": ["opnai/x"]})
    assert "is no provider" in (await here.run("config", "check")).err
