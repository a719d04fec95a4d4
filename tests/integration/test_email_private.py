"""What is meant for one person goes to nobody else: through real mail servers, with `reply_all`."""

from pathlib import Path

from tests.gatewayrig import Rig, rig
from tests.integration.mail_desk import Post, mail, running
from tests.peers.mail import Dovecot, SentMail, SmtpPeer

CONFIG = """
platforms:
  email: {type: telegram, rate: "off"}
gateway:
  limits: {rate: "off"}
"""
EVE = "eve@far.test"
OTHERS = ("carl@far.test", "dora@far.test")


def from_eve(post: Post, text: str, others: bool = False, **headers: str) -> bytes:
    """A genuine mail of hers, to the bot alone or to two others as well."""
    to = {"To": f"{post.address}, {OTHERS[0]}", "Cc": OTHERS[1]} if others else {"To": post.address}
    found = "mx.test.local; dmarc=pass header.from=far.test"
    return mail(text, From=f"Eve <{EVE}>", Authentication_Results=found, **to, **headers)


async def admit(g: Rig, told: SentMail) -> None:
    """The owner types the pairing code that a mail holds."""
    code = told.text.split("owner: ")[1].split()[0]
    _, job = g.core.pairings.approve(code, g.core.pairings.listed()[0].asked_at + 1)
    await g.core.store.write(job)


async def test_codes_go_to_the_sender_alone_though_everybody_is_answered(
    tmp_path: Path, dovecot: Dovecot, smtp_peer: SmtpPeer
) -> None:
    post = Post.open(dovecot, smtp_peer)
    adapter = post.adapter(
        authserv_id="mx.test.local", reply_all=True, allow_from=None, first_start="all", sent_folder="off"
    )
    async with (
        rig(tmp_path / "home", config=CONFIG, platform=adapter, instance="email") as g,
        running(adapter, g.core.intake("email")),
    ):
        await post.deliver(from_eve(post, "a stranger, to all", others=True))
        await post.deliver(from_eve(post, "a stranger, to another address", Reply_To=OTHERS[0]))
        await post.deliver(from_eve(post, "a stranger, alone"))
        pairing = await post.smtp.wait_mail("my owner")
        assert [m.recipients for m in post.smtp.sent] == [(EVE,)]
        await admit(g, pairing)

        await post.deliver(from_eve(post, "what now?", others=True))
        assert (await post.smtp.wait_mail("echo")).recipients == (EVE, *OTHERS)
        await post.deliver(from_eve(post, "/link", others=True))
        assert (await post.smtp.wait_mail("directly")).recipients == (EVE, *OTHERS)
        await post.deliver(from_eve(post, "/link", Reply_To=OTHERS[0]))
        await post.smtp.wait_for(lambda: post.smtp.sent[-1].recipients == (OTHERS[0],))
        assert "directly" in post.smtp.sent[-1].text
        assert await g.rows("SELECT 1 FROM link_codes") == []
        await post.deliver(from_eve(post, "/link"))
        given = await post.smtp.wait_mail("code: ")
        assert given.recipients == (EVE,)

        # and one that others have read joins nothing any more
        code = given.text.split("code: ")[1].split()[0]
        await post.deliver(from_eve(post, f"/link {code}", others=True, Subject="shown"))
        await post.smtp.wait_for(lambda: post.smtp.sent[-1].mail["Subject"] == "Re: shown")
        assert await g.rows("SELECT 1 FROM link_codes") == []
