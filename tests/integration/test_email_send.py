"""Handing mails over on bad days: refusals of each kind, lost answers, servers that are gone, certificates."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.email.check import check
from adapters.email.head import Answers
from adapters.email.settings import EmailSettings
from hermes.adapter import Receipt
from hermes.config import Network
from hermes.errors import AdapterError, NotTaken, OutcomeUnknown, Rejected, Unauthorized, Unreachable
from hermes.events import Target
from hermes.testing import FakeClock
from tests.integration.mail_desk import Post, Watcher, mail, make_adapter, running
from tests.integration.telegram_desk import pass_time
from tests.peers.faults import Fault, refusal
from tests.peers.mail import Dovecot, SmtpPeer

ANA = Target("email", "ana@far.test")


@pytest.fixture
async def post(dovecot: Dovecot, smtp_peer: SmtpPeer) -> AsyncIterator[Post]:
    opened = Post.open(dovecot, smtp_peer)
    opened.sender = opened.adapter(sent_folder="off")
    yield opened
    await opened.sender.aclose()


async def send(post: Post, text: str, key: str, target: Target = ANA, *, again: bool = False) -> Receipt:
    (piece,) = post.sender.render(text, target)
    return await post.sender.send(target, piece, key=key, again=again)


async def test_EM_34_a_server_that_puts_us_off_is_asked_again_with_growing_gaps(post: Post) -> None:
    post.smtp.faults.add("RCPT", refusal(451, "4.7.1 greylisted", times=3))
    gaps: list[float] = []
    for _ in range(3):
        with pytest.raises(NotTaken) as put_off:
            await send(post, "late", "k")
        assert put_off.value.retry_after is not None
        gaps.append(put_off.value.retry_after)
    assert gaps == [15.0, 30.0, 60.0]
    await send(post, "late", "k")
    assert [m.text for m in post.smtp.sent] == ["late"]


@pytest.mark.parametrize("command", ["MAIL", "RCPT", "DATA"])
async def test_EM_34_a_final_refusal_is_not_tried_again(post: Post, command: str) -> None:
    post.smtp.faults.add(command, refusal(550, "5.1.1 no such user"))
    with pytest.raises(Rejected, match="no such user"):
        await send(post, "never", "k")
    assert post.smtp.sent == []


async def test_EM_34_a_days_quota_that_is_used_up_passes(post: Post) -> None:
    post.smtp.faults.add("DATA", refusal(550, "5.4.5 Daily user sending limit exceeded"))
    with pytest.raises(NotTaken):
        await send(post, "tomorrow", "k")


async def test_EM_34_who_is_refused_beside_others_is_noted(post: Post) -> None:
    target = Target("email", "ana@far.test", None, Answers("ana@far.test", cc=("jo@far.test",)).to_json())
    post.smtp.faults.add("RCPT", Fault("status", 550, "no", match={"to": "jo@far.test"}))
    receipt = await send(post, "both", "k", target)
    assert receipt.note == "not sent to jo@far.test"
    assert [m.recipients for m in post.smtp.sent] == [("ana@far.test",)]


@pytest.mark.parametrize("put_off", ["ana@far.test", "jo@far.test"])
async def test_EM_34_all_wait_for_one_who_is_put_off_and_get_it_once(post: Post, put_off: str) -> None:
    target = Target("email", "ana@far.test", None, Answers("ana@far.test", cc=("jo@far.test",)).to_json())
    post.smtp.faults.add("RCPT", Fault("status", 450, "4.2.0 later", match={"to": put_off}, times=2))
    for _ in range(2):
        with pytest.raises(NotTaken):
            await send(post, "both", "k", target)
    assert (await send(post, "both", "k", target)).note is None
    assert [m.recipients for m in post.smtp.sent] == [("ana@far.test", "jo@far.test")]


async def test_EM_34_other_troubles_use_up_nobodys_patience(post: Post) -> None:
    target = Target("email", "ana@far.test", None, Answers("ana@far.test", cc=("jo@far.test",)).to_json())
    post.smtp.faults.add("DATA", refusal(550, "5.4.5 Daily user sending limit exceeded", times=6))
    for _ in range(6):
        with pytest.raises(NotTaken):
            await send(post, "both", "k", target)
    post.smtp.faults.add("RCPT", Fault("status", 450, "4.2.0 later", match={"to": "jo@far.test"}))
    with pytest.raises(NotTaken, match="later"):
        await send(post, "both", "k", target)
    assert (await send(post, "both", "k", target)).note is None
    assert [m.recipients for m in post.smtp.sent] == [("ana@far.test", "jo@far.test")]


async def test_EM_34_nobody_waits_for_ever_but_for_the_one_who_asked(post: Post) -> None:
    target = Target("email", "ana@far.test", None, Answers("ana@far.test", cc=("jo@far.test",)).to_json())
    post.smtp.faults.add("RCPT", Fault("status", 452, "4.2.2 full", match={"to": "jo@far.test"}, times=99))
    waited = 0.0
    while waited < 3600:
        try:
            receipt = await send(post, "both", "k", target)
        except NotTaken as e:
            waited += e.retry_after or 0.0
        else:
            break
    assert receipt.note == "not sent to jo@far.test"
    assert 600 < waited < 1200
    post.smtp.faults.add("RCPT", Fault("status", 550, "5.1.1 gone", match={"to": "ana@far.test"}, times=99))
    with pytest.raises(Rejected, match="gone"):
        await send(post, "both", "l", target)
    assert [m.recipients for m in post.smtp.sent] == [("ana@far.test",)]


async def test_EM_35_a_connection_that_went_away_costs_nothing(post: Post) -> None:
    await send(post, "one", "k1")
    await post.smtp.stop()
    with pytest.raises(Unreachable):
        await send(post, "two", "k2")
    await post.smtp.start()
    await send(post, "two", "k2")
    assert [m.text for m in post.smtp.sent] == ["one", "two"]


@pytest.mark.parametrize("kind", ["lost", "cut"])
async def test_EM_35_what_may_have_arrived_is_sent_once_more_under_its_own_name(
    post: Post, kind: Any
) -> None:
    post.smtp.faults.add("DATA", Fault(kind))
    with pytest.raises(OutcomeUnknown):
        await send(post, "twice", "k")
    receipt = await send(post, "twice", "k", again=True)
    assert {str(m.mail["Message-ID"]) for m in post.smtp.sent} == {f"<{receipt.message_id}>"}
    assert [m.text for m in post.smtp.sent] == (["twice"] if kind == "lost" else []) + ["↻ twice"]


@pytest.mark.parametrize("command", ["MAIL", "RCPT"])
async def test_a_connection_cut_before_the_content_is_no_unknown_outcome(post: Post, command: str) -> None:
    post.smtp.faults.add(command, Fault("cut"))
    with pytest.raises(Unreachable):
        await send(post, "once", "k")
    await send(post, "once", "k")
    assert [m.text for m in post.smtp.sent] == ["once"]


async def test_a_wrong_password_and_an_unknown_certificate_are_named(post: Post) -> None:
    wrong = make_adapter({**post.settings(), "password": "wrong"})
    (piece,) = wrong.render("x", ANA)
    with pytest.raises(Unauthorized, match="app password"):
        await wrong.send(ANA, piece, key="k")
    await wrong.aclose()
    settings = post.settings()
    for server in ("imap", "smtp"):
        settings[server] = {k: v for k, v in settings[server].items() if k != "ca_file"}
    strange = make_adapter(settings)
    with pytest.raises(Unreachable, match="certificate"):
        await strange.send(ANA, piece, key="k")
    await strange.aclose()
    with pytest.raises(AdapterError, match="certificate"):
        await check(EmailSettings.model_validate(settings), Network())


async def test_a_check_says_what_is_there_and_changes_nothing(post: Post) -> None:
    await post.deliver(mail("lies there"))
    account = await check(EmailSettings.model_validate(post.settings()), Network())
    assert account.name == post.address
    assert "1 mails lie" in account.notes[0]
    assert "authserv_id" in account.notes[-1]
    assert (len(post.smtp.logins), post.smtp.sent) == (1, [])
    starttls = post.settings()
    starttls["imap"] = {**starttls["imap"], "port": post.dovecot.imap, "tls": "starttls"}
    await check(EmailSettings.model_validate(starttls), Network())
    missing = EmailSettings.model_validate(post.settings(folder="Nowhere"))
    with pytest.raises(AdapterError):
        await check(missing, Network())


async def test_an_access_token_opens_the_submission_server(post: Post) -> None:
    post.smtp.xoauth2 = True
    keys: dict[str, Any] = {"auth": "xoauth2", "password": None}
    good = post.adapter(sent_folder="off", oauth={"command": "echo a-token"}, **keys)
    (piece,) = good.render("x", ANA)
    await good.send(ANA, piece, key="k")
    await good.aclose()
    bad = post.adapter(sent_folder="off", oauth={"command": "echo stale"}, **keys)
    with pytest.raises(Unauthorized):
        await bad.send(ANA, piece, key="k")
    await bad.aclose()
    none = post.adapter(sent_folder="off", oauth={"command": "false"}, **keys)
    with pytest.raises(AdapterError, match="ended with 1"):
        await none.send(ANA, piece, key="k")
    await none.aclose()


async def test_EM_20_a_killed_server_and_a_rebuilt_mailbox_bring_no_old_mail_back(
    smtp_peer: SmtpPeer,
) -> None:
    server = Dovecot()
    try:
        await asyncio.to_thread(server.start)
        post, desk, clock = Post.open(server, smtp_peer), Watcher(), FakeClock()
        clock.jump(1e6 * 3600)  # not the mails' time: only what lies after the last commit counts as new
        async with running(post.adapter(clock, sent_folder="off", first_start="all"), desk):
            await post.deliver(mail("one", Message_ID="<one@far.test>"))
            await desk.until(lambda: len(desk.events) == 1)
            before = _validity(desk)
            await asyncio.to_thread(server.stop)
            await desk.until_state("connecting")
            await asyncio.to_thread(server.rebuild, post.address)
            await asyncio.to_thread(server.start)
            await pass_time(clock, 600, lambda: desk.states[-1][0] == "connected")
            await post.deliver(mail("two", Message_ID="<two@far.test>"))
            await desk.until(lambda: len(desk.events) == 2)
        assert [e.message_id for e in desk.events] == ["one@far.test", "two@far.test"]
        assert desk.duplicates == 0
        assert _validity(desk) != before
    finally:
        server.aclose()


def _validity(desk: Watcher) -> int:
    (text,) = desk.watermarks.values()
    return int(json.loads(text)["validity"])


async def test_a_copy_that_cannot_be_filed_fails_no_mail(post: Post) -> None:
    lost = post.adapter(sent_folder="Nowhere")
    filed = post.adapter(sent_folder="INBOX")
    for number, adapter in enumerate((lost, filed)):
        (piece,) = adapter.render("filed", ANA)
        await adapter.send(ANA, piece, key=f"k{number}")
        await adapter.aclose()
    assert [m.text for m in post.smtp.sent] == ["filed", "filed"]
    box = await asyncio.to_thread(post.dovecot.inbox, post.address)
    copies = await asyncio.to_thread(box.mails)
    await asyncio.to_thread(box.close)
    assert [m["Message-ID"] for m in copies] == [post.smtp.sent[1].mail["Message-ID"]]
