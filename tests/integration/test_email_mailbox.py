"""The e-mail adapter against a real Dovecot and a real SMTP server: a mail in, an answer out, and bad days between."""

import asyncio
import time

import pytest
from aiohttp import web

from hermes.errors import Unauthorized
from hermes.events import Target
from hermes.testing import FakeClock
from tests.integration.mail_desk import Post, Watcher, mail, running
from tests.integration.telegram_desk import pass_time
from tests.peers.chaos import CLEAR, ChaosProxy, Weather
from tests.peers.mail import Dovecot, SmtpPeer
from tests.peers.serving import LoopbackServer


@pytest.fixture
def post(dovecot: Dovecot, smtp_peer: SmtpPeer) -> Post:
    return Post.open(dovecot, smtp_peer)


async def test_a_mail_comes_in_and_its_answer_goes_out_in_its_thread(post: Post) -> None:
    desk = Watcher()
    adapter = post.adapter()
    await post.deliver(mail("from before"))
    async with running(adapter, desk):
        await desk.until_state("connected")
        began = time.monotonic()
        await post.deliver(mail("Can you see this? ✓", Message_ID="<m1@far.test>"))
        await desk.until(lambda: len(desk.events) == 1)
        assert time.monotonic() - began < 10
        (event,) = desk.events
        assert event.text == "Subject: a question\n\nCan you see this? ✓"
        assert (event.chat, event.sender.id, event.sender.name) == ("ana@far.test", "ana@far.test", "Ana")
        (target,) = event.reply_to
        (piece,) = adapter.render("Yes, **clearly**.", target)
        receipt = await adapter.send(Target("email", target.chat, target.thread), piece, key="k1")
        await post.smtp.wait_for(lambda: len(post.smtp.sent) == 1)
        sent = post.smtp.sent[0]
        assert (sent.sender, sent.recipients) == (post.address, ("ana@far.test",))
        assert sent.mail["Subject"] == "Re: a question"
        assert sent.mail["In-Reply-To"] == "<m1@far.test>"
        assert sent.mail["References"] == "<m1@far.test>"
        assert sent.mail["Message-ID"] == f"<{receipt.message_id}>"
        assert sent.mail["Auto-Submitted"] == "auto-replied"
        assert sent.text == "Yes, clearly."
        assert "<strong>clearly</strong>" in sent.html

        # the answer to the answer is in the same conversation, and says only what is new
        await post.deliver(
            mail(
                f"And now?\n\nOn Mon, Bot <{post.address}> wrote:\n> Yes, clearly.",
                Subject="Re: a question",
                In_Reply_To=f"<{receipt.message_id}>",
            )
        )
        await desk.until(lambda: len(desk.events) == 2)
        assert desk.events[1].text == "And now?"
        assert desk.events[1].thread == event.thread
    box = await asyncio.to_thread(post.dovecot.inbox, post.address)
    assert await asyncio.to_thread(box.unseen) == 1  # what came before the first start
    filed = await asyncio.to_thread(box.mails, "Sent")
    await asyncio.to_thread(box.close)
    assert [m["Message-ID"] for m in filed] == [f"<{receipt.message_id}>"]


async def test_mails_of_a_thread_keep_their_order_though_the_first_is_big_slow_and_cut_by_a_kill(
    post: Post,
) -> None:
    parts = "--b\nContent-Type: text/plain\n\nfirst\n--b\nContent-Type: application/x-big\n"
    parts += "Content-Transfer-Encoding: base64\n\n" + f"{'QUJD' * 19}\n" * 40_000 + "--b--"
    await post.deliver(mail(parts, Message_ID="<o1@far.test>", Content_Type="multipart/mixed; boundary=b"))
    thread = {"In_Reply_To": "<o1@far.test>", "Subject": "Re: a question"}
    await post.deliver(mail("second", Message_ID="<o2@far.test>", **thread))
    await post.deliver(mail("third", Message_ID="<o3@far.test>", **thread))
    async with ChaosProxy(post.dovecot.imaps) as road:
        where = {**post.settings()["imap"], "port": road.port}
        desk = Watcher()
        road.turn(Weather(cut_after=1_000_000))
        async with running(post.adapter(imap=where, first_start="all"), desk):
            await desk.until(lambda: any(state == "connecting" and why for state, why in desk.states))
            assert desk.events == []  # nobody overtakes what is on its way
        road.turn(Weather(rate=10_000_000))
        async with running(post.adapter(imap=where, first_start="all"), desk):
            await desk.until(lambda: len(desk.events) == 3)
        road.turn(CLEAR)
    assert [event.text.rpartition("\n")[2] for event in desk.events] == ["first", "second", "third"]
    assert len({event.thread for event in desk.events}) == 1
    assert desk.events[0].attachments


async def test_after_the_home_came_back_from_a_backup_nobody_is_answered_twice(post: Post) -> None:
    desk = Watcher()
    async with running(post.adapter(), desk):
        await desk.until_state("connected")
        backup = dict(desk.watermarks)
        await post.deliver(mail("answered after the backup"))
        await desk.until(lambda: len(desk.events) == 1)
        await post.deliver(mail("a machine's", Auto_Submitted="auto-replied"))
        await desk.until(lambda: len(desk.ignored) == 1)
    restored = Watcher(watermarks=backup)
    async with running(post.adapter(), restored):
        await post.deliver(mail("new"))
        await restored.until(lambda: len(restored.events) == 1)
    assert restored.events[0].text.endswith("new")
    assert restored.ignored == ["answered already", "automatic mail"]


async def test_a_server_is_asked_again_and_again_where_that_is_wished(post: Post) -> None:
    clock, desk = FakeClock(), Watcher()
    async with running(post.adapter(clock, poll_every="5s", sent_folder="off"), desk):
        await desk.until_state("connected")
        for number in (1, 2):
            await post.deliver(mail(f"looked for {number}"))
            assert await pass_time(clock, 60, lambda done=number: len(desk.events) == done) <= 6  # type: ignore[misc]
    assert [e.text.splitlines()[-1] for e in desk.events] == ["looked for 1", "looked for 2"]


async def test_a_real_server_lets_in_by_token_and_a_stale_one_is_renewed(
    dovecot: Dovecot, post: Post
) -> None:
    known: list[str] = []
    granted = ["stale", "good", "good"]

    async def look(request: web.Request) -> web.Response:
        known.append(request.query["token"])
        if request.query["token"] != "good":
            return web.json_response({"error": "invalid_token"}, status=401)
        return web.json_response({"email": post.address, "active": True})

    async def grant(_: web.Request) -> web.Response:
        return web.json_response({"access_token": granted.pop(0), "expires_in": 3600})

    app = web.Application()
    app.router.add_get("/tokeninfo", look)
    app.router.add_post("/token", grant)
    server = LoopbackServer(app, dovecot.tokens)
    await server.start()
    oauth = {"token_url": f"{server.base}/token", "client_id": "c", "refresh_token": "r"}
    adapter = post.adapter(first_start="all", sent_folder="off", auth="xoauth2", password=None, oauth=oauth)
    try:
        desk = Watcher()
        with pytest.raises(Unauthorized):
            await adapter.run(desk)
        async with running(adapter, desk):
            await post.deliver(mail("by token"))
            await desk.until(lambda: len(desk.events) == 1)
    finally:
        await server.stop()
    assert (known[0], known[-1]) == ("stale", "good")
