"""The e-mail adapter against a real Dovecot and a real SMTP server: a mail in, an answer out, and bad days between."""

import asyncio
import time

import pytest

from hermes.events import Target
from tests.integration.mail_desk import Post, Watcher, mail, running
from tests.peers.mail import Dovecot, SmtpPeer


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
