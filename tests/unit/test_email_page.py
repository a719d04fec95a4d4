"""What a reader sees of an HTML mail: no hidden words, all others, at a cost that grows with the mail alone."""

import resource
from collections.abc import Callable

import pytest

from adapters.email.hypertext import shown_pictures, text_of_html
from adapters.email.quoting import cut
from tests.growth import assert_linear


@pytest.mark.parametrize(
    "hidden",
    [
        "font-size:0.0px",
        "font-size:1px;line-height:1px",
        "font:0/0 a",
        "font:0 / 12px a",
        "opacity:.0",
        "display/**/:none",
        "display:none !important",
        "visibility:collapse",
        "position:absolute;left:-9999px",
        "max-height:0;overflow:hidden",
        "transform:scale(0)",
        "clip:rect(0, 0, 0, 0)",
        "margin-left:-9999px",
        "position:absolute;left:9999px",
        "font-size:0cm",
        "height:0in;overflow-y:hidden",
        "opacity:.001",
    ],
)
def test_EM_10_what_no_reader_sees_is_not_read_in_whatever_way_it_is_hidden(hidden: str) -> None:
    assert text_of_html(f"<p>yes</p><p style='{hidden}'>no</p><p>and</p>", keep_quotes=False) == "yes\n\nand"


def test_EM_10_classes_and_ids_that_a_page_hides_are_not_read() -> None:
    rules = ".pre, #id {display:none} .k{display:none} .k{display:block} @media print {.m {display:none}}"
    html = "<p class='a pre'>no</p><p id=id>no</p><p class=k>yes</p><p class=m>and</p><p class=pre style='display:block'>so</p>"
    page = f"<html><head><style>{rules}</style></head><body>{html}</body></html>"
    assert text_of_html(page, keep_quotes=False).split() == ["yes", "and", "so"]


@pytest.mark.parametrize(
    "seen",
    [
        "font-size:10px",
        "font-size:1.5em",
        "font:12px/1.5 Arial",
        "font:12px/0 Arial",
        "font:bold 10pt Open Sans",
        "opacity:0.5",
        "opacity:1",
        "height:0;overflow:visible",
        "margin-left:-12px",
        "transform:scale(0.5)",
        "left:-5px",
        "width:0",
        "font-size:0;font-size:12px",
    ],
)
def test_EM_10_what_is_small_or_moved_is_read(seen: str) -> None:
    assert text_of_html(f"<p style='{seen}'>yes</p>", keep_quotes=False) == "yes"


@pytest.mark.parametrize(
    "page",
    [
        "<style media='only screen and (max-width:480px)'>.c {display:none}</style><p class=c>words</p>",
        "<style media=print>.c {display:none}</style><p class=c>words</p>",
        "<style>br.c, img.c {display:none}</style><p class=c>words</p>",
        "<style>p.c {display:block} .c {display:none}</style><p class=c>words</p>",
        "<style>#i {display:block} p.c {display:none}</style><p class=c id=i>words</p>",
        "<p style='margin-left:106.35pt;text-indent:-106.35pt'>words</p>",
        "<div style='top:-100px'>words</div>",
        "<div style='overflow:hidden;width:0;min-width:100%'>words</div>",
        "<div style='font-size:0'><div style='font-size:1rem'>words</div></div>",
        "<style>.c {font-size:16px}</style><div style='font-size:0'>no<div class=c>words</div></div>",
        "<div style='font-size:0'>no<font size=3>words</font></div>",
        "<style>p {color:red}</style><main>words</main>",
        "<!doctype html><html><head><title>no</title><section>words</section></html>",
        "<!--[if mso]><style>.c {display:none}</style><![endif]--><p class=c>words</p>",
        "<script>'<style>.c {display:none}</style>'</script><p class=c>words</p>",
        "<style>.a {font-size:0} .a .b {font-size:14px}</style><div class=a><p class=b>words</p></div>",
        "<style>.a {font-size:0} p {font-size:14px}</style><div class=a><p>words</p></div>",
        "<style>p {font-size:14px}</style><div style='font-size:0'><p>words</p></div>",
        "<style>.c {display:none} .d {display:block}</style><p class='c d'>words</p>",
        "<style>.c {opacity:0}</style><p class=c style='opacity:1'>words</p>",
        "<dialog open>words</dialog>",
        "<title>İİİİİİ</title><STYLE media=print>.c {display:none}</STYLE><p class=c>words</p>",
        "<!--[if mso]><v:rect>no</v:rect><![endif]--><a style='display:inline-block;mso-hide:all'>words</a>",
        "<style>.c {display:block !important}</style><div class=c style='display:none'>words</div>",
        "<style>.c {display:block !important} #i {display:none}</style><p class=c id=i>words</p>",
        "<td style='max-width:0;overflow:hidden;text-overflow:ellipsis'>words</td>",
        "<table style='height:0;overflow:hidden'><tr style='height:0;overflow:hidden'><td>words</table>",
        "<span style='width:0;overflow:hidden;text-indent:-999px'>words</span>",
        "<div style='visibility:hidden'>no<p style='visibility:visible'>words</p></div>",
        "<div style='position:relative;top:-120px'>words</div>",
        "<div style='height:0;overflow:hidden;padding-bottom:56.25%'>words</div>",
        "<div style='font-size:0'><button>words</button></div>",
        "<div style='font-size:0'><table><tr><td>words</td></tr></table></div>",
        "<p hidden style='display:block'>words</p>",
        "<template><style>.c {display:none}</style></template><p class=c>words</p>",
        "<style type=text/plain>.c {display:none}</style><p class=c>words</p>",
        "<style>} .c {display:none}</style><p class=c>words</p>",
        "<style>.a {top:0}; .c {display:none}</style><p class=c>words</p>",
        "<style>.c {display:none} @media (min-width:480px) {.c {display:block}}</style><p class=c>words</p>",
        "<style>@media (min-width:480px) {.c {display:none}}</style><p class=c>words</p>",
        "<style>.c {opacity:0;animation:fade 1s forwards}</style><p class=c>words</p>",
        "<p style=\"background:url('a;display:none;b')\">words</p>",
        "<wbr hidden>words",
        "<!-- <wbr -->words<!-- x -->",
        "<style>.a {display:none} .b {display:block} .a {color:red;top:0}</style><p class='a b'>words</p>",
        "<style>.c {display:none} body .c {display:block}</style><p class=c>words</p>",
        "<style>.c {display:none} @supports (a:b) {.c {display:block}}</style><p class=c>words</p>",
        "<style>.c {display:none} @media (width >= 9px) {.c {display:block}}</style><p class=c>words</p>",
        "<p>" + "<wbr>" * 600 + "words</p>",
    ],
)
def test_EM_10_what_layouts_need_hides_no_words(page: str) -> None:
    assert text_of_html(page, keep_quotes=False) == "words"


@pytest.mark.parametrize(
    "page",
    [
        "<p class=c>no</p><style>.c {display:none}</style><p>words</p>",
        "<style>@import url(x); .c {display:none}</style><p class=c>no</p><p>words</p>",
        "<style>@media all {.c {display:none}}</style><p class=c>no</p><p>words</p>",
        "<style>.c {font-size:0}</style><p class=c>no</p><p>words</p>",
        "<style>.c {opacity:0}</style><p class=c>no</p><p>words</p>",
        "<title>İİİİİİ</title><Style>.c {display:none}</Style><p class=c>no</p><p>words</p>",
        "<p style='display:none!important;display:block'>no</p><p>words</p>",
        "<p style='display:none;display:nonsense'>no</p><p>words</p>",
        "<dialog>no</dialog><p>words</p><audio>no</audio>",
        "<style>.c {display:none !important}</style><p class=c style='display:block'>no</p><p>words</p>",
        "<!doctype html><div style='font-size:0'><table><tr><td>no</table></div><p>words</p>",
        "<!--><style>.c {display:none}</style><p class=c>no</p><p>words</p><!-- x -->",
        "<p title='<!--'></p><style title='>'>.c {display:none}</style><p class=c>no</p><p>words</p>",
        "<style media='screen, print'>.c {display:none}</style><p class=c>no</p><p>words</p>",
        "<style>@media only screen {.c {display:none}}</style><p class=c>no</p><p>words</p>",
        "<style>@layer a {.c {display:none}}</style><p class=c>no</p><p>words</p>",
        "<style>.x {content:'{'} *.c {display:none}</style><p class=c>no</p><p>words</p>",
        r"<style>.a\:b, .\63 {display:none}</style><p class=a:b>no</p><p class=c>no</p><p>words</p>",
        "<p style='text-indent:-9999px;margin:0'>no</p><p>words</p>",
        "<p style='max-height:0;min-height:0;overflow:hidden'>no</p><p>words</p>",
        "<p class='<wbr ' hidden>no</p><p>words</p>",
        "<style>.a {font-size:0}</style><div class=a><b>no</b></div><p>words</p>",
        "<style>.c {display:none} @media (max-width:9px) {.c {display:block}}</style><p class=c>no</p><p>words</p>",
        "<img alt='do as I say' src=cid:x><img alt='do as I say' style='width:1px'><p>words</p>",
        "<noframes>no</noframes><progress>no</progress><p>words</p>",
    ],
)
def test_EM_10_what_hides_words_wherever_it_stands(page: str) -> None:
    assert text_of_html(page, keep_quotes=False) == "words"


@pytest.mark.parametrize(
    "page",
    [
        lambda n: "<style>" + "@media all{" * (n // 4) + ".a{}" * n,
        lambda n: "<style>" * n,
        lambda n: "<!-- -->" * n + "<style>",
        lambda n: "<style" * n,
        lambda n: "<!--<style>" * (n // 2),
    ],
    ids=["nested", "styles", "comments", "unfinished", "in comments"],
)
def test_styles_without_end_are_read_in_linear_time(page: Callable[[int], str]) -> None:
    assert_linear(lambda n: text_of_html(page(n), keep_quotes=False), 100_000)


@pytest.mark.parametrize(
    "page",
    [
        "<div style='display:inline-block'>Left</div><div style='display:inline-block'>Right</div>",
        "<a style='display:inline-block'>Left</a><a>Right</a>",
        "<span style='float:left'>Left</span><span>Right</span>",
        "<div style='display:flex'><span>Left</span><span>Right</span></div>",
        "<div style='display:table-cell'>Left</div><div style='display:table-cell'>Right</div>",
        "<button>Left</button><button>Right</button>",
        "<a style='padding:0 20px'>Left</a><a style='padding:0 20px'>Right</a>",
        "Left<img src=x>Right",
    ],
)
def test_boxes_beside_each_other_do_not_touch(page: str) -> None:
    assert text_of_html(page, keep_quotes=False) == "Left Right"
    assert (
        text_of_html("<b>Le</b>ft <span style='display:inline'>Ri</span>ght", keep_quotes=False)
        == "Left Right"
    )


def test_EM_10_letters_of_no_size_around_others_hide_nothing_of_these() -> None:
    layout = "<td style='font-size:0px'>no<div style='font-size:13px'>yes</div>no</td>"
    assert text_of_html(f"<table><tr>{layout}</tr></table>", keep_quotes=False) == "yes"


def test_EM_10_cells_of_one_line_are_a_line_and_columns_are_read_one_by_one() -> None:
    rows = "<tr><td><p>Name</p></td><td>Ana</td></tr><tr><td>left<br>below</td><td>right</td></tr>"
    assert text_of_html(f"<table>{rows}</table>end", keep_quotes=False) == "Name Ana\nleft\nbelow\nright\nend"


def test_EM_10_lists_preformatted_text_and_what_stands_behind_an_instruction() -> None:
    html = "<ol start=5><li>x<li value=9>y</ol><ul><li><p>a</p><ul><li>b</ul></ul><pre>c\nd</pre>e<?xml:namespace />f"
    assert text_of_html(html, keep_quotes=False) == "5. x\n9. y\n\n* a\n\n+ b\nc\nd\nef"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("$19<sup>99</sup>, 10<sup>2</sup> m<sup>2</sup>, x<sub>1</sub>", "$19^99, 10^2 m2, x1"),
        ("<del>100</del><ins>80</ins> <s></s>", "~~100~~80"),
        ("<span style='text-decoration:line-through'>100</span> 80", "~~100~~ 80"),
        ("a<img alt='Order 4711'>b<img alt=x><img alt=pixel width=1>", "a [Order 4711] b"),
        ("<img alt=👍>", "👍"),
        ("<pre>def f():\n    return 1\n\n\ny</pre>", "def f():\n    return 1\n\ny"),
        ("<style>.c {white-space:pre-wrap}</style><div class=c>a\n  b</div>", "a\n  b"),
        ("12</br>50", "12\n50"),
        ("<input type=checkbox checked> ship<br><input type=checkbox> pay", "[x] ship\n[ ] pay"),
        ("<ol start=-1><li>a</ol>", "-1. a"),
        ("19<span style='vertical-align:super'>99</span>", "19^99"),
        ("<a href=https://x.test><img alt=Letterhead></a><p>/new</p>", "/new"),
        ("<fieldset><legend>Total</legend>5</fieldset>", "Total\n5"),
        ("<p>to tom@x.test:</p><blockquote>words</blockquote>", "to tom@x.test:\n\nwords"),
        ("<div>Discount:</div><div>-- </div><div>Total</div>", "Discount:\n--\nTotal"),
        ("<table><tr><td>a</td><td>--&nbsp;<br></td></tr></table>b", "a --\nb"),
    ],
)
def test_what_changes_the_sense_of_words_is_written_out(html: str, text: str) -> None:
    assert text_of_html(html, keep_quotes=False) == text


@pytest.mark.parametrize(
    ("link", "text"),
    [
        ("<a href=https://x.test/a>this</a>", "this <https://x.test/a>"),
        ("<a href=mailto:tom@x.test?subject=a>Tom</a>", "Tom <tom@x.test>"),
        ("<a href=https://x.test/><img alt='Track it'></a>", "[Track it] <https://x.test/>"),
        ("<a href='http://evil.test'>https://bank.test</a>", "https://bank.test <http://evil.test>"),
        ("<a href='https://www.x.test/'>www.x.test</a>", "www.x.test"),
        ("<a href=mailto:tom@x.test>Tom (tom@x.test)</a>", "Tom (tom@x.test)"),
        (f"<a href='https://a.test@x.test/{'t' * 200}'>it</a>", "it <https://x.test/...>"),
        ("<a href='https://x.test/\n> a'>it</a>", "it <https://x.test/%3Ea>"),
        ("<a href=javascript:x>it</a> <a href=/a>is</a> <a name=b>so</a>", "it is so"),
        ("<a href='https://x.test/ABC'>https://X.test/abc</a>", "https://X.test/abc <https://x.test/ABC>"),
        ("it<a href=https://x.test hidden>no</a><a href=https://x.test></a>", "it"),
        ("it<span style='font-size:0'><a href=https://x.test>no</a></span>", "it"),
    ],
)
def test_where_a_link_leads_stands_behind_its_words(link: str, text: str) -> None:
    assert text_of_html(link, keep_quotes=False) == text


def test_of_the_first_links_of_a_page_it_is_said_where_they_lead() -> None:
    text = text_of_html("<a href=https://x.test/a>it</a> " * 70, keep_quotes=False)
    assert (text.count("it"), text.count("x.test")) == (70, 60)


ATTRIBUTION = "On Mon, Tom &lt;tom@x.test&gt; wrote:"
QUOTED = "> On Mon, Tom <tom@x.test> wrote:\n> one?"


@pytest.mark.parametrize("style", ["class=gmail_quote", "class=protonmail_quote type=cite", ""])
def test_EM_06_answers_between_quotations_are_no_words_of_others(style: str) -> None:
    attr = f"<div class=gmail_attr>{ATTRIBUTION}<br></div>"
    quotes = [f"<blockquote {style}>{words}</blockquote>" for words in ("one?", "two?")]
    page = f"<div class='gmail_quote x'>{attr}{quotes[0]}<div>yes</div>{quotes[1]}<div>no</div></div>"
    between = f"{QUOTED}\nyes\n> two?\nno"
    assert text_of_html(page, keep_quotes=False) == between
    assert cut(between).text == between


def test_EM_06_what_follows_who_wrote_is_quoted_whatever_its_tags_say() -> None:
    page = "yes<div>30 Nov, Tom &lt;tom@x.test&gt;:</div><blockquote>one?</blockquote><blockquote>said</blockquote>"
    assert text_of_html(page, keep_quotes=False).endswith("Tom <tom@x.test>:\n> one?\nsaid")


@pytest.mark.parametrize(
    "signature",
    [
        "<div class=moz-signature>-- <br>Ana</div>",
        "<pre>-- \nAna</pre>",
        "<span>--&nbsp;</span><br><div>Ana</div>",
    ],
)
def test_EM_28_the_mark_of_a_signature_keeps_its_space(signature: str) -> None:
    page = f"<p>yes</p><div class=moz-cite-prefix>{ATTRIBUTION}</div><blockquote type=cite>one?</blockquote>{signature}"
    found = cut(text_of_html(page, keep_quotes=False))
    assert found == ("yes", QUOTED, "-- \nAna")


WIDE = "word " * 20_000
# A page of n parts, how many n are tried, and how many lines it has then.
HOSTILE: dict[str, tuple[Callable[[int], str], int, int]] = {
    "padding": (lambda n: "<div style='padding-left:99999em'>" + "a<br>" * n, 5_000, 5_000),
    "margins": (lambda n: "<p style='margin-top:99999em'>x</p>" * n, 5_000, 9_999),
    "lists": (lambda n: "<ul><li>" * 200 + "a<br>" * n, 20_000, 20_000),
    "numbers": (lambda n: "<ol><li value=" + "9" * 4_000 + ">a" + "<li>a" * n, 5_000, 5_001),
    "cells": (lambda n: f"<table><tr><td>{WIDE}</td></tr>" + "<tr><td>x</td></tr>" * n, 5_000, 5_001),
    "a high cell and a wide one": (
        lambda n: "<table><tr><td>" + "a<br>" * n + f"<td>{WIDE}</table>",
        10_000,
        10_001,
    ),
    "columns": (lambda n: "<table><tr>" + "<td>x" * n + "</table>", 20_000, 1),
    "tables in each other": (lambda n: "<table><tr><td>x" * n, 160, 160),
    "one line": (lambda n: "a<b>a</b>" * n, 40_000, 1),
    "hidden": (lambda n: "<p hidden>x</p>y" * n, 20_000, 1),
    "attributes": (lambda n: "<p " + " ".join(f"a{number}=1" for number in range(n)) + ">x</p>", 20_000, 1),
    "levels": (lambda n: "<div>" * n + "</q>" * n + "x", 50_000, 1),
    "rules": (lambda n: "<style>" + ".a{display:none}/*" * n + "</style>x", 20_000, 1),
    "names": (
        lambda n: "<style>" + ",".join(f".a{i}" for i in range(n)) + "{top:0;left:0;right:0}</style>x",
        20_000,
        1,
    ),
    "links": (lambda n: "<a href=https://x.test/a>x" * n, 20_000, 1),
    "strings": (lambda n: "<style>" + "\"'" * n + "</style>x", 40_000, 1),
    "no breaks": (lambda n: "<wbr>a" * n, 20_000, 1),
    "no breaks and no ends": (lambda n: "<wbr>" * n + "</q>" * n, 40_000, 1),
    "struck": (lambda n: "<s>a</s><sup>1</sup>" * n, 20_000, 1),
    "style": (lambda n: "<p style='" + "/*:;" * n + "'>x</p>", 40_000, 1),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_html_costs_what_its_length_says(kind: str) -> None:
    page, size, lines = HOSTILE[kind]
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = text_of_html(page(size), keep_quotes=False)
    assert len(text.split("\n")) == lines
    assert len(text) < 2 * len(page(size))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held < 40_000  # kB
    assert_linear(lambda n: text_of_html(page(n), keep_quotes=False), size)


@pytest.mark.parametrize("depth", [300, 3_000])
def test_words_are_read_however_deep_they_stand(depth: int) -> None:
    html = "<p>above</p>" + "<div>" * depth + "deep words" + "</div>" * depth + "below"
    assert text_of_html(html, keep_quotes=False).split() == ["above", "deep", "words", "below"]


def test_words_before_a_cell_stand_before_it() -> None:
    assert (
        text_of_html("<table><tr>before<td>cell</td><td>next</td></tr></table>", keep_quotes=False)
        == "before cell next"
    )


def test_pictures_that_the_sender_sets_in_and_styles_of_quotations_are_shown() -> None:
    for above in ("<blockquote style='margin:0 40px'>", "<style>.gmail_quote {top:0}</style>"):
        assert shown_pictures(f"<p>look</p>{above}<img src=cid:a>", keep_quotes=False) == {"a"}
    for quote in ("<blockquote type=cite>", "<div class='x gmail_quote'>", "<div id=divRplyFwdMsg>"):
        assert shown_pictures(f"<p>look</p>{quote}<img src=cid:a>", keep_quotes=False) == set()


def test_no_word_is_lost_by_hand_in_a_head_that_is_none() -> None:
    page = "<html><head><title>no</title><style>no</style><main>words</main>"
    assert text_of_html(page, keep_quotes=False, by_hand=True) == "words"


def test_a_number_that_is_no_letter_costs_no_mail() -> None:
    page = "<p>words</p>&#" + "9" * 5_000
    assert shown_pictures(page + "<img src=cid:a>", keep_quotes=True) == {"a"}
    for by_hand in (True, False):
        assert text_of_html(page, keep_quotes=False, by_hand=by_hand).startswith("words")
