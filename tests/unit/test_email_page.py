"""What a reader sees of an HTML mail: no hidden words, all others, at a cost that grows with the mail alone."""

import resource
import time

import pytest

from adapters.email.hypertext import text_of_html


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
    ],
)
def test_EM_10_what_hides_words_wherever_it_stands(page: str) -> None:
    assert text_of_html(page, keep_quotes=False) == "words"


def test_styles_without_end_are_read_in_linear_time() -> None:
    began = time.process_time()
    nested = "<style>" + "@media all{" * 30_000 + ".a{}" * 100_000
    for page in (
        nested,
        "<style>" * 100_000,
        "<!-- -->" * 100_000 + "<style>",
        "<style" * 100_000,
        "<!--<style>" * 50_000,
    ):
        text_of_html(page, keep_quotes=False)
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    "page",
    [
        "<div style='display:inline-block'>Left</div><div style='display:inline-block'>Right</div>",
        "<a style='display:inline-block'>Left</a><a>Right</a>",
        "<span style='float:left'>Left</span><span>Right</span>",
        "<div style='display:flex'><span>Left</span><span>Right</span></div>",
        "<div style='display:table-cell'>Left</div><div style='display:table-cell'>Right</div>",
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


WIDE = "word " * 20_000
ATTRIBUTES = " ".join(f"a{number}=1" for number in range(20_000))


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        pytest.param("<div style='padding-left:99999em'>" + "a<br>" * 5_000, 5_000, id="padding"),
        pytest.param("<p style='margin-top:99999em'>x</p>" * 5_000, 9_999, id="margins"),
        pytest.param("<ul><li>" * 200 + "a<br>" * 20_000, 20_000, id="lists"),
        pytest.param("<ol><li value=" + "9" * 4_000 + ">a" + "<li>a" * 5_000, 5_001, id="numbers"),
        pytest.param(f"<table><tr><td>{WIDE}</td></tr>" + "<tr><td>x</td></tr>" * 5_000, 5_001, id="cells"),
        pytest.param(
            "<table><tr><td>" + "a<br>" * 10_000 + f"<td>{WIDE}</table>",
            10_001,
            id="a high cell and a wide one",
        ),
        pytest.param("<table><tr>" + "<td>x" * 50_000 + "</table>", 1, id="columns"),
        pytest.param("<table><tr><td>x" * 160, 160, id="tables in each other"),
        pytest.param("a<b>a</b>" * 40_000, 1, id="one line"),
        pytest.param("<p hidden>x</p>y" * 20_000, 1, id="hidden"),
        pytest.param(f"<p {ATTRIBUTES}>x</p>", 1, id="attributes"),
        pytest.param("<div>" * 50_000 + "</q>" * 50_000 + "x", 1, id="levels"),
        pytest.param("<style>" + ".a{display:none}/*" * 20_000 + "</style>x", 1, id="rules"),
        pytest.param("<p style='" + "/*:;" * 40_000 + "'>x</p>", 1, id="style"),
    ],
)
def test_hostile_html_costs_what_its_length_says(html: str, lines: int) -> None:
    begun, held = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = text_of_html(html, keep_quotes=False)
    assert len(text.split("\n")) == lines
    assert len(text) < 2 * len(html)
    assert time.process_time() - begun < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held < 40_000  # kB


@pytest.mark.parametrize("depth", [300, 3_000])
def test_words_are_read_however_deep_they_stand(depth: int) -> None:
    html = "<p>above</p>" + "<div>" * depth + "deep words" + "</div>" * depth + "below"
    assert text_of_html(html, keep_quotes=False).split() == ["above", "deep", "words", "below"]


def test_words_before_a_cell_stand_before_it() -> None:
    assert (
        text_of_html("<table><tr>before<td>cell</td><td>next</td></tr></table>", keep_quotes=False)
        == "before cell next"
    )


def test_no_word_is_lost_by_hand_in_a_head_that_is_none() -> None:
    page = "<html><head><title>no</title><style>no</style><main>words</main>"
    assert text_of_html(page, keep_quotes=False, by_hand=True) == "words"
