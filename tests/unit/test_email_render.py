"""An answer as a mail: headers that thread it, text and HTML that say the same, nothing smuggled in."""

from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest

from adapters.email.head import Answers
from adapters.email.render import AGAIN, LIMIT, Envelope, compose, render
from adapters.email.threads import message_id
from adapters.markdown.html import html
from hermes.adapter import Piece
from hermes.errors import Rejected
from hermes.events import Target

WHO = Answers("ana@far.test", "Ana", "Plan", "m1@far.test", ("m0@far.test",))


def target(answers: Answers | None = WHO, thread: str | None = "0123456789abcdef") -> Target:
    return Target("email", "ana@far.test", thread, answers.to_json() if answers else None)


def composed(markdown: str, to: Target | None = None, *, key: str = "k", again: bool = False) -> Envelope:
    to = to or target()
    (piece,) = render(markdown, to)
    stored = Target(to.instance, to.chat, to.thread)  # what it answers is not stored with a reply
    return compose(stored, piece, key, ("The Bot", "bot@x.test"), 1_800_000_000.0, again=again)


def content(envelope: Envelope) -> bytes:
    (block,) = envelope.content.blocks
    assert isinstance(block, bytes)
    assert len(block) == envelope.content.size
    return block


def read(envelope: Envelope) -> EmailMessage:
    mail = message_from_bytes(content(envelope), policy=policy.default)
    assert isinstance(mail, EmailMessage)
    assert not mail.defects
    return mail


def body(mail: EmailMessage, kind: str) -> str:
    part = mail.get_body((kind,))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


def test_an_answer_stands_in_its_thread() -> None:
    envelope = composed("**Hello** Ana")
    mail = read(envelope)
    assert envelope.recipients == ("ana@far.test",)
    assert {
        k: str(mail[k]) for k in ("From", "To", "Subject", "In-Reply-To", "References", "Auto-Submitted")
    } == {
        "From": "The Bot <bot@x.test>",
        "To": "Ana <ana@far.test>",
        "Subject": "Re: Plan",
        "In-Reply-To": "<m1@far.test>",
        "References": "<m0@far.test> <m1@far.test>",
        "Auto-Submitted": "auto-replied",
    }
    assert body(mail, "plain") == "Hello Ana\n"
    assert "<strong>Hello</strong> Ana" in body(mail, "html")
    assert mail["Date"].datetime.timestamp() == 1_800_000_000


def test_what_answers_nothing_begins_a_conversation() -> None:
    envelope = composed("Your report is ready.\nSee below.", target(None, None))
    mail = read(envelope)
    assert (mail["Subject"], mail["Auto-Submitted"]) == ("Your report is ready.", "auto-generated")
    assert mail["References"] is None
    assert mail["In-Reply-To"] is None


def test_the_same_key_is_the_same_message_and_a_repetition_is_marked() -> None:
    first, again, other = composed("text"), composed("text", again=True), composed("text", key="k2")
    assert first.message_id == again.message_id != other.message_id
    assert body(read(again), "plain") == f"{AGAIN}text\n"
    assert AGAIN in body(read(again), "html")
    assert first.message_id == message_id("k", "0123456789abcdef", "x.test")
    assert content(first) == content(composed("text"))


@pytest.mark.parametrize(
    ("subject", "wanted"),
    [
        ("Plan", "Re: Plan"),
        ("Re: Plan", "Re: Plan"),
        ("RE: Plan", "RE: Plan"),
        ("AW: Plan", "AW: Plan"),
        ("Re[2]: Plan", "Re[2]: Plan"),
        ("", "Re:"),
        ("Regarding", "Re: Regarding"),
    ],
)
def test_EM_17_a_subject_gets_one_re(subject: str, wanted: str) -> None:
    assert read(composed("x", target(Answers("ana@far.test", subject=subject))))["Subject"] == wanted


def test_nothing_in_a_subject_a_name_or_an_id_begins_another_header() -> None:
    evil = Answers(
        "ana@far.test",
        'A"\r\nBcc: evil@bad.test',
        "S\r\nBcc: evil@bad.test\0\u2028x",
        "m@x\r\nBcc: e",
        ("a\nb",),
    )
    mail = read(composed("text\r\n.\r\nRSET", target(evil)))
    assert mail["Bcc"] is None
    assert len(mail.get_all("Subject") or []) == 1
    assert mail["To"].addresses[0].addr_spec == "ana@far.test"


def test_long_and_foreign_texts_arrive_as_they_are_in_short_lines_of_ascii() -> None:
    text = "Ünïcödé 漢字 🎲 " * 300 + "x" * 5000
    envelope = composed(text, target(Answers("ana@far.test", "漢" * 80, "漢字 " * 60, "m1@far.test")))
    assert content(envelope).isascii()
    assert max(map(len, content(envelope).split(b"\r\n"))) <= 998
    assert body(read(envelope), "plain").strip() == text
    assert read(envelope)["Subject"] == "Re: " + ("漢字 " * 60).strip()


def test_long_ids_are_not_broken_or_coded() -> None:
    ids = tuple(f"{'x' * 200}{n}@far.test" for n in range(20))
    mail = read(composed("x", target(Answers("ana@far.test", "Ana", "s", "y" * 250 + "@far.test", ids))))
    assert mail["In-Reply-To"] == f"<{'y' * 250}@far.test>"
    assert mail["References"].split()[0] == f"<{ids[0]}>"
    assert mail["References"].split()[-1] == f"<{'y' * 250}@far.test>"
    answers = Answers("ana@far.test", "Ana", "s", "y" * 250 + "@far.test", ids)
    assert b"=?" not in content(composed("x", target(answers)))


def test_everybody_is_answered_only_where_that_was_wished() -> None:
    envelope = composed("x", target(Answers("ana@far.test", cc=("jo@far.test",))))
    assert envelope.recipients == ("ana@far.test", "jo@far.test")
    assert read(envelope)["Cc"] == "jo@far.test"


@pytest.mark.parametrize("chat", ["nowhere", "", "0", "a@b@c", "a b@x.test", "é@x.test", "a@x.test\r\nRCPT"])
def test_what_is_no_address_is_refused(chat: str) -> None:
    with pytest.raises(Rejected):
        compose(Target("email", chat), Piece("x"), "k", ("", "bot@x.test"), 0.0, again=False)


def test_an_answer_is_one_mail_however_long() -> None:
    assert len(render("word " * 100_000, target())) == 1
    pieces = render("word " * (LIMIT // 4), target())
    assert [len(p.text) <= LIMIT for p in pieces] == [True, True]
    assert render(" \n", target()) == []


def test_html_loads_nothing_and_runs_nothing() -> None:
    shown = html(
        '![logo](https://x.test/p.png) <script>x</script> [a](javascript:alert(1)) [b](https://y.test/?a=1&b="2")'
    )
    assert "<img" not in shown
    assert "<script" not in shown
    assert 'href="https://x.test/p.png"' in shown
    assert "javascript:" not in shown.replace("(javascript:alert(1))", "")
    assert "&amp;b=" in shown


def test_html_keeps_what_markdown_means() -> None:
    shown = html(
        "# Title\n\n- a\n- b\n\n3. c\n\n> q\n\n```py\nx < 1\n```\n\n|a|b|\n|-|-:|\n|1|2|\n\nline\n  two ~~no~~ `c`"
    )
    for part in (
        "<h1",
        "<ul",
        "<ol",
        'value="3"',
        "<blockquote",
        "x &lt; 1",
        "<th",
        "text-align:right",
        "<s>no</s>",
        "<code",
    ):
        assert part in shown
    assert "line<br>" in shown


def test_each_paragraph_runs_the_way_of_its_script_and_code_keeps_its_first_blank_line() -> None:
    page = html("\u05e9\u05dc\u05d5\u05dd\n\n- \u0627\n\n# a\n\n```\n\n x\n```")
    assert page.count('dir="auto"') == 3
    assert ">\n\n x</pre>" in page
