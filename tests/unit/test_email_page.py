"""What a reader sees of an HTML mail: no hidden words, all others, at a cost that grows with the mail alone."""

import resource
from collections.abc import Callable

import pytest

from adapters.email.hypertext import shown_pictures, text_of_html
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
    "columns": (lambda n: "<table><tr>" + "<td>x" * n + "</table>", 50_000, 1),
    "tables in each other": (lambda n: "<table><tr><td>x" * n, 160, 160),
    "one line": (lambda n: "a<b>a</b>" * n, 40_000, 1),
    "hidden": (lambda n: "<p hidden>x</p>y" * n, 20_000, 1),
    "attributes": (lambda n: "<p " + " ".join(f"a{number}=1" for number in range(n)) + ">x</p>", 20_000, 1),
    "levels": (lambda n: "<div>" * n + "</q>" * n + "x", 50_000, 1),
    "rules": (lambda n: "<style>" + ".a{display:none}/*" * n + "</style>x", 20_000, 1),
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


def test_no_word_is_lost_by_hand_in_a_head_that_is_none() -> None:
    page = "<html><head><title>no</title><style>no</style><main>words</main>"
    assert text_of_html(page, keep_quotes=False, by_hand=True) == "words"


def test_a_number_that_is_no_letter_costs_no_mail() -> None:
    page = "<p>words</p>&#" + "9" * 5_000
    assert shown_pictures(page + "<img src=cid:a>", keep_quotes=True) == {"a"}
    for by_hand in (True, False):
        assert text_of_html(page, keep_quotes=False, by_hand=by_hand).startswith("words")
