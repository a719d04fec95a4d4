"""Reading mail on bad days: servers that fall silent, refuse, answer oddly, are rebuilt or very full."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest
from aiohttp import web

from adapters.email.adapter import Email
from hermes.errors import Unauthorized
from hermes.events import Unparsable
from hermes.testing import FakeClock
from tests.integration.mail_desk import Watcher, mail, make_adapter, running, scripted_settings
from tests.integration.telegram_desk import pass_time
from tests.peers.mail import ScriptedImap
from tests.peers.serving import LoopbackServer


@pytest.fixture
async def imap() -> AsyncIterator[ScriptedImap]:
    server = ScriptedImap()
    await server.start()
    yield server
    await server.stop()


def adapter(server: ScriptedImap, clock: FakeClock | None = None, **keys: Any) -> Email:
    return make_adapter(scripted_settings(server, **keys), clock)


def stored(desk: Watcher) -> dict[str, int]:
    (text,) = desk.watermarks.values()
    found: dict[str, int] = json.loads(text)
    return found


async def test_EM_19_waiting_is_renewed_before_servers_give_up(imap: ScriptedImap) -> None:
    clock, desk = FakeClock(), Watcher()
    async with running(adapter(imap, clock, idle_renew="28m"), desk):
        await imap.wait_for(lambda: len(imap.asked("IDLE")) == 1)
        for renewed in range(1, 5):  # nearly two hours
            assert max(clock.due) <= 29 * 60
            await clock.advance(28 * 60)
            await imap.wait_for(lambda done=renewed: len(imap.asked("IDLE")) == done + 1)  # type: ignore[misc]
        assert len(imap.asked("DONE")) == 4
        imap.add(1, mail("after long silence"))
        await desk.until(lambda: len(desk.events) == 1)
    assert imap.logins == 1


async def test_EM_20_a_goodbye_in_answer_to_idle_leads_to_a_new_connection(imap: ScriptedImap) -> None:
    clock, desk = FakeClock(), Watcher()
    imap.idle = "bye"
    async with running(adapter(imap, clock), desk):
        await desk.until_state("connecting")
        await desk.until(lambda: any("timeout" in str(reason) for _, reason in desk.states))
        imap.add(1, mail("meanwhile"), tell=False)
        await pass_time(clock, 60, lambda: bool(desk.events))
        await desk.until_state("connected")
    assert [e.text.splitlines()[-1] for e in desk.events] == ["meanwhile"]
    assert (imap.logins, desk.duplicates) == (2, 0)


async def test_EM_20_a_refused_idle_leads_to_a_new_connection(imap: ScriptedImap) -> None:
    clock, desk = FakeClock(), Watcher()
    imap.idle = "no"
    async with running(adapter(imap, clock), desk):
        await desk.until(lambda: any("not today" in str(reason) for _, reason in desk.states))
        imap.idle = "quiet"
        await pass_time(clock, 60, lambda: imap.logins == 2)


async def test_EM_20_a_server_without_idle_is_asked_every_minute(imap: ScriptedImap) -> None:
    clock, desk = FakeClock(), Watcher()
    imap.capabilities = "IMAP4rev1"
    async with running(adapter(imap, clock), desk):
        await desk.until_state("connected")
        imap.add(1, mail("looked for"))
        assert await pass_time(clock, 70, lambda: bool(desk.events)) <= 61
        beats = desk.beats
        await pass_time(clock, 200, lambda: desk.beats > beats + 1)
    assert imap.asked("IDLE") == []


async def test_EM_23_a_fetch_without_a_mail_is_asked_again(imap: ScriptedImap) -> None:
    desk = Watcher()
    imap.fetch = "no literal once"
    imap.add(1, mail("twice asked"))
    async with running(adapter(imap, first_start="all"), desk):
        await desk.until(lambda: len(desk.events) == 1)
    asked = imap.asked("UID FETCH 1 ")
    assert [a for a in asked if "BODY" in a] == ["UID FETCH 1 (UID BODY.PEEK[])"] * 2


@pytest.mark.parametrize("shape", ["flags inside", "uid behind"])
async def test_EM_23_odd_answers_to_fetch_lose_no_mail(imap: ScriptedImap, shape: str) -> None:
    desk = Watcher()
    imap.fetch = shape  # type: ignore[assignment]
    imap.add(1, mail("odd"))
    imap.add(2, mail("odd too"))
    async with running(adapter(imap, first_start="all"), desk):
        await desk.until(lambda: len(desk.events) == 2)
    assert desk.duplicates == 0
    assert stored(desk)["uid"] == 2


@pytest.mark.parametrize("shape", ["no literal", "refused"])
async def test_EM_23_a_mail_that_the_server_never_gives_is_put_aside(
    imap: ScriptedImap, shape: Literal["no literal", "refused"]
) -> None:
    clock, desk = FakeClock(), Watcher()
    imap.fetch = shape
    imap.add(1, mail("never given"))
    async with running(adapter(imap, clock, first_start="all"), desk):
        await pass_time(clock, 600, lambda: bool(desk.unparsable))
        imap.fetch = "plain"
        imap.add(2, mail("the next"))
        await pass_time(clock, 600, lambda: bool(desk.events))
    assert [type(u) for u in desk.unparsable] == [Unparsable]
    assert imap.logins == 7
    assert any(c.endswith("<0.262144>)") for c in imap.asked("UID FETCH 1 "))


async def test_EM_24_a_mail_is_marked_as_read_after_it_was_stored_and_fetched_without_marking(
    imap: ScriptedImap,
) -> None:
    clock, desk = FakeClock(), Watcher(is_full=True)
    imap.add(1, mail("kept"))
    imap.add(2, mail("left alone", Auto_Submitted="auto-replied"))
    async with running(adapter(imap, clock, first_start="all"), desk):
        await pass_time(clock, 60, lambda: desk.refusals >= 2)
        assert imap.asked("UID STORE") == []
        desk.is_full = False
        await pass_time(clock, 60, lambda: bool(desk.events))
        await imap.wait_for(lambda: bool(imap.asked("UID STORE")))
    assert imap.asked("UID STORE") == ["UID STORE 1 +FLAGS.SILENT (\\Seen \\Answered)"]
    assert all("PEEK" in c for c in imap.asked("UID FETCH") if "BODY" in c)


async def test_EM_25_a_full_mailbox_is_not_listed(imap: ScriptedImap) -> None:
    desk = Watcher()
    imap.mails = [(150_000, mail("the last of many"))]
    imap.uid_next = 150_001
    async with running(adapter(imap), desk):
        await desk.until_state("connected")
        assert stored(desk)["uid"] == 150_000
        imap.add(150_001, mail("new"))
        await desk.until(lambda: len(desk.events) == 1)
    assert desk.events[0].text.endswith("new")
    assert all(c.startswith("UID SEARCH UID 15000") for c in imap.asked("UID SEARCH"))


async def test_EM_26_many_mails_come_in_bounded_batches_and_of_a_huge_one_only_its_beginning(
    imap: ScriptedImap,
) -> None:
    desk = Watcher()
    for uid in range(1, 301):
        imap.mails.append((uid, mail(f"number {uid}", From=f"p{uid}@far.test")))
    async with running(adapter(imap, first_start="all"), desk):
        await desk.until(lambda: len(desk.events) == 300)
        imap.size = 60_000_000
        imap.add(301, mail("the text of a huge one" + "\n" * 300_000))
        await desk.until(lambda: len(desk.events) == 301)
    assert [e.sender.id for e in desk.events[:300]] == [f"p{n}@far.test" for n in range(1, 301)]
    described = [c for c in imap.asked("UID FETCH") if "SIZE" in c]
    assert max(c.count(",") + 1 for c in described) == 20
    assert "60 MB" in desk.events[300].text
    bodies = [c for c in imap.asked("UID FETCH 301 ") if "BODY" in c and "MIME" not in c]
    assert bodies == ["UID FETCH 301 (UID BODY.PEEK[]<0.262144>)"]


async def test_EM_21_after_a_rebuild_new_mails_are_taken_and_old_ones_are_not(imap: ScriptedImap) -> None:
    desk = Watcher()
    known = mail("handled before", Message_ID="<old@far.test>")
    imap.mails = [(50, known)]
    async with running(adapter(imap, first_start="all"), desk):
        await desk.until(lambda: len(desk.events) == 1)
    name, text = next(iter(desk.watermarks.items()))
    now = 1_796_119_200.0  # when the scripted server got its mails: 1 Dec 2026, 10:00
    desk.watermarks[name] = json.dumps({**json.loads(text), "at": now + 60})
    imap.validity = 200
    imap.mails = [(1, known), (2, mail("new"))]
    async with running(adapter(imap), desk):
        await desk.until(lambda: len(desk.events) == 2)
        await desk.until(lambda: stored(desk)["uid"] == 2)
    assert desk.duplicates == 1
    assert (stored(desk)["validity"], "old" in stored(desk)) == (200, False)

    # all that is older than the last commit is skipped, even when the process ends in between
    desk.watermarks[name] = json.dumps({"validity": 200, "uid": 2, "at": now + 86_400})
    imap.validity = 300
    imap.mails = [(1, mail("old one")), (2, mail("old two"))]
    async with running(adapter(imap), desk):
        await desk.until(lambda: stored(desk)["validity"] == 300)
        imap.add(3, mail("and a new one"))
        await asyncio.sleep(0)
    assert len(desk.events) == 2


async def test_what_came_one_by_one_in_an_absence_is_answered_and_what_came_at_once_is_a_loop(
    imap: ScriptedImap,
) -> None:
    imap.mails = [
        (n, mail(f"mail {n}", Message_ID=f"<{n}@far.test>", In_Reply_To="<a@far.test>")) for n in range(1, 31)
    ]
    for apart, taken in ((True, 30), (False, 20)):
        desk = Watcher()
        imap.hours_apart = apart
        async with running(adapter(imap, first_start="all"), desk):
            await desk.until(lambda: bool(desk.watermarks) and stored(desk)["uid"] == 30)  # noqa: B023
        assert len(desk.events) == taken


async def test_EM_20_a_dead_connection_is_noticed_when_waiting_is_renewed(imap: ScriptedImap) -> None:
    clock, desk = FakeClock(), Watcher()
    settings = scripted_settings(imap)
    settings["imap"]["timeout"] = 1
    async with running(make_adapter(settings, clock), desk):
        await imap.wait_for(lambda: len(imap.asked("IDLE")) == 1)
        imap.deaf = True
        await clock.advance(300)
        await desk.until_state("connecting")
        imap.deaf = False
        await pass_time(clock, 60, lambda: imap.logins == 2)


async def test_a_refused_login_ends_it_with_words_that_help(imap: ScriptedImap) -> None:
    desk = Watcher()
    wrong = adapter(imap, password="wrong")
    with pytest.raises(Unauthorized, match="app password"):
        await wrong.run(desk)
    await wrong.aclose()
    imap.capabilities = "IMAP4rev1 LOGINDISABLED"
    plain = adapter(imap)
    with pytest.raises(Unauthorized, match="encryption"):
        await plain.run(desk)
    await plain.aclose()


async def test_a_login_that_held_is_tried_again_before_it_counts_as_refused(imap: ScriptedImap) -> None:
    clock, desk = FakeClock(), Watcher()
    email = adapter(imap, clock)
    async with running(email, desk) as task:
        await imap.wait_for(lambda: len(imap.asked("IDLE")) == 1)
        imap.password = "another"
        imap.cut()
        await pass_time(clock, 600, task.done)
    assert imap.logins == 1 + 6
    assert isinstance(task.exception(), Unauthorized)


async def test_a_server_that_repeats_what_it_has_is_not_asked_without_end(imap: ScriptedImap) -> None:
    desk = Watcher()
    imap.repeats = True
    imap.add(1, mail("one"))
    async with running(adapter(imap, first_start="all"), desk):
        await imap.wait_for(lambda: len(imap.asked("IDLE")) == 1)
        imap.add(2, mail("two"))
        await desk.until(lambda: len(desk.events) == 2)
        await imap.wait_for(lambda: len(imap.asked("IDLE")) == 2)
    assert len(imap.asked("UID SEARCH")) <= 6


async def test_thousands_of_removed_mails_are_heard_without_losing_the_connection(imap: ScriptedImap) -> None:
    desk = Watcher()
    imap.mails = [(uid, b"old") for uid in range(1, 5001)]
    async with running(adapter(imap), desk):
        await imap.wait_for(lambda: len(imap.asked("IDLE")) == 1)
        imap.mails = imap.mails[-1:]
        imap.say("* 1 EXPUNGE\r\n" * 4999)
        imap.add(5001, mail("still heard"))
        await desk.until(lambda: len(desk.events) == 1)
    assert imap.logins == 1


async def test_a_server_that_greets_with_goodbye_is_tried_again(imap: ScriptedImap) -> None:
    clock, desk = FakeClock(), Watcher()
    imap.greeting = "* BYE too many connections"
    async with running(adapter(imap, clock), desk):
        await desk.until(lambda: any("too many" in str(reason) for _, reason in desk.states))
        imap.greeting = "* OK hello"
        await pass_time(clock, 60, lambda: imap.logins == 1)
        await desk.until_state("connected")


async def test_tokens_log_in_and_are_renewed_when_they_are_refused(imap: ScriptedImap) -> None:
    asked: list[dict[str, str]] = []
    tokens = ["stale", "a-token"]

    async def grant(request: web.Request) -> web.Response:
        asked.append({k: str(v) for k, v in (await request.post()).items()})
        return web.json_response({"access_token": tokens.pop(0), "expires_in": 3600})

    app = web.Application()
    app.router.add_post("/token", grant)
    server = LoopbackServer(app)
    await server.start()
    oauth = {"token_url": f"{server.base}/token", "client_id": "c", "refresh_token": "r"}
    keys: dict[str, Any] = {"auth": "xoauth2", "password": None, "oauth": oauth}
    try:
        desk = Watcher()
        first = adapter(imap, **keys)
        with pytest.raises(Unauthorized):
            await first.run(desk)
        async with running(first, desk):
            await desk.until_state("connected")
    finally:
        await server.stop()
    assert asked == [{"grant_type": "refresh_token", "client_id": "c", "refresh_token": "r"}] * 2

    desk = Watcher()
    command: dict[str, Any] = {"auth": "xoauth2", "password": None, "oauth": {"command": "echo a-token"}}
    async with running(adapter(imap, **command), desk):
        await desk.until_state("connected")
