"""What a mail says: its text without quotation and signature, in any charset, and the names of its files."""

import base64
from urllib.parse import quote

import pytest

from adapters.email.body import unflowed
from adapters.email.head import Reading, Seen, own_addresses
from adapters.email.headers import decoded
from adapters.email.hypertext import text_of_html
from adapters.email.parse import parse_mail
from adapters.email.quoting import cut
from adapters.email.slim import first_lines, slimmed
from adapters.email.transfer import uu_blocks
from hermes.events import Event, Unparsable
from tests.growth import assert_linear
from tests.integration.mail_desk import mail

READING = Reading("email", "bot@x.test", own_addresses("bot@x.test", ()))
REPLY = {"In-Reply-To": "<m0@x.test>", "Subject": "Re: x"}


def event(raw: bytes, size: int = 0) -> Event:
    found = parse_mail(Seen(raw, size or len(raw)), 1000.0, READING)
    assert isinstance(found, Event), found
    return found


def said(text: str, **headers: str) -> str:
    return event(mail(text, **{**REPLY, **headers})).text


def raw(body: bytes, content_type: str, **headers: str) -> bytes:
    return (
        mail("", **{**REPLY, **headers, "Content-Type": content_type}).removesuffix(b"\r\n\r\n")
        + b"\r\n\r\n"
        + body
    )


def parts(*each: bytes, kind: str = "mixed") -> bytes:
    body = b"".join(b"--b\r\n" + part + b"\r\n" for part in each) + b"--b--\r\n"
    return raw(body, f"multipart/{kind}; boundary=b")


# --- quotation and signature -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "head",
    [
        "On Tue, 3 Mar 2026 at 10:00, Bot <bot@x.test> wrote:",
        "On Tue, 3 Mar 2026 at 10:00, A very long name of somebody\n<bot@x.test>\nwrote:",
        "Am 03.03.26 um 10:00 schrieb Bot:",
        "Le mar. 3 mars 2026 à 10:00, Bot <bot@x.test> a écrit :",
        "El mar, 3 mar 2026 a las 10:00, Bot (<bot@x.test>) escribió:",
        "Il giorno mar 3 mar 2026 alle ore 10:00 Bot ha scritto:",
        "在 2026年3月3日，Bot <bot@x.test> 写道：",
        "Bot <bot@x.test> 于2026年3月3日周二写道：",
    ],
)
def test_EM_06_quoted_history_is_no_new_text(head: str) -> None:
    assert said(f"Yes, do it\n\n{head}\n> earlier\n> text\n") == "Yes, do it"
    found = event(mail(f"Yes, do it\n\n{head}\n> earlier\n> text\n", **REPLY))
    assert "earlier" in (found.quoted or "")


def test_EM_06_what_outlook_puts_below_is_history() -> None:
    below = "From: Bot <bot@x.test>\nSent: Tuesday, March 3, 2026 10:00\nTo: Ana\nSubject: x\n\nearlier"
    assert said(f"Yes\n\n________________________________\n{below}") == "Yes"
    assert said(f"Yes\n\n-----Original Message-----\n{below}") == "Yes"
    assert said(f"Ja\n\n{below.replace('From', 'Von').replace('Sent', 'Gesendet')}") == "Ja"


@pytest.mark.parametrize(
    "head",
    [
        "Gesendet: Montag\nVon: Tom <tom@x.test>\nAn: Ana\nBetreff: x",
        "From: Tom <tom@x.test>\nTo: Ana\nCc: Bob\nSent: Monday\nSubject: x",
        "De: Tom <tom@x.test>\nEnviado el: lunes\nPara: Ana\nAsunto: x",
        "Da: Tom <tom@x.test>\nData: lunedì\nA: Ana\nOggetto: x",
        "Från: Tom <tom@x.test>\nSkickat: den 30 november\nTill: Ana\nÄmne: x",
        "От: Tom <tom@x.test>\nОтправлено: понедельник\nКому: Ana\nТема: x",
        "差出人: Tom <tom@x.test>\n送信日時: 2026年\n宛先: Ana\n件名: x",
    ],
)
def test_EM_06_a_head_above_history_is_known_in_many_languages(head: str) -> None:
    assert cut(f"Yes\n\n{head}\n\nearlier") == ("Yes", f"{head}\n\nearlier", "")


def test_EM_06_fields_of_a_form_are_no_head() -> None:
    for form in ("From: Berlin\nTo: Bonn\nDate: 3 May\nby train", "Date: 3 May\nSeats: 2\nFrom: Bonn"):
        assert cut(f"Book this:\n{form}").text == f"Book this:\n{form}"


def test_EM_06_of_what_is_quoted_the_beginning_is_shown_and_that_is_said() -> None:
    quoted = event(mail("Yes\n\nOn Mon, Tom <tom@x.test> wrote:\n" + "> word word\n" * 300, **REPLY)).quoted
    assert quoted is not None
    assert quoted.endswith(" [...]")
    assert 2000 < len(quoted) < 2010


def test_EM_06_an_answer_below_or_between_quotations_is_kept() -> None:
    assert said("On Mon, Bot <bot@x.test> wrote:\n> question?\n\nMy answer") == "My answer"
    between = "> one?\nyes\n> two?\nno"
    assert said(between) == between
    around = "Hello\n\n> one?\nyes"
    assert said(around) == around


def test_EM_06_only_a_quotation_is_all_there_is() -> None:
    assert said("> only this") == "> only this"


@pytest.mark.parametrize(
    ("subject", "line"),
    [
        ("Fwd: invoice", "---------- Forwarded message ---------"),
        ("invoice", "---------- Forwarded message ---------"),
        ("WG: Rechnung", "-----Ursprüngliche Nachricht-----"),
        ("FW: invoice", "________________________________"),
        ("x", "Begin forwarded message:"),
        ("x", "> ---------- Forwarded message ---------"),
        ("x", "> Begin forwarded message:"),
        ("[EXT] Fwd: invoice", "From: a@b.test"),
    ],
)
def test_EM_08_what_was_passed_on_is_meant_to_be_read(subject: str, line: str) -> None:
    below = f"{line}\nFrom: a@b.test\nSent: today\n\nAmount: 40\n"
    below = below.replace("\n", "\n> ") if line.startswith(">") else below
    text = said(f"please check\n\n{below}", Subject=subject)
    assert "please check" in text
    assert "Amount: 40" in text


def test_EM_09_colons_dashes_and_telephone_numbers_are_no_signature() -> None:
    text = "The list follows:-\n\nAlpha\n+00 00 000 000\n11/29\n\nPlease file it today"
    assert said(text) == text
    for other in ("a\n--\nb", "a\n---\nb", "-- a", "Best regards are nice\nto have", "1. a\n-- b"):
        assert said(other) == other


def test_EM_28_the_signature_below_its_mark_is_cut() -> None:
    assert cut("text\n-- \nJo\nTel. 1") == ("text", "", "-- \nJo\nTel. 1")
    assert cut("text\n\nSent from my iPhone") == ("text", "", "Sent from my iPhone")
    assert cut("-- \nJo") == ("-- \nJo", "", "")
    plain = event(mail("hello bot\n\n-- \nAna sig", Subject=""))
    assert (plain.text, plain.quoted) == ("hello bot", None)


@pytest.mark.parametrize(
    "text",
    [
        "text\n-- \nJo\n\nOn Monday, Bot <bot@x.test> wrote:\n> earlier\n> -- \n> Bot",
        "text\n\nOn Monday, Bot <bot@x.test> wrote:\n> earlier\n> -- \n> Bot\n\n-- \nJo",
        "On Monday, Bot <bot@x.test> wrote:\n> earlier\n> -- \n> Bot\n\ntext\n-- \nJo",
    ],
)
def test_EM_28_what_is_quoted_keeps_its_signature_and_loses_that_of_who_quotes(text: str) -> None:
    quoted = "On Monday, Bot <bot@x.test> wrote:\n> earlier\n> -- \n> Bot"
    assert cut(text) == ("text", quoted, "-- \nJo")
    assert event(mail(text, Subject="")).quoted == quoted


def test_EM_28_what_stands_between_quotations_below_a_signature_is_not_lost() -> None:
    assert cut("text\n-- \nJo\n> why?\nbecause") == ("text", "-- \nJo\n> why?\nbecause", "")
    below = "-----Original Message-----\nearlier\n-- \nBot"
    assert cut(f"text\n-- \nJo\n{below}") == ("text", below, "-- \nJo")


def test_EM_28_a_mail_that_is_passed_on_is_read_with_its_signatures() -> None:
    text = "see below\n-- \nJo\n\n---------- Forwarded message ---------\nFrom: Bob\n\nCall me.\n-- \nBob, Tel. 1"
    for subject in ("", "Fwd: call"):
        assert said(text, Subject=subject) == text
    assert said("see below\n-- \nJo\n\nFrom: Bob", Subject="WG: x").endswith("From: Bob")
    quoting = "yes\n\nOn Monday, Bot <bot@x.test> wrote:\n> Begin forwarded message:\n\n-- \nJo"
    assert cut(quoting).signature == "-- \nJo"


def test_EM_28_soft_line_breaks_are_joined() -> None:
    flowed = {"Content-Type": "text/plain; charset=utf-8; format=flowed"}
    assert said("This is a long \nline that flows \nto here.\n-- \nJo\n", **flowed) == (
        "This is a long line that flows to here."
    )


def test_EM_29_spaces_and_depths_of_flowed_text() -> None:
    text = "今天 \n部署\n From here\n> a \n>> b\n"
    assert unflowed(text, delsp=True).split("\n") == ["今天部署", "From here", "> a", ">> b", ""]
    assert unflowed(text, delsp=False).split("\n")[0] == "今天 部署"
    assert unflowed("a \n\nb", delsp=False) == "a \nb"


def test_flowed_text_and_files_without_an_end_cost_what_their_length_says() -> None:
    assert unflowed("a \n" * 200_000, delsp=True) == "a" * 200_000
    assert list(uu_blocks(b"begin 644 A\n" + b"#A\n" * 200_000)) == []
    assert_linear(lambda n: unflowed("a \n" * n, delsp=True), 200_000)
    assert_linear(lambda n: list(uu_blocks(b"begin 644 A\n" + b"#A\n" * n)), 200_000)


# --- HTML --------------------------------------------------------------------------------------------


def test_EM_10_of_html_alone_people_see_the_text() -> None:
    html = "<style>p{}</style><p>Hi<br>there&nbsp;&amp; you</p><script>x()</script><p hidden>no</p>"
    assert said(html, Content_Type="text/html; charset=utf-8") == "Hi\nthere & you"


@pytest.mark.parametrize(
    "hidden",
    [
        '<p style="display:none">no</p>',
        '<p style="Visibility : hidden">no</p>',
        '<span style="font-size:0px">no</span>',
        '<div style="opacity:0">no</div>',
        "<!-- no -->",
        "<title>no</title>",
        "<template>no</template>",
    ],
)
def test_EM_10_hidden_text_is_not_read(hidden: str) -> None:
    assert text_of_html(f"<p>yes</p>{hidden}<p>and</p>", keep_quotes=False).split() == ["yes", "and"]


def test_EM_10_quotations_in_html_are_history_and_links_do_not_load() -> None:
    html = '<div>New</div><div class="gmail_quote">On Mon, Bot wrote:<blockquote>old</blockquote></div>'
    assert said(html, Content_Type="text/html") == "New"
    assert "old" in said(html, Content_Type="text/html", Subject="Fwd: x")
    assert text_of_html('<p>a</p><img src="http://x.test/p.png">', keep_quotes=False) == "a"
    assert text_of_html("", keep_quotes=False) == text_of_html("<p></p>", keep_quotes=False) == ""


def test_plain_text_goes_before_html_unless_it_says_nothing() -> None:
    plain, rich = b"Content-Type: text/plain\r\n\r\nplain", b"Content-Type: text/html\r\n\r\n<b>rich</b>"
    assert event(parts(plain, rich, kind="alternative")).text == "plain"
    assert event(parts(rich, plain, kind="alternative")).text == "plain"
    blank = "Content-Type: text/plain; charset=utf-8\r\n\r\n \u200b\ufeff\r\n".encode()
    assert event(parts(blank, rich, kind="alternative")).text == "rich"
    poor = b"Content-Type: text/html\r\n\r\npoor"
    assert event(parts(poor, rich, kind="alternative")).text == "rich"


@pytest.mark.parametrize("kind", ["text/html; name=mail.html", "text/plain; name=mail.txt"])
def test_the_only_text_of_a_mail_is_what_it_says_whatever_its_name(kind: str) -> None:
    found = event(raw(b"words", kind))
    assert (found.text, found.attachments) == ("words", ())
    attached_file = event(raw(b"words", kind, **{"Content-Disposition": "attachment"}))
    assert (attached_file.text, len(attached_file.attachments)) == ("", 1)


# --- charsets ----------------------------------------------------------------------------------------


def test_EM_11_a_charset_that_nobody_knows_costs_no_mail() -> None:
    found = event(raw(b"hi \xff", "text/plain; charset=bogus-8"))
    assert found.text.startswith("hi ")


@pytest.mark.parametrize(
    "label", ["utf-8", "us-ascii", "iso-8859-1", "bogus", "hex", "base64", "idna", "undefined", '"utf-8"', ""]
)
def test_EM_11_utf_8_is_found_behind_any_label(label: str) -> None:
    assert event(raw("Übung ✓".encode(), f"text/plain; charset={label}")).text == "Übung ✓"


def test_EM_11_what_the_labels_mean_in_the_wild() -> None:
    assert event(raw(b"caf\xe9 \x80", "text/plain; charset=iso-8859-1")).text == "café €"
    assert event(raw("中文".encode("gb18030"), "text/plain; charset=gb2312")).text == "中文"
    assert event(raw("日本".encode("iso-2022-jp"), "text/plain; charset=iso-2022-jp")).text == "日本"


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("iso-8859-8-i", "cp1255", "שלום"),
        ("iso-8859-6-e", "iso-8859-6", "سلام"),
        ("windows-874", "cp874", "สวัสดี"),
        ("x-sjis", "cp932", "日本語"),
        ("shift_jis", "cp932", "① ～"),
        ("x-mac-roman", "mac_roman", "Grüße"),
        ("ks_c_5601-1987", "cp949", "안녕 뷁"),
        ("gbk", "gb18030", "价格𠀀"),
        ("big5", "big5hkscs", "香港邨"),
        ("latin5", "cp1254", "“İyi”"),
        ("utf-7", "utf-7", "Привет"),
    ],
)
def test_EM_11_labels_that_are_unknown_or_too_narrow(label: str, codec: str, text: str) -> None:
    assert event(raw(text.encode(codec), f"text/plain; charset={label}")).text == text
    name = quote(f"{text}.pdf".encode(codec))
    (found,) = event(
        parts(TEXT, attached(f"Content-Disposition: attachment; filename*={label}''{name}"))
    ).attachments
    assert found.name == f"{text}.pdf"


@pytest.mark.parametrize(
    ("codec", "label"),
    [
        ("cp1251", "windows-1251"),
        ("koi8-r", "koi8-r"),
        ("utf-8", "windows-1251"),
    ],
)
def test_EM_11_html_without_a_charset_is_read_by_what_it_says_itself(codec: str, label: str) -> None:
    page = f"<meta http-equiv=Content-Type content='text/html; charset={label}'>Привет".encode(codec)
    assert event(raw(page, "text/html")).text == "Привет"
    assert event(raw(page, f"text/html; charset={codec}")).text == "Привет"


def test_EM_11_marks_before_a_text_say_what_it_is_and_are_no_letters() -> None:
    marked = b"Content-Type: text/plain; charset=utf-8\r\n\r\n\xef\xbb\xbf/help"
    assert event(parts(marked)).text == "/help"
    coded = base64.b64encode("<p>Привет".encode("utf-16"))
    for label in ("x", "utf-8"):
        head = f"Content-Type: text/html; charset={label}\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        assert event(parts(head.encode() + coded)).text == "Привет"
    page = "<meta charset=iso-2022-jp>日本語".encode("iso-2022-jp")
    assert event(raw(page, "text/html")).text == "日本語"
    odd = b"\x1b$B3t<02q<R-!\x1b(B"  # with a letter that only Windows has
    assert event(raw(odd, "text/plain; charset=iso-2022-jp")).text == "株式会社\ufffd"


def test_EM_13_encoded_words_are_joined_without_a_space() -> None:
    assert decoded("=?utf-8?B?w4TDlg==?= =?utf-8?Q?_und_=C3=BC?=") == "ÄÖ und ü"
    assert decoded("=?bogus?B?w4TDlg==?= x") == "ÄÖ x"
    assert decoded("=?utf-8?B?w4TDl?= =?x") == "=?utf-8?B?w4TDl?= =?x"


@pytest.mark.parametrize("codec", ["gb18030", "cp932", "euc_jp", "cp949", "big5hkscs"])
def test_EM_11_html_that_is_said_to_be_utf_8_and_is_not_is_read_by_what_it_says_itself(codec: str) -> None:
    words = {"cp949": "안녕하세요 주문하신 상품이 발송되었습니다 가격은 오만원입니다 " * 3}.get(
        codec, "您好您的訂單已經出貨價格是五十元請注意查收謝謝" * 3
    )
    words = (
        "ご注文ありがとうございます。商品の発送が完了しました。" * 3
        if codec in ("cp932", "euc_jp")
        else words
    )
    page = f"<meta charset={codec}><p>{words.strip()}".encode(codec)
    assert event(raw(page, "text/html; charset=utf-8")).text == words.strip()


def test_EM_11_a_text_that_is_said_to_be_utf_8_and_is_not_keeps_its_letters_though_two_of_them_look_so() -> (
    None
):
    text = "Grüße aus Köln, das macht Spaß“, sagte sie. Größe über 5 Äpfel für Müller: 49 €"
    assert event(raw(text.encode("cp1252"), "text/plain; charset=utf-8")).text == text
    torn = "Die Größe für Müller ist genau die für Jürgen ".encode() + b"\xe9"
    assert event(raw(torn, "text/plain; charset=utf-8")).text.startswith("Die Größe für Müller")


@pytest.mark.parametrize("charset", ["utf-8", "cp1252"])
def test_EM_13_letters_in_a_head_are_read_as_they_were_written(charset: str) -> None:
    head = "From: Jürgen <jue@bücher.test>\r\nSubject: Grüße\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
    file = (
        "--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=übung.pdf\r\n\r\nx"
    )
    found = event((head + file + "\r\n--b--\r\n").encode(charset))
    assert (found.text, found.sender.name) == ("Subject: Grüße", "Jürgen")
    assert found.sender.id == "jue@xn--bcher-kva.test"
    assert [file.name for file in found.attachments] == ["übung.pdf"]


def test_EM_11_a_wrong_label_is_seen_and_a_wrong_byte_is_no_wrong_label() -> None:
    assert event(raw("Grüße, jä".encode("latin-1"), "text/plain; charset=utf-8")).text == "Grüße, jä"
    assert event(raw("Grüße, jä".encode() + b"\xff", "text/plain; charset=utf-8")).text == "Grüße, jä\ufffd"


def test_EM_11_one_wrong_byte_spoils_no_text() -> None:
    text = "Привет, цена 49 €".encode() + b"\xff"
    for label in ("", "us-ascii", "iso-8859-1", "utf-8"):
        assert event(raw(text, f"text/plain; charset={label}")).text == "Привет, цена 49 €\ufffd"
    assert event(raw(b"<p>words", "text/html; charset=utf-16")).text == "words"
    assert event(raw(b"\x1b(I11\x1b(B", "text/plain; charset=iso-2022-jp")).text == "\uff71\uff71"


@pytest.mark.parametrize("coding", ["base64 ", "BASE64 (x)", '"base64"'])
def test_EM_14_the_name_of_a_coding_may_have_more_around_it(coding: str) -> None:
    head = f"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: {coding}\r\n\r\n"
    for text, end in (("Grüße", b""), ("Grüße 1", b"\r\n____\r\na list"), ("Grüße 12", b"A")):
        coded = base64.b64encode(text.encode()) + end
        assert event(parts(head.encode() + coded)).text.startswith(text)
    quoted = head.replace(coding, "Quoted-Printable ").encode() + b"Gr=C3=BC=C3=9Fe"
    assert event(parts(quoted)).text == "Grüße"


def test_EM_14_a_part_is_decoded_with_its_own_charset() -> None:
    coded = base64.b64encode("Übung ✓".encode())
    part = b"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n" + coded
    assert event(parts(part, kind="alternative")).text == "Übung ✓"


# --- files -------------------------------------------------------------------------------------------

TEXT = b"Content-Type: text/plain; charset=utf-8\r\n\r\nsee this"


def attached(*headers: str) -> bytes:
    return "\r\n".join(["Content-Type: application/pdf", *headers, "", "x"]).encode()


def test_EM_15_names_of_files_in_both_codings() -> None:
    split = attached("Content-Disposition: attachment; filename*0*=UTF-8''r%C3%A9; filename*1*=sum%C3%A9.pdf")
    words = attached('Content-Disposition: attachment; filename="=?utf-8?B?csOpc3Vtw6kucGRm?="')
    files = event(parts(TEXT, split, words)).attachments
    assert [f.name for f in files] == ["résumé.pdf", "résumé.pdf"]
    assert len({f.ref for f in files}) == 2


def test_EM_16_no_name_is_a_path() -> None:
    names = [
        "../../etc/x.txt",
        "/abs/y.txt",
        "a\\..\\b.txt",
        "",
        ".",
        "n" * 300 + ".txt",
        "con\0.txt",
        "a.txt",
        "a.txt",
    ]
    files = event(
        parts(TEXT, *(attached(f'Content-Disposition: attachment; filename="{name}"') for name in names))
    ).attachments
    assert len(files) == len({f.ref for f in files}) == len(names)
    for file in files:
        assert not set(file.name) & set("/\\\0")
        assert file.name not in (".", "..")
        assert len(file.name) <= 200


def test_a_text_with_a_file_is_answered_as_text_and_a_file_alone_is_a_message_too() -> None:
    pdf = attached('Content-Disposition: attachment; filename="a.pdf"')
    found = event(parts(TEXT, pdf))
    assert (found.text, found.unsupported) == ("see this", None)
    assert [f.name for f in found.attachments] == ["a.pdf"]
    alone = event(raw(b"x", "application/pdf; name=a.pdf"))
    assert (alone.text, alone.unsupported, len(alone.attachments)) == ("", None, 1)
    begins = event(raw(b"x", "application/pdf; name=a.pdf", **{"In-Reply-To": "", "Subject": "The bill"}))
    assert begins.text == "Subject: The bill"


def test_a_signed_mail_is_read_and_its_signature_is_no_file() -> None:
    signature = b"Content-Type: application/pgp-signature; name=signature.asc\r\n\r\nxxx"
    found = event(parts(TEXT, signature, kind="signed"))
    assert (found.text, found.attachments) == ("see this", ())


def test_an_empty_mail_gets_a_sentence() -> None:
    found = event(mail("", Subject="", In_Reply_To="<m@x>"))
    assert (found.text, found.unsupported) == ("", "a mail without text")


def test_EM_26_of_a_mail_that_is_too_big_the_beginning_is_read() -> None:
    cut_off = parts(TEXT, attached('Content-Disposition: attachment; filename="big.bin"') + b"x" * 99)[:-20]
    found = event(cut_off, size=60_000_000)
    assert found.text.startswith("see this\n\n")
    assert "60 MB" in found.text
    assert [(f.name, f.size) for f in found.attachments] == [("big.bin", None)]


def test_EM_26_of_big_files_only_the_beginning_is_read_and_what_stands_behind_them_is_kept() -> None:
    big = base64.encodebytes(bytes(range(256)) * 12_000).replace(b"\n", b"\r\n")
    coded = b"Content-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n" + big
    whole = parts(TEXT, coded, b"Content-Type: text/plain\r\n\r\nbehind it", coded)
    assert len(slimmed(whole)) < len(whole) / 4
    found = event(whole)
    assert found.text == "see this\n\nbehind it"
    assert [(f.name, f.size) for f in found.attachments] == [("a.pdf", None)] * 2
    small = parts(TEXT, coded[:100_000])
    assert slimmed(small) == small


@pytest.mark.parametrize(("lines", "is_whole"), [(40_000, True), (130_000, False)])
def test_words_behind_a_big_picture_in_a_coded_text_are_read_or_missed_aloud(
    lines: int, is_whole: bool
) -> None:
    picture = b"<p>above<img src='data:image/png;base64," + b"QUJD" * 14 * lines + b"'>"
    page = picture + b"<p>49 EUR" + b"<p>more" * 20
    coded = b"Content-Transfer-Encoding: base64\r\n\r\n" + base64.encodebytes(page).replace(b"\n", b"\r\n")
    found = event(parts(b"Content-Type: text/html\r\n" + coded)).text
    assert found.startswith("above")
    assert ("49 EUR" in found) == is_whole
    assert ("I only see the beginning" in found) != is_whole
    named = b"Content-Type: text/csv\r\nContent-Disposition: attachment; filename=a.csv\r\n"
    assert event(parts(TEXT, named + coded)).text == "see this"


def test_of_a_mail_of_tiny_lines_the_beginning_is_read_and_that_is_said() -> None:
    found = event(parts(TEXT + b"a\r\n" * 700_000))
    assert found.text.startswith("see this")
    assert "of its text I only see the beginning" in found.text
    ordinary = parts(TEXT, b"Content-Type: text/plain\r\n\r\n" + b"b" * 75 + b"\r\n")
    assert first_lines(ordinary) is ordinary


def test_parts_without_end_are_read_to_a_bound() -> None:
    deep = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"
    for _ in range(200):
        deep = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n" + deep + b"\r\n--b--\r\n"
    assert parse_mail(Seen(b"From: ana@far.test\r\n" + deep, len(deep)), None, READING) is not None
    wide = parts(TEXT, *[attached("Content-Disposition: attachment; filename=x.pdf")] * 1000)
    assert len(event(wide).attachments) <= 201


def test_of_a_text_beyond_all_bounds_the_beginning_is_read_and_that_is_said() -> None:
    note = "(It is very long; of its text I only see the beginning.)"
    for kind in ("text/plain; charset=punycode", "text/plain; format=flowed", "text/html"):
        found = event(raw(b"so it is \r\n" * 300_000, kind))
        assert found.text.startswith("so it is")
        assert found.text.endswith(note)
    picture = b"<img src='data:image/png;base64," + b"QUJD" * 600_000 + b"'>"
    assert event(raw(picture + b"<p>behind it</p>", "text/html")).text == "behind it"


def test_fields_without_end_are_read_to_a_bound_and_a_second_sender_behind_them_is_seen() -> None:
    many = b"a:\r\n" * 20_000
    found = parse_mail(Seen(b"From: ana@far.test\r\n" + many + b"\r\nhi", 9), None, READING)
    assert isinstance(found, Event)
    assert_linear(lambda n: event(b"From: ana@far.test\r\n" + b"a:\r\n" * n + b"\r\nhi"), 20_000)
    two = b"From: ana@far.test\r\n" + many + b"From: jo@far.test\r\n\r\nhi"
    assert isinstance(parse_mail(Seen(two, len(two)), None, READING), Unparsable)


def test_a_mail_of_many_levels_costs_what_its_length_says() -> None:
    def deep(levels: int) -> bytes:
        heads = b"".join(
            b"--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n" % (n, n + 1)
            for n in range(levels)
        )
        begin = b"From: ana@far.test\r\nContent-Type: multipart/mixed; boundary=b0\r\n\r\n"
        return begin + heads + b"w\r\n" * (levels * 140)

    assert_linear(lambda levels: event(deep(levels)), 700)
