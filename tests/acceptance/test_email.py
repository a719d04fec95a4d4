"""Conversations by mail through the installed daemon, with a real Dovecot and a real SMTP server."""

import asyncio
import json
import uuid
from email.message import EmailMessage

from tests.acceptance.house import House, eventually
from tests.integration.mail_desk import Post, mail
from tests.peers.mail import Dovecot, SmtpPeer

ALICE = f"alice{uuid.uuid4().hex[:8]}@test.local"


def settle(house: House, dovecot: Dovecot, smtp: SmtpPeer) -> Post:
    """A house with a mailbox alone, for Alice; what it sends to test.local arrives there."""
    post = Post.open(dovecot, smtp)
    smtp.relay = dovecot.deliver
    keys = {"allow_from": [ALICE], "authserv_id": "mx.test.local"}
    email = {k: v for k, v in post.settings(**keys).items() if k != "type"}
    house.config["platforms"] = {"email": email}
    house.write()
    return post


def from_alice(text: str, **headers: str) -> bytes:
    """A mail of Alice's as her server hands it on: found genuine."""
    found = "mx.test.local; dmarc=pass header.from=test.local"
    return mail(text, **{"Authentication_Results": found, "From": f"Alice <{ALICE}>", **headers})


async def inbox(dovecot: Dovecot, user: str, count: int) -> list[EmailMessage]:
    """A mailbox as another client sees it, once it holds so many mails."""

    def look() -> list[EmailMessage]:
        box = dovecot.inbox(user)
        try:
            found = box.mails()
        finally:
            box.close()
        return found if len(found) >= count else []

    async def found() -> list[EmailMessage]:
        return await asyncio.to_thread(look)

    mails: list[EmailMessage] = await eventually(found)
    return mails


async def test_a_thread_over_two_lives_and_what_is_not_answered(
    house: House, dovecot: Dovecot, smtp_peer: SmtpPeer
) -> None:
    post = settle(house, dovecot, smtp_peer)
    await post.deliver(mail("from before the first start"))
    await house.start()
    await house.platform("email", "connected")

    await post.deliver(from_alice("first", Message_ID="<a1@test.local>", Subject="Plan"))
    (answer,) = await inbox(dovecot, ALICE, 1)
    assert answer["Subject"] == "Re: Plan"
    assert answer["In-Reply-To"] == "<a1@test.local>"
    assert answer["Auto-Submitted"] == "auto-replied"
    body = answer.get_body(("plain",))
    assert body is not None
    assert "first" in body.get_content()
    own = str(answer["Message-ID"]).strip("<>")

    # machines are left alone, and so are strangers and whoever only says that he is Alice
    for headers in (
        {"Auto_Submitted": "auto-replied"},
        {"Authentication_Results": "mx.test.local; dmarc=fail header.from=test.local"},
        {"Authentication_Results": "mx.evil.test; dmarc=pass header.from=test.local"},
        {"Authentication_Results": ""},
        {"List_Id": "<dev.lists.test>"},
        {"From": "no-reply@far.test"},
        {"From": post.address},
        {"From": "MAILER-DAEMON@far.test", "Content_Type": "multipart/report; report-type=delivery-status"},
    ):
        await post.deliver(from_alice("never answered", **headers))

    # the answer to the answer is the same conversation, while it was away
    await house.stop()
    await post.deliver(
        from_alice(
            f"second\n\nOn Monday Bot <{post.address}> wrote:\n> echo",
            Subject="Re: Plan",
            In_Reply_To=f"<{own}>",
            References=f"<a1@test.local> <{own}>",
            Message_ID="<a2@test.local>",
        )
    )
    await house.start()
    _, again = await inbox(dovecot, ALICE, 2)
    assert again["References"] == f"<a1@test.local> <{own}> <a2@test.local>"
    assert [m["role"] for m in house.asked()][-3:] == ["user", "assistant", "user"]
    assert "wrote:" not in str(house.asked()[-1])
    assert "untrusted" not in str(house.asked()[-1])

    # the same mail once more is the same mail
    await post.deliver(from_alice("third", Subject="Other", Message_ID="<a3@test.local>"))
    await inbox(dovecot, ALICE, 3)
    await post.deliver(from_alice("third", Subject="Other", Message_ID="<a3@test.local>"))
    # a file alone is a message, and the model reads what stands in it
    file = {"Subject": "", "Content_Type": "text/plain; name=list.txt"}
    await post.deliver(from_alice("eggs and flour", Content_Disposition="attachment", **file))
    mails = await inbox(dovecot, ALICE, 4)
    assert "eggs and flour" in str(house.asked()[-1])
    assert "list.txt" in str(house.asked()[-1])
    await house.stop()
    assert len(mails) == len(smtp_peer.sent) == 4
    assert {m.recipients for m in smtp_peer.sent} == {(ALICE,)}
    assert house.rows("SELECT count(*) FROM sessions") == [(3,)]


async def test_a_mailbox_is_added_and_refused(house: House, dovecot: Dovecot, smtp_peer: SmtpPeer) -> None:
    post = Post.open(dovecot, smtp_peer)
    house.config["platforms"] = {}
    house.write()
    words = (
        *("gateway", "add", "email", "--address", post.address, "--ca-file", str(dovecot.cert)),
        *("--imap", f"localhost:{dovecot.imaps}", "--smtp", f"localhost:{smtp_peer.port}", "--password", "-"),
    )
    wrong = await house.hermes(*words, "--allow", "*", stdin="wrong")
    assert wrong.code == 1
    assert "app password" in wrong.err
    unsafe = await house.hermes(*words, "--allow", "ana@far.test", stdin="pw")
    assert unsafe.code == 78
    assert "authserv_id" in unsafe.err
    assert "email" not in (house.home / "config.yaml").read_text()
    done = await house.hermes(*words, "--allow", "*", "--json", stdin="pw")
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert (said["account"], said["variables"]) == (post.address, ["EMAIL_PASSWORD"])
    assert "pw" not in (house.home / "config.yaml").read_text().split()
    await house.start()
    await house.platform("email", "connected")
    await post.deliver(mail("hello"))
    assert "hello" in (await smtp_peer.wait_mail("hello")).text

    # what answers nothing begins a conversation, and the answer to it finds back
    told = await house.hermes("send", "--to", f"email:{ALICE}", "Your **report** is ready.")
    assert told.code == 0, told.err
    begun = (await smtp_peer.wait_mail("report is ready")).mail
    assert (begun["To"], begun["Subject"]) == (ALICE, "Your report is ready.")
    assert begun["Auto-Submitted"] == "auto-generated"
    await post.deliver(mail("thanks", From=ALICE, Subject="Re: x", In_Reply_To=str(begun["Message-ID"])))
    thanks = (await smtp_peer.wait_mail("thanks")).mail
    mark = str(begun["Message-ID"]).split(".")[2].partition("@")[0]
    assert mark in str(thanks["Message-ID"])

    # words and all files are one mail
    (house.home / "a.csv").write_bytes(b"a,b\n")
    (house.home / "b.bin").write_bytes(bytes(range(256)) * 1000)
    files = ("--file", str(house.home / "a.csv"), "--file", str(house.home / "b.bin"))
    told = await house.hermes("send", "--to", f"email:{ALICE}", *files, "The figures.")
    assert told.code == 0, told.err
    figures = await smtp_peer.wait_mail("The figures.")
    assert [(name, len(data)) for name, _, data in figures.files] == [("a.csv", 4), ("b.bin", 256_000)]

    # a password that is refused stops this platform alone, and says what to do
    await house.stop()
    (house.home / ".env").write_text("EMAIL_PASSWORD=wrong\n")
    await house.start()
    failed = await house.platform("email", "failed")
    assert failed["reason"] == "unauthorized"
    assert "app password" in house.daemon.stderr
    await house.stop()
