"""One person on several platforms: joined by a code, let in by it, and taken out again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gateway.people import Account
from hermes.agent import TurnEnded
from hermes.errors import StoreUnavailable
from hermes.events import Event, Ignored, Sender, Target, Verdict
from hermes.messages import ToolCall
from hermes.model import ModelRequest
from hermes.testing import Answer, FakeAdapter, ScriptedModel
from tests.gatewayrig import Rig, message, rig, until

CONFIG = """
platforms:
  telegram: {allow_from: ["1", "2"], rate: "off"}
  discord: {type: telegram, rate: "off"}
  open: {type: telegram, allow_from: ["*"], rate: "off"}
gateway:
  limits: {rate: "off"}
  sessions: {dm: per_account}
"""
CALL = ToolCall("c1", "todo", {"todos": []}, "{}")
SHARED = CONFIG.replace("dm: per_account", "dm: per_person")


@dataclass
class House:
    """The gateway with three platforms."""

    rig: Rig
    telegram: FakeAdapter
    discord: FakeAdapter
    open: FakeAdapter

    async def say(self, instance: str, who: str, text: str, **fields: Any) -> Verdict:
        """Somebody writes in his direct chat."""
        return await self.rig.deliver(written(instance, who, text, **fields))

    async def ask(self, instance: str, who: str, text: str, **fields: Any) -> str:
        """Somebody writes, and everything is answered; what was sent to his platform last."""
        adapter: FakeAdapter = getattr(self, instance)
        before = len(adapter.sent)
        await self.say(instance, who, text, **fields)
        await self.rig.quiet()
        return "\n".join(said for _, said, _ in adapter.sent[before:])

    async def code(self, instance: str, who: str) -> str:
        """The code that an account is given."""
        return (await self.ask(instance, who, "/link")).split("code: ")[1].split()[0]

    async def join(self, first: tuple[str, str], other: tuple[str, str]) -> str:
        """Join two accounts; the answer."""
        return await self.ask(*other, f"/link {await self.code(*first)}")

    @property
    def asked(self) -> list[str]:
        """What the model saw last, without the system's prompt."""
        return [m.text for m in self.rig.model.requests[-1].messages if m.role != "system"]


def written(instance: str, who: str, text: str, **fields: Any) -> Event:
    given: dict[str, Any] = {
        "instance": instance,
        "account": f"{instance}-bot",
        "sender": Sender(who, f"Name{who}"),
        "reply_to": (Target(instance, who),),
    }
    return message(text, **{"chat": who, **given, **fields})


@asynccontextmanager
async def house(root: Path, config: str = CONFIG, model: ScriptedModel | None = None) -> AsyncIterator[House]:
    telegram, discord, anyone = FakeAdapter(), FakeAdapter(), FakeAdapter()
    beside = {"discord": discord, "open": anyone}
    async with rig(root / "home", config=config, adapter=telegram, model=model, beside=beside) as g:
        yield House(g, telegram, discord, anyone)


async def test_a_code_joins_two_accounts_lets_the_stranger_in_and_works_once(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        assert (await h.say("discord", "d1", "hello")).kind == "refused"
        await h.rig.quiet()
        code = await h.code("telegram", "1")
        rows = await h.rig.rows("SELECT digest FROM link_codes UNION ALL SELECT answer FROM inbox")
        assert not [r for r in rows if code.replace("-", "") in str(r) or code in str(r)]

        told = await h.ask("discord", "d1", f"/link {code.lower().replace('-', ' ')}\n\nBest regards,\nAna")
        assert "joined to telegram:1" in told
        assert "discord:d1" in h.telegram.sent[-1][1], "whoever gave the code is told"
        assert await h.ask("discord", "d1", "hi") == "echo: hi"
        assert h.asked == ["hi"], "by default each account has its own conversation"
        who = await h.ask("discord", "d1", "/whoami")
        assert "Role: member" in who
        assert "discord:d1, telegram:1" in who
        assert "main" in who

        wrong = await h.ask("open", "o1", f"/link {code}")
        assert wrong == await h.ask("open", "o1", "/link AAAAA-AAAAA")
        assert wrong == await h.ask("open", "o1", "/link \udcff".encode("utf-8", "replace").decode())
    async with house(tmp_path) as h:
        assert await h.ask("discord", "d1", "still me") == "echo: still me"


async def test_wrong_codes_are_told_alike_and_soon_not_at_all(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        code = await h.code("telegram", "1")
        answers = [await h.ask("discord", "d1", f"/link WRONG-{n:05}") for n in range(5)]
        assert len(set(answers)) == 1
        assert "I do not know this code" in answers[0]
        assert "owner" in await h.ask("discord", "d1", f"/link {code}"), "treated like any stranger's message"
        answers = [await h.ask("telegram", "2", f"/link WRONG-{n:05}") for n in range(5)]
        assert await h.ask("telegram", "2", f"/link {code}") == answers[0]
        assert "I do not know this code" not in await h.ask("open", "3", f"/link {code}")
        given = [await h.ask("telegram", "1", "/link") for _ in range(5)]
        assert "many codes" in given[-1]


async def test_codes_go_from_whom_we_know_and_only_in_private(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        group = {"kind": "group", "chat": "g1", "private_notice": False}
        assert "directly" in await h.ask("telegram", "1", "/link", **group)
        code = await h.code("telegram", "1")
        assert "directly" in await h.ask("telegram", "2", f"/link {code}", **group)
        assert "do not know" in await h.ask("telegram", "2", f"/link {code}"), "the group has read it"
        for fields in (group, {**group, "edited": True}, {"private_notice": False}):
            code = await h.code("telegram", "2" if "edited" in fields else "1")
            assert (await h.say("discord", "d9", f"/link here it is:\n{code}", **fields)).kind != "accepted"
            told = await h.ask("open", "o9" if "kind" in fields else "o8", f"/link {code}")
            assert "do not know" in told, "nor is it good when a stranger has shown it"
        code = await h.code("telegram", "2")
        await h.rig.core.intake("discord").take([Ignored("another channel", f"/link {code}")])
        assert "do not know" in await h.ask("open", "o7", f"/link {code}"), "nor where nobody is answered"
        code = await h.code("telegram", "1")
        assert "do not know" in await h.ask("telegram", "1", f"/link {code}"), "with oneself nobody is joined"
        assert await h.rig.rows("SELECT 1 FROM people") == []
        unproven = {"private_notice": False}
        assert "directly" in await h.ask("telegram", "1", "/link", **unproven)
        assert "people I know" in await h.ask("open", "o1", "/link")
        await h.ask("open", "o1", "/link")
        assert await h.rig.rows("SELECT instance FROM link_codes") == [("telegram",)]

        await h.join(("telegram", "1"), ("open", "o1"))
        assert "Role: member" in await h.ask("open", "o1", "/whoami")
        short = await h.ask("open", "o1", "/whoami", **group)
        assert "telegram:1" not in short
        assert "\n" not in short
        assert "joined to others already" in await h.join(("telegram", "2"), ("open", "o1"))


async def test_unlink_and_revocation_end_the_rights_at_once(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer("one", gate=gate)])
    async with house(tmp_path, model=model) as h:
        await h.join(("telegram", "1"), ("discord", "d1"))
        first = await h.say("discord", "d1", "one")
        await until(lambda: model.running)
        waiting = await h.say("discord", "d1", "two")
        people = h.rig.core.linking
        await h.rig.core.store.write(*people.part(("discord", "d1")))
        gate.set()
        await h.rig.quiet()
        assert await h.rig.rows("SELECT state FROM inbox WHERE ticket = ?", first.ticket) == [("answered",)]
        assert await h.rig.rows("SELECT state FROM inbox WHERE ticket = ?", waiting.ticket) == [("stopped",)]
        assert (await h.say("discord", "d1", "three")).kind == "refused"
        assert len(model.requests) == 1
        assert await h.rig.rows("SELECT * FROM accounts UNION ALL SELECT *, 1, 1, 1, 1 FROM people") == []

        assert "no other" in await h.ask("telegram", "1", "/unlink")
        await h.join(("telegram", "1"), ("discord", "d1"))
        await h.join(("discord", "d1"), ("discord", "d2"))
        assert await h.ask("discord", "d2", "hi") == "echo: hi"
        assert "stands alone" in await h.ask("telegram", "1", "/unlink")
        assert (await h.say("discord", "d1", "hi")).kind == "refused", "nobody vouches for them any longer"
        assert (await h.say("discord", "d2", "hi")).kind == "refused"


async def test_direct_chats_of_a_person_share_one_conversation(tmp_path: Path) -> None:
    async with house(tmp_path, SHARED) as h:
        await h.ask("telegram", "1", "the word is plum")
        await h.ask("telegram", "2", "somebody else")
        await h.ask("open", "o1", "mine before")
        told = await h.join(("telegram", "1"), ("open", "o1"))
        assert "We go on with the conversation of the account that gave the code" in told
        before = len(h.telegram.sent)
        assert await h.ask("open", "o1", "which word?") == "echo: which word?"
        assert len(h.telegram.sent) == before, "an answer goes where the message came from"
        assert h.asked == ["the word is plum", "echo: the word is plum", "which word?"]
        assert await h.ask("telegram", "1", "again") == "echo: again"
        both = [await h.ask(*who, "/usage") for who in (("telegram", "1"), ("open", "o1"))]
        assert "48 tokens" in both[0], "two calls here, and two there"
        assert both[0] == both[1]
        assert h.asked[-2:] == ["echo: which word?", "again"]

        search = h.rig.core.thinking.host._parts.services.search
        assert search is not None
        [(key,)] = await h.rig.rows("SELECT session_key FROM inbox ORDER BY id DESC LIMIT 1")
        assert {hit.snippet for hit in await search.search("mine before", session_key=key)} == {
            "mine before",
            "echo: mine before",
        }
        assert await search.search("somebody else", session_key=key) == []

        group = {"kind": "group", "chat": "g1", "private_notice": False}
        await h.ask("open", "o1", "in the group", **group)
        assert h.asked == ["[Nameo1] in the group"]
        await h.ask("open", "o1", "unproven", private_notice=False)
        assert h.asked == ["unproven"] or "which word?" not in h.asked

        await h.ask("open", "o1", "/unlink")
        await h.ask("open", "o1", "back")
        assert h.asked == ["mine before", "echo: mine before", "back"] or h.asked[0] == "mine before"
        await h.ask("telegram", "1", "and here")
        assert h.asked[0] == "the word is plum"


def _full_disk(connection: sqlite3.Connection) -> None:
    """The file cannot grow any more, until the writer opens it anew."""
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}").fetchall()


async def test_whose_conversation_goes_on_is_decided_by_what_was_stored(tmp_path: Path) -> None:
    async with house(tmp_path, SHARED) as h:
        people, store = h.rig.core.linking.people, h.rig.core.store
        first, other = (Account("telegram", who, "", None) for who in ("1", "2"))
        await store.write(people.join(first, other, 1.0))
        await store.write(_full_disk)
        with pytest.raises(StoreUnavailable):
            await h.say("telegram", "1", "x" * 20_000)
        await store.wait_healthy()
        await h.ask("telegram", "2", "the first that is stored")
        await h.ask("telegram", "1", "and the second")
        places = dict(await h.rig.rows("SELECT sender, place FROM accounts"))
        assert len(set(places.values())) == 2
        assert await h.rig.rows("SELECT place FROM people") == [(places["2"],)]
        await h.ask("telegram", "2", "/unlink")
        await h.ask("telegram", "1", "it stays")
        assert h.asked[0] == "the first that is stored"

        await h.ask("telegram", "1", "/unlink")
        await h.ask("telegram", "2", "begun anew")
        await h.join(("telegram", "2"), ("open", "o1"))
        await h.ask("open", "o1", "and on")
        assert h.asked[0] == "begun anew", "also of an account that left another before"


async def test_who_began_the_conversation_and_leaves_does_not_take_it_along(tmp_path: Path) -> None:
    async with house(tmp_path, SHARED) as h:
        await h.ask("telegram", "1", "begun here")
        first, other = (Account("telegram", who, "", None) for who in ("1", "2"))
        await h.rig.core.store.write(h.rig.core.linking.people.join(first, other, 1.0))
        await h.ask("telegram", "1", "joined")
        await h.ask("telegram", "2", "a private word")
        assert "own conversation" in await h.ask("telegram", "1", "/unlink")
        await h.ask("telegram", "1", "what did I say?")
        assert h.asked == ["what did I say?"]
        await h.ask("telegram", "2", "and I?")
        assert h.asked[0] == "begun here"
    async with house(tmp_path, SHARED) as h:
        await h.ask("telegram", "1", "still apart")
        assert h.asked[0] == "what did I say?"


async def test_a_code_that_was_stolen_gives_the_thief_nothing_that_stays(tmp_path: Path) -> None:
    async with house(tmp_path, SHARED) as h:
        people, store = h.rig.core.linking.people, h.rig.core.store
        await store.write(people.give_role(("telegram", "1"), "", "owner", 1.0))
        await h.ask("telegram", "1", "the word is plum")
        await h.join(("telegram", "1"), ("telegram", "2"))
        await h.join(("telegram", "1"), ("open", "thief"))
        await h.join(("open", "thief"), ("discord", "second"))
        told = next(text for _, text, _ in h.telegram.sent if "open:thief" in text)
        assert "/unlink" in told
        before = await h.ask("open", "thief", "which word?")
        assert "which word?" in before
        assert h.asked[0] == "the word is plum"

        parted = await h.ask("telegram", "1", "/unlink")
        assert "telegram:2, open:thief, discord:second" in parted
        for instance, who, role in (
            ("telegram", "1", "owner"),
            ("telegram", "2", "member"),
            ("open", "thief", "guest"),
        ):
            assert f"Role: {role}" in await h.ask(instance, who, "/whoami")
        assert (await h.say("discord", "second", "hi")).kind == "refused"
        await h.ask("open", "thief", "and now?")
        assert h.asked == ["and now?"]
        await h.ask("telegram", "1", "and here?")
        assert h.asked[0] == "the word is plum"
        assert "no other" in await h.ask("telegram", "1", "/unlink")
    async with house(tmp_path, SHARED) as h:
        assert "Role: owner" in await h.ask("telegram", "1", "/whoami")
        await h.ask("telegram", "1", "still here")
        assert h.asked[0] == "the word is plum"


async def test_one_turn_at_a_time_across_platforms_in_every_mode(tmp_path: Path) -> None:
    for mode in ("queue", "steer", "collect", "interrupt"):
        gate = asyncio.Event()
        model = ScriptedModel()
        config = SHARED.replace("sessions: {", f"sessions: {{busy: {mode}, ")
        async with house(tmp_path / mode, config, model) as h:
            await h.join(("telegram", "1"), ("open", "o1"))
            model.script = [Answer(tool_calls=(CALL,), gate=gate)]
            await h.say("telegram", "1", "A")
            await until(lambda: h.rig.model.running)
            await h.say("open", "o1", "B")
            await h.say("telegram", "1", "C")
            gate.set()
            await h.rig.quiet()
            assert model.most_running == 1
            assert h.open.sent[-1][1].endswith("B"), mode
            assert h.telegram.sent[-1][1].endswith("C"), mode
            last = "B" if mode == "steer" else "C"  # what comes from the turn's own chat joins it
            assert h.asked[-1].endswith(last), mode


async def test_guests_have_no_file_tools_and_do_not_steer_others(tmp_path: Path) -> None:
    def tools(request: ModelRequest) -> Answer:
        return Answer(" ".join(sorted(t.name for t in request.tools)))

    gate = asyncio.Event()
    model = ScriptedModel(default=tools)
    config = CONFIG.replace("sessions: {", "sessions: {busy: steer, ")
    config = config.replace('allow_from: ["1", "2"]', 'allow_from: ["1", "2", "*"]')
    async with house(tmp_path, config, model) as h:
        assert "write_file" in await h.ask("telegram", "1", "tools?")
        guest = await h.ask("telegram", "9", "tools?")
        assert "session_search" in guest
        assert "file" not in guest
        assert "/model" not in await h.ask("telegram", "9", "/help")
        await h.rig.core.store.write(
            h.rig.core.linking.people.give_role(("telegram", "9"), "", "member", 1.0)
        )
        assert "write_file" in await h.ask("telegram", "9", "tools?")

        thread = {"kind": "group", "chat": "g1", "thread": "t", "private_notice": False}
        thread["reply_to"] = (Target("telegram", "g1", "t"),)
        model.script = [Answer(tool_calls=(CALL,), gate=gate)]
        await h.say("telegram", "1", "A", **thread)
        await until(lambda: model.running)
        await h.say("telegram", "8", "a guest", **thread)
        gate.set()
        await h.rig.quiet()
        hers, his = [text for _, text, _ in h.telegram.sent[-2:]]
        assert "write_file" in hers
        assert "a guest" not in str(model.requests[-2].messages), "his words are no part of her turn"
        assert "file" not in his


async def test_a_code_from_the_terminal_makes_an_owner(tmp_path: Path) -> None:
    async with house(tmp_path, SHARED) as h:
        event = written("telegram", "0", "/link")
        fields: dict[str, Any] = {
            "platform": "terminal",
            "kind": "terminal",
            "admitted": "local",
            "reply_to": (),
        }
        fields |= {"instance": "terminal", "chat": "main", "private_notice": False}
        terminal = Event(**{**{n: getattr(event, n) for n in Event.__slots__}, **fields})
        verdict = await h.rig.core.intake("telegram").take([terminal])
        async for update in h.rig.core.intake("telegram").follow(str(verdict[0].ticket)):
            if isinstance(update, TurnEnded):
                code = update.text.split("code: ")[1].split()[0]
        await h.ask("discord", "d1", f"/link {code}")
        assert "Role: owner" in await h.ask("discord", "d1", "/whoami")
        assert "other way round" in await h.join(("telegram", "1"), ("discord", "d1"))


@pytest.mark.parametrize("mode", ["queue", "collect", "steer"])
async def test_who_is_put_out_hears_nothing_more_of_the_conversation_though_his_message_waits(
    tmp_path: Path, mode: str
) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(
        [Answer("noted"), Answer("a long story", gate=gate), Answer("what?"), Answer("words")]
    )
    config = SHARED.replace("sessions: {", f"sessions: {{busy: {mode}, ")
    async with house(tmp_path / "home", config, model) as h:
        await h.ask("telegram", "1", "the secret word is plum")
        await h.join(("telegram", "1"), ("open", "6"))
        await h.say("open", "6", "write me a long story")
        await until(lambda: len(model.requests) == 2)
        await h.say("open", "6", "repeat all that was said")
        before = len(h.telegram.sent)
        await h.say("telegram", "1", "/unlink")
        await until(lambda: len(h.telegram.sent) > before)  # it waits for nobody's turn
        gate.set()
        await h.rig.quiet()
        assert [said for _, said, _ in h.open.sent[-2:]] == ["a long story", "what?"]
        assert h.asked == ["repeat all that was said"]
        assert "words" in await h.ask("telegram", "1", "what did I say?")
        assert not any("repeat" in text for text in h.asked)
        assert any("plum" in text for text in h.asked)
        keys = await h.rig.rows("SELECT DISTINCT session_key FROM inbox WHERE event LIKE '%repeat all%'")
        assert keys != await h.rig.rows(
            "SELECT DISTINCT session_key FROM inbox WHERE event LIKE '%what did I%'"
        )
