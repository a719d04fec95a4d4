"""Who may speak is asked before a mail is read: of a stranger's only the beginning is, of a machine's and a loop's nothing."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.events import Role
from tests.gatewayrig import Rig, rig
from tests.integration.mail_desk import Post, Watcher, mail, make_adapter, running, scripted_settings
from tests.peers.mail import Dovecot, ScriptedImap, SmtpPeer

CONFIG = """
platforms:
  email: {type: telegram, rate: "off"}
gateway:
  limits: {rate: "off"}
"""
EVE, JO = "eve@far.test", "jo@far.test"
FILE = "--b\nContent-Type: application/x-big\nContent-Disposition: attachment\n\n" + "a line\n" * 60_000
TEXT = "--b\nContent-Type: text/plain\n\n"


@pytest.fixture
async def imap() -> AsyncIterator[ScriptedImap]:
    server = ScriptedImap()
    await server.start()
    yield server
    await server.stop()


def long_mail(text: str, **headers: str) -> bytes:
    """A mail of half a megabyte, whose last words stand behind a file."""
    whole = f"{TEXT}{text}\n{FILE}{TEXT}the end\n--b--"
    return mail(whole, Content_Type="multipart/mixed; boundary=b", **headers)


def fetched(server: ScriptedImap, uid: int) -> list[str]:
    """What was asked for of a mail's content."""
    return re.findall(rf"UID FETCH {uid} \(UID BODY\.PEEK(\S+)\)", "\n".join(server.commands))


async def test_only_mails_of_people_who_may_speak_are_read_whole(imap: ScriptedImap) -> None:
    desk = Watcher(roles={EVE: None})
    imap.add(1, long_mail("hello", From=EVE))
    imap.add(2, long_mail("hello", From=EVE, Auto_Submitted="auto-replied"))
    imap.add(3, long_mail("hello", From="ana@far.test"))
    imap.add(4, long_mail("hello", From="ana@far.test"))
    imap.add(5, mail("/link CODE", From=EVE))
    adapter = make_adapter(scripted_settings(imap, first_start="all", sender_rate="1/h"))
    async with running(adapter, desk):
        await desk.until(lambda: len(desk.events) + len(desk.ignored) == 5)
    assert [fetched(imap, uid) for uid in (1, 2, 3, 4, 5)] == [["[]"]] * 5
    assert desk.ignored == ["automatic mail", "too many mails in one hour", "too many mails in one hour"]
    stranger, ana = desk.events
    assert "the end" not in stranger.text
    assert "hello\n\nthe end" in ana.text


@pytest.mark.parametrize(
    ("role", "allowed", "stopped"),
    [("guest", ["*"], 1), (None, None, 1), (None, ["p0@house.test"], 0)],
)
async def test_guests_and_strangers_of_one_domain_are_bounded_together_and_members_are_not(
    imap: ScriptedImap, role: Role | None, allowed: list[str] | None, stopped: int
) -> None:
    desk = Watcher(roles={f"case-{n}@machine.test": role for n in range(4)})
    for n in range(4):
        imap.add(n + 1, mail("received", From=f"case-{n}@machine.test"))
        imap.add(n + 11, mail("hello", From=f"p{n}@house.test"))
    keys = {"first_start": "all", "domain_rate": "3/h", "allow_from": allowed, "trust_from": True}
    adapter = make_adapter(scripted_settings(imap, **keys))
    async with running(adapter, desk):
        await desk.until(lambda: len(desk.events) + len(desk.ignored) == 8)
    assert desk.ignored == ["too many mails from one domain"] * stopped
    assert sum(event.sender.id.endswith("@house.test") for event in desk.events) == 4


def genuine(who: str, **headers: str) -> dict[str, str]:
    """The headers of a mail that is from whom it says."""
    found = "mx.test.local; dmarc=pass header.from=far.test"
    return {"From": who, "Authentication_Results": found, **headers}


async def test_a_stranger_with_a_long_mail_is_paired_and_joined_like_others_and_then_read_whole(
    tmp_path: Path, dovecot: Dovecot, smtp_peer: SmtpPeer
) -> None:
    post = Post.open(dovecot, smtp_peer)
    adapter = post.adapter(authserv_id="mx.test.local", allow_from=None, first_start="all", sent_folder="off")
    async with (
        rig(tmp_path / "home", config=CONFIG, platform=adapter, instance="email") as g,
        running(adapter, g.core.intake("email")),
    ):
        await post.deliver(long_mail("hello", **genuine(EVE)))
        pairing = await post.smtp.wait_mail("my owner")
        assert await refused(g) == [("unknown sender", 1)]
        code = pairing.text.split("owner: ")[1].split()[0]
        _, job = g.core.pairings.approve(code, g.core.pairings.listed()[0].asked_at + 1)
        await g.core.store.write(job)
        await post.deliver(long_mail("hello", **genuine(EVE)))
        await post.smtp.wait_mail("the end")

        await post.deliver(mail("/link", **genuine(EVE)))
        code = (await post.smtp.wait_mail("code: ")).text.split("code: ")[1].split()[0]
        await post.deliver(mail("/link WRONG", **genuine(JO, Subject="wrong")))
        await post.smtp.wait_for(lambda: post.smtp.sent[-1].mail["Subject"] == "Re: wrong")
        await post.deliver(long_mail(f"/link {code}", **genuine(JO)))
        await post.smtp.wait_for(lambda: len(post.smtp.to(JO)) == 2)
        assert EVE in post.smtp.to(JO)[1].text
        assert await refused(g) == [("unknown sender", 1), ("wrong code", 1)]


async def refused(g: Rig) -> list[tuple[str, int]]:
    """What the record says of mails that were turned away."""
    rows = await g.rows("SELECT reason, count FROM verdicts WHERE verdict = 'refused' ORDER BY reason")
    return [(str(reason), int(count)) for reason, count in rows]
