"""Whose mail it is, whether it is answered, and in which conversation."""

from dataclasses import replace

import pytest

from adapters.email.addresses import canonical, is_machine, single_address
from adapters.email.head import Answers, Reading, Seen, own_addresses
from adapters.email.loops import LoopGuard
from adapters.email.parse import parse_mail
from adapters.email.threads import is_ours, message_id, references, thread_mark
from adapters.email.trust import is_forged, is_genuine
from hermes.config import Rate
from hermes.events import Event, Ignored, Parsed, Sender, Unparsable, event_from_json, event_to_json
from tests.integration.mail_desk import mail

BOT = "bot@x.test"
GUEST = Reading("email", BOT, own_addresses(BOT, ("helper@x.test",)))
CHECKED = Reading("email", BOT, own_addresses(BOT, ()), authserv_id="mx.own.test")


def parsed(raw: bytes, reading: Reading = GUEST, size: int = 0, received: float | None = None) -> Parsed:
    return parse_mail(Seen(raw, size or len(raw)), received, reading)


def event(raw: bytes, reading: Reading = GUEST) -> Event:
    found = parsed(raw, reading)
    assert isinstance(found, Event), found
    assert event_from_json(event_to_json(found)) == found
    return found


def ignored(raw: bytes, reading: Reading = GUEST) -> str:
    found = parsed(raw, reading)
    assert isinstance(found, Ignored), found
    return found.reason


def answers(found: Event) -> Answers:
    known = Answers.from_json(found.reply_to[0].answers)
    assert known is not None
    return known


# --- machines ----------------------------------------------------------------------------------------


def test_EM_01_an_automatic_answer_is_not_answered_and_a_persons_mail_is() -> None:
    assert ignored(mail(Auto_Submitted="auto-replied")) == "automatic mail"
    assert event(mail(Auto_Submitted="no")).chat == "ana@far.test"
    assert event(mail()).chat == "ana@far.test"


@pytest.mark.parametrize(
    "headers",
    [
        {"AUTO-SUBMITTED": "  Auto-Generated (rejected by filter)"},
        {"Auto-Submitted": "(a (nested) comment) auto-notified"},
        {"Auto-Submitted": "auto-replied; owner-email=x@y.test"},
        {"X-Auto-Response-Suppress": "All"},
        {"X-Auto-Response-Suppress": "OOF, AutoReply"},
        {"X-Autoreply": "yes"},
        {"Precedence": "auto_reply"},
    ],
)
def test_EM_02_odd_spellings_of_the_headers_of_machines_are_known(headers: dict[str, str]) -> None:
    assert ignored(mail(**headers)) in ("automatic mail", "mailing list")


def test_EM_02_a_comment_behind_no_changes_nothing() -> None:
    assert event(mail(Auto_Submitted="No (human)")).text
    assert event(mail(X_Auto_Response_Suppress="OOF")).text


@pytest.mark.parametrize(
    "headers",
    [
        {"Return-Path": "<>", "From": '"Mail System" <MAILER-DAEMON@mx.test>'},
        {"Return-Path": "<>", "From": "Jo <jo@far.test>"},
        {"Return-Path": "< >"},
        {"Content-Type": "multipart/report; report-type=delivery-status; boundary=b"},
        {"Content-Type": "multipart/report; report-type=disposition-notification; boundary=b"},
    ],
)
def test_EM_03_a_failed_delivery_is_not_answered(headers: dict[str, str]) -> None:
    assert ignored(mail(**headers)) == "bounce"


@pytest.mark.parametrize(
    "headers",
    [
        {"List-Id": "<dev.lists.test>", "Precedence": "list", "Reply-To": "dev@lists.test"},
        {"List-Unsubscribe": "<https://news.test/out>"},
        {"Precedence": "bulk"},
        {"Precedence": "junk"},
    ],
)
def test_EM_04_lists_and_newsletters_get_nothing(headers: dict[str, str]) -> None:
    assert ignored(mail(**headers)) == "mailing list"


def test_EM_05_our_own_mail_is_not_answered_however_it_is_written() -> None:
    for own in ('"Bot" <BOT@X.test>', "bot+tag@x.test", "Helper@x.test", "helper+x@X.TEST"):
        assert ignored(mail(From=own)) == "own message"
    ours = message_id("k", None, "x.test")
    assert ignored(mail(Message_ID=f"<{ours}>")) == "own message"
    assert event(mail(From="robot@x.test")).chat == "robot@x.test"


@pytest.mark.parametrize(
    "local",
    [
        "no-reply",
        "noreply",
        "NoReply",
        "do-not-reply",
        "shop.noreply",
        "noreply+abc",
        "bounces+1=x",
        "postmaster",
    ],
)
def test_senders_that_take_no_replies_get_none(local: str) -> None:
    assert is_machine(f"{local}@far.test")
    assert ignored(mail(From=f"{local}@far.test")) == "sender takes no replies"


def test_people_whose_names_only_look_like_machines_are_people() -> None:
    assert not any(
        is_machine(f"{name}@far.test") for name in ("norepp", "bob.bounceman", "ana", "reply", "info")
    )


def letters(count: int, thread: str = "") -> list[Event]:
    """Mails of one sender: answers in one thread, or each a thread of its own."""
    return [
        event(mail(f"mail {n}", Message_ID=f"<{thread}{n}@x>", In_Reply_To=f"<{thread or n}@y>"))
        for n in range(count)
    ]


def answered(guard: LoopGuard, mails: list[Event], at: float, every: float) -> list[bool]:
    return [guard.judge(one, at + n * every) is None for n, one in enumerate(mails)]


def test_two_machines_that_answer_each_other_stop() -> None:
    guard = LoopGuard(Rate(3, 3600), Rate(5, 3600))
    assert answered(guard, letters(4, "a"), 0, 1) == [True, True, True, False]
    assert answered(guard, letters(3, "b"), 4, 1) == [True, True, False]
    assert guard.judge(event(mail(From="jo@far.test")), 7.0) is None
    assert answered(guard, letters(5, "a")[4:], 3700, 1) == [True]


def test_what_gathered_in_a_long_absence_is_no_loop() -> None:
    guard = LoopGuard(Rate(20, 3600), Rate(60, 3600))
    assert all(answered(guard, letters(70, "a"), 0, 2400))
    assert answered(guard, letters(30, "b"), 1e6, 60) == [True] * 20 + [False] * 10


def test_a_machine_that_writes_from_a_tag_for_each_mail_is_one() -> None:
    guard = LoopGuard(Rate(3, 3600), None)
    tagged = [
        event(mail(From=f"desk+{n}@far.test", Message_ID=f"<{n}@x>", In_Reply_To="<a@y>")) for n in range(4)
    ]
    assert answered(guard, tagged, 0, 1) == [True, True, True, False]


def test_a_guest_who_writes_from_another_address_each_time_is_bounded_by_his_domain() -> None:
    cases = [event(mail(From=f"case-{n}@far.test", Message_ID=f"<{n}@x>")) for n in range(8)]
    guard = LoopGuard(Rate(3, 3600), Rate(3, 3600), Rate(6, 3600))
    heard = [guard.judge(one, float(n), guest=True) is None for n, one in enumerate(cases)]
    assert heard == [True] * 6 + [False] * 2
    assert all(answered(guard, cases, 10, 1))  # members are no strangers to each other
    assert guard.judge(event(mail(From="eve@else.test")), 10.0, guest=True) is None
    assert guard.judge(cases[7], 3700.0, guest=True) is None


def test_forged_mails_do_not_use_up_what_a_domain_may() -> None:
    guard = LoopGuard(None, None, Rate(3, 3600))
    forged = [replace(one, sender=Sender(f"unverified:p{n}@far.test")) for n, one in enumerate(letters(4))]
    assert [guard.judge(one, 1.0, guest=True) is None for one in forged] == [True] * 3 + [False]
    assert guard.judge(letters(5)[4], 2.0, guest=True) is None


def test_a_mail_that_is_read_again_counts_once() -> None:
    guard = LoopGuard(Rate(3, 3600), Rate(3, 3600))
    mails = letters(3, "a")
    assert all(answered(guard, mails, 0, 1) + answered(guard, mails, 0, 1))
    late = LoopGuard(Rate(3, 3600), None)  # after a rebuild, older ones may stand behind newer ones
    assert all(answered(late, letters(3, "a"), 9000, 1) + answered(late, letters(6, "a")[3:], 0, 1))


# --- what is quoted in an answer to us ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("below", "shown"),
    [
        ("> Hallo Welt", True),
        (">>> import foo\n>>> foo.bar()", True),
        ("From: Tom <tom@far.test>\nDate: Monday\nTo: bot@x.test\n\nI offer 500 euros.", True),
        ("On Friday the team of Anna wrote:", True),
        ("--- original message ---\nfoo", True),
        ("On Monday, Tom <tom@far.test> wrote:\n> I offer 500 euros", True),
        ("On Monday, Bot <Bot@x.test> wrote:\n> earlier", False),
        ("Am Montag schrieb Bot:\n> earlier", False),
        ("-----Original Message-----\nFrom: Bot <bot@x.test>\nSent: Monday\n\nearlier", False),
    ],
)
def test_EM_06_in_an_answer_to_us_only_our_own_words_are_left_out(below: str, shown: bool) -> None:
    ours = message_id("k", None, "x.test")
    found = event(
        mail(f"Look at this:\n\n{below}", In_Reply_To=f"<{ours}>", References=f"<first@far.test> <{ours}>")
    )
    assert found.text == "Look at this:"
    assert (found.quoted == below) is shown
    assert (found.quoted is None) is not shown


def test_in_an_answer_to_a_mail_that_we_began_with_our_words_are_shown() -> None:
    ours = message_id("k", None, "x.test")
    below = "On Monday, Bot <bot@x.test> wrote:\n> Shall I order tea or coffee?"
    for fields in ({"In_Reply_To": f"<{ours}>"}, {"In_Reply_To": f"<{ours}>", "References": f"<{ours}>"}):
        found = event(mail(f"The first, please.\n\n{below}", **fields))
        assert (found.text, found.quoted) == ("The first, please.", below)


def test_EM_06_what_html_alone_quotes_is_a_quotation() -> None:
    tom = "On Monday, Tom wrote:<blockquote>I offer<br>500 euros<blockquote type=cite>how much</blockquote></blockquote>"
    html = f'<p>Is it good?</p><div class="gmail_quote">{tom}</div>'
    found = event(mail(html, Content_Type="text/html", Subject="Re: x", In_Reply_To="<a@far.test>"))
    assert found.text == "Is it good?"
    assert found.quoted == "On Monday, Tom wrote:\n> I offer\n> 500 euros\n> how much"


# --- who ---------------------------------------------------------------------------------------------


def test_EM_32_the_address_in_angle_brackets_counts_whatever_the_name_claims() -> None:
    assert single_address("good@ok.test <evil@bad.test>") == ("evil@bad.test", "good@ok.test")
    assert single_address('"good@ok.test" <evil@bad.test>') == ("evil@bad.test", "good@ok.test")
    assert single_address('"<good@ok.test>" <evil@bad.test>') == ("evil@bad.test", "<good@ok.test>")
    assert single_address("good@ok.test (<evil@bad.test>)") == ("good@ok.test", "")
    assert event(mail(From="good@ok.test <evil@bad.test>")).sender.id == "evil@bad.test"
    assert event(mail(From="=?utf-8?q?good=40ok.test?= <evil@bad.test>")).sender.id == "evil@bad.test"


@pytest.mark.parametrize(
    "value",
    [
        "good@ok.test, evil@bad.test",
        f"good@ok.test{' ' * 20_000}, evil@bad.test",
        "<good@ok.test> <evil@bad.test>",
        "<good@ok.test> evil@bad.test",
        "good@ok.test evil@bad.test",
        "Friends: good@ok.test;",
        "good@ok.test\u200b",
        "go\u200bod@ok.test",
        '"a <good@ok.test>',
        "x (good@ok.test",
        "good@ok.test <>",
        "good@ok..test",
        '"good"@ok.test',
        "@ok.test",
        "good@",
        "",
        " ",
    ],
)
def test_EM_33_a_from_that_can_be_read_in_two_ways_is_nobody(value: str) -> None:
    assert single_address(value) is None
    assert isinstance(parsed(mail(From=value)), Unparsable)


def test_EM_33_two_from_fields_are_nobody() -> None:
    twice = b"From: good@ok.test\r\n" + mail(From="evil@bad.test")
    assert isinstance(parsed(twice), Unparsable)


def test_addresses_are_compared_in_one_form() -> None:
    assert canonical("Ana.B@FAR.Test") == "ana.b@far.test"
    assert canonical("ana@bücher.test") == canonical("ana@xn--bcher-kva.test") == "ana@xn--bcher-kva.test"
    assert canonical("ana+x@far.test") == "ana+x@far.test"
    assert [canonical(t) for t in ("", "ana", "a b@x.test", "é@x.test", "a@x_-.test", "a@" + "x" * 300)] == [
        None
    ] * 6


def test_EM_30_only_our_own_servers_word_makes_a_mail_genuine() -> None:
    failed = "mx.own.test; dmarc=fail header.from=ok.test; spf=fail; dkim=none"
    passed = "mx.own.test; dmarc=pass (p=reject) header.from=ok.test"
    boss = {"From": "boss@ok.test"}
    assert ignored(mail(Authentication_Results=failed, **boss), CHECKED) == "forged sender"
    refused = event(mail(Authentication_Results="mx.own.test; spf=none; dkim=none", **boss), CHECKED)
    assert (refused.sender.id, refused.private_notice) == ("unverified:boss@ok.test", False)
    assert refused.untrusted
    taken = event(mail(Authentication_Results=passed, **boss), CHECKED)
    assert (taken.sender.id, taken.private_notice, taken.untrusted) == ("boss@ok.test", True, False)
    assert (
        refused.thread != taken.thread or refused.chat != taken.chat
    )  # no way into a known one's conversation
    assert event(mail(**boss), CHECKED).sender.id == "unverified:boss@ok.test"


def test_EM_30_what_stands_below_our_servers_word_or_bears_another_name_is_forged() -> None:
    passed, failed = (
        "mx.own.test; dmarc=pass header.from=ok.test",
        "mx.own.test; dmarc=fail header.from=ok.test",
    )
    assert is_genuine([passed, failed], "mx.own.test", "ok.test")
    assert not is_genuine([failed, passed], "mx.own.test", "ok.test")
    assert not is_genuine(["mx.evil.test; dmarc=pass header.from=ok.test", passed], "mx.own.test", "ok.test")
    assert not is_genuine(["(mx.own.test;) evil; dmarc=pass header.from=ok.test"], "mx.own.test", "ok.test")
    assert not is_genuine(['mx.own.test; x="; dmarc=pass header.from=ok.test"'], "mx.own.test", "ok.test")
    assert not is_genuine(["mx.own.test; none (dmarc=pass header.from=ok.test)"], "mx.own.test", "ok.test")
    assert not is_genuine([], "mx.own.test", "ok.test")


@pytest.mark.parametrize(
    ("results", "genuine"),
    [
        ("dmarc=pass header.from=other.test", False),
        ("dmarc=pass header.from=OK.test", True),
        ("dkim=pass header.d=ok.test", True),
        ("dkim=pass header.i=@ok.test header.s=sel header.b=abc", True),
        ("dkim=pass header.d=other.test", False),
        ("dkim=pass header.d=test", False),
        ("dkim=fail header.d=ok.test", False),
        ("spf=pass smtp.mailfrom=bounce@ok.test", True),
        ("spf=pass smtp.mailfrom=evil.test", False),
        ("dkim=pass header.d=ok.test; dmarc=fail header.from=ok.test", False),
        ("none", False),
    ],
)
def test_EM_30_a_pass_must_be_about_the_senders_own_domain(results: str, genuine: bool) -> None:
    assert is_genuine([f"mx.own.test 1; {results}"], "mx.own.test", "ok.test") is genuine


@pytest.mark.parametrize(
    "results",
    [
        'spf=pass smtp.mailfrom="@ok.test"@evil.test',
        'dkim=pass header.i="@ok.test"@evil.test header.s=s1 header.b=abc',
        r'spf=none smtp.mailfrom="a\"; dkim=pass header.d=ok.test; x=\""@evil.test',
        'spf=pass smtp.mailfrom="a; dkim=pass header.d=ok.test"@evil.test',
        'dkim=pass reason="header.d=ok.test" header.d=evil.test',
        'dmarc=pass reason="header.from=ok.test" header.from=evil.test',
        'spf=pass smtp.mailfrom="a (b"@evil.test (c"; dkim=pass header.d=ok.test; x=")',
        'spf=pass smtp.mailfrom="no end; dkim=pass header.d=ok.test',
        "spf=pass (no end; dkim=pass header.d=ok.test",
    ],
)
def test_EM_30_what_stands_in_quotes_may_be_the_senders_own_words(results: str) -> None:
    """A quoted local part may hold anything: RFC 8601 section 2.2, RFC 5321 section 4.1.2."""
    assert not is_genuine([f"mx.own.test; {results}"], "mx.own.test", "ok.test")


def test_EM_30_quotes_do_not_hide_what_our_server_says_of_another() -> None:
    assert is_genuine(['mx.own.test; spf=pass smtp.mailfrom="a b"@ok.test'], "mx.own.test", "ok.test")
    forged = 'mx.own.test; dmarc=fail reason="a; b" header.from=ok.test; spf=pass smtp.mailfrom=ok.test'
    assert not is_genuine([forged], "mx.own.test", "ok.test")
    assert is_forged([forged], "mx.own.test")


def test_a_reply_address_is_believed_of_known_senders_alone() -> None:
    wish = {"From": "boss@ok.test", "Reply-To": "Other <other@else.test>"}
    passed = {"Authentication-Results": "mx.own.test; dmarc=pass header.from=ok.test"}
    assert answers(event(mail(**wish), CHECKED)).to == "boss@ok.test"
    assert answers(event(mail(**wish, **passed), CHECKED)).to == "other@else.test"
    assert answers(event(mail(**{**wish, "Reply-To": BOT}, **passed), CHECKED)).to == "boss@ok.test"
    assert answers(event(mail(**wish))).to == "boss@ok.test"
    assert not event(mail(**wish)).untrusted


def test_only_the_sender_is_answered_unless_all_were_asked_for() -> None:
    many = {"To": f'"Bot, the" <{BOT}>, "Jo, A." <jo@far.test>', "Cc": "max@far.test, ana@far.test"}
    all_of_them = Reading("email", BOT, own_addresses(BOT, ()), trust_from=True, reply_all=True)
    assert answers(event(mail(**many))).cc == ()
    assert answers(event(mail(**many), all_of_them)).cc == ("jo@far.test", "max@far.test")


@pytest.mark.parametrize(
    ("headers", "to_all", "private"),
    [
        ({}, True, True),
        ({"To": f"{BOT}, ana@far.test", "Cc": "Bot <bot+tag@x.test>"}, True, True),
        ({"Reply-To": "Ana <ANA@far.test>"}, True, True),
        ({"To": f"{BOT}, carl@far.test"}, False, True),
        ({"To": f"{BOT}, carl@far.test"}, True, False),
        ({"Cc": "dora@far.test"}, True, False),
        ({"Reply-To": "team@far.test"}, False, False),
    ],
)
def test_a_mail_whose_answer_others_read_is_no_private_place(
    headers: dict[str, str], to_all: bool, private: bool
) -> None:
    reading = Reading("email", BOT, own_addresses(BOT, ()), authserv_id="mx.own.test", reply_all=to_all)
    passed = {"Authentication-Results": "mx.own.test; dmarc=pass header.from=far.test"}
    headers = {"To": BOT, **headers}
    found = event(mail(**headers, **passed), reading)
    assert (found.kind, found.private_notice) == (("direct", True) if private else ("group", False))
    unproven = event(mail(**headers), reading)
    assert (unproven.kind, unproven.private_notice, answers(unproven).cc) == ("direct", False, ())


# --- conversations -----------------------------------------------------------------------------------


def test_EM_17_an_answer_names_the_whole_thread_where_references_were_missing() -> None:
    found = event(mail(Message_ID="<m2@x>", In_Reply_To="<m1@x>", Subject="Re: plan"))
    known = answers(found)
    assert (known.message_id, known.above, known.subject) == ("m2@x", ("m1@x",), "Re: plan")
    assert references(known.above, known.message_id) == ["m1@x", "m2@x"]


def test_all_mails_of_a_thread_are_one_conversation() -> None:
    first = event(mail(Message_ID="<m1@x>"))
    ours = message_id("k1", first.thread, "x.test")
    second = event(mail(Message_ID="<m2@x>", References=f"<m1@x> <{ours}>"))
    only = event(mail(Message_ID="<m3@x>", In_Reply_To=f"<{ours}>"))
    later = event(mail(Message_ID="<m4@x>", References="<m1@x> <other@x>"))
    assert {first.thread, second.thread, only.thread, later.thread} == {first.thread}
    assert event(mail(Message_ID="<n1@x>")).thread != first.thread
    begun = message_id("k2", None, "x.test")  # we wrote first
    assert event(mail(In_Reply_To=f"<{begun}>")).thread == thread_mark(begun, [begun], "x.test")
    assert is_ours(begun, "x.test")
    assert not is_ours(begun, "y.test")


def test_an_endless_thread_keeps_its_first_and_its_newest_mails() -> None:
    known = references([f"m{n}@x" for n in range(100)], "last@x")
    assert (len(known), known[0], known[-1]) == (20, "m0@x", "last@x")


OURS = "<h.aaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb@x.test>"


@pytest.mark.parametrize(
    ("body", "text", "quoted"),
    [
        ("Find a train\nFrom: Berlin\nDate: Friday\nTo: Bonn", None, None),
        ("So?\n\nOn 30.11.26 10:00, Tom Miller wrote:\n> 500", "So?", "On 30.11.26 10:00, Tom Miller wrote:\n> 500"),
        ("So?\n\nOn 30.11.26 10:00, Bot wrote:\n> 500", "So?", None),
        ("So?\n\nOn 30.11.26 10:00, Max Helper wrote:\n> 500", "So?", None),
        ("So?\n\nFrom: Miller, Tom\nSent: Monday\nTo: Ana\nSubject: x\n\n500", "So?",
         "From: Miller, Tom\nSent: Monday\nTo: Ana\nSubject: x\n\n500"),
        (f"Read:\n> Hallo\n\n-----Original Message-----\nFrom: Bot <{BOT}>\nSent: Monday\n\nold", "Read:", "> Hallo"),
        (f"So?\n\nOn Mon Tom <t@far.test>\nwrote:\n> On Sun Bot <{BOT}> wrote:\n>> old\n>\n> 500", "So?",
         f"On Mon Tom <t@far.test>\nwrote:\n> On Sun Bot <{BOT}> wrote:\n>> old\n>\n> 500"),
        (f"Read:\n\n-----Original Message-----\nFrom: Bot <{BOT}>\nSent: Monday\n\nold", "Read:", None),
    ],
)  # fmt: skip
def test_in_an_answer_to_us_only_our_own_words_are_left_out(
    body: str, text: str | None, quoted: str | None
) -> None:
    reading = Reading("email", BOT, own_addresses(BOT, ()), trust_from=True, name="Max Helper")
    found = event(
        mail(body, Subject="Re: x", In_Reply_To=OURS, References=f"<first@far.test> {OURS}"), reading
    )
    assert (found.text, found.quoted) == (body if text is None else text, quoted)


def test_the_same_mail_has_one_key_and_another_has_another() -> None:
    one = mail("text", Message_ID="<m1@x>")
    assert event(one).dedupe_key == event(b"Received: from a by b\r\n" + one).dedupe_key
    assert event(one).dedupe_key != event(mail("other", Message_ID="<m1@x>")).dedupe_key
    bare = mail("text", Message_ID="")
    assert event(bare).dedupe_key == event(b"Received: x\r\n" + bare).dedupe_key
    assert event(bare).dedupe_key != event(mail("text", Message_ID="", Subject="another")).dedupe_key


def test_the_subject_belongs_to_the_text_where_a_conversation_begins() -> None:
    assert event(mail("body", Subject="Plan")).text == "Subject: Plan\n\nbody"
    assert event(mail("body", Subject="Plan", In_Reply_To="<m@x>")).text == "body"
    assert event(mail("body", Subject="Re: Plan")).text == "body"
    assert event(mail("", Subject="Buy milk")).text == "Buy milk"
    assert event(mail("/help", Subject="Plan")).text == "/help"
    assert event(mail("body", Subject="")).text == "body"


def test_nothing_can_be_smuggled_into_a_header_by_what_it_was_read_from() -> None:
    found = event(
        mail(Subject="=?utf-8?q?a=0d=0aBcc:_evil=40bad.test?=", From="=?utf-8?q?x=0ay?= <ana@far.test>")
    )
    assert answers(found).subject == "a Bcc: evil@bad.test"
    assert found.sender.name == "x y"


@pytest.mark.parametrize("text", [None, "", "no json", "[]", '{"unknown": 1}', '{"above": 7}'])
def test_answers_that_cannot_be_read_are_none(text: str | None) -> None:
    assert Answers.from_json(text) is None
