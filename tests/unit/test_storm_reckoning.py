"""The judge of a storm sees what it is there for."""

from collections import Counter

import pytest

from bench.reckoning import AGAIN, Books, Talk, token_in, tokens

A, B = "m-chat-1", "m-chat-2"
DONE_A, DONE_B = f"done {A}.", f"done {B}."


def judged(
    mode: str,
    *shown: str,
    unheard: tuple[str, ...] = (),
    letters: tuple[str, ...] = (),
    deduplicates: bool = False,
) -> Books:
    books = Books(mode, tokens(unheard), letters)
    books.add(Talk("chat", deduplicates, [A, B], shown))
    books.close()
    return books


def test_one_answer_each_is_what_is_wanted() -> None:
    for mode in ("resend", "drop"):
        assert judged(mode, DONE_A, f"so it is {DONE_B}").wrong == {}


def test_discords_escapes_and_beginnings_of_answers_are_no_answers() -> None:
    assert token_in("done m\\-chat\\-1.") == A
    assert token_in(f"about {A} about") is None
    assert tokens([f"about {A}", DONE_A, "nothing"]) == Counter({A: 2})


@pytest.mark.parametrize("mode", ["resend", "drop"])
def test_a_loss_must_be_reported_and_is_none_with_resend(mode: str) -> None:
    assert A in judged(mode, DONE_B).wrong
    assert (A in judged(mode, DONE_B, letters=(A,)).wrong) == (mode == "resend")
    assert judged("drop", DONE_B).unreported == 1


def test_a_double_needs_an_answer_that_was_lost_and_a_mark() -> None:
    assert judged("resend", DONE_A, AGAIN + DONE_A, DONE_B, unheard=(DONE_A,)).wrong == {}
    assert A in judged("resend", DONE_A, AGAIN + DONE_A, DONE_B).wrong
    assert A in judged("resend", DONE_A, DONE_A, DONE_B, unheard=(DONE_A,)).wrong
    assert A in judged("drop", DONE_A, AGAIN + DONE_A, DONE_B, unheard=(DONE_A,)).wrong
    assert A in judged("resend", DONE_A, AGAIN + DONE_A, DONE_B, unheard=(DONE_A,), deduplicates=True).wrong


def test_the_order_counts() -> None:
    assert any("order" in reason for reason in judged("resend", DONE_B, DONE_A).wrong.values())
    late = judged("resend", DONE_A, DONE_B, AGAIN + DONE_A, unheard=(DONE_A,))
    assert late.wrong == {}  # the first one was in its place


def test_a_dead_letter_that_had_arrived_is_known_only_where_nobody_could_know() -> None:
    assert judged("drop", DONE_A, DONE_B, letters=(A,), unheard=(DONE_A,)).wrong == {}
    assert judged("drop", DONE_A, DONE_B, letters=(A,)).wrong != {}


def test_what_nobody_asked_for_is_wrong_but_for_the_beginning_of_a_lost_answer() -> None:
    assert judged("resend", DONE_A, DONE_B, "Something went wrong.").wrong != {}
    assert judged("resend", DONE_A, f"about {B}", DONE_B).wrong != {}
    assert judged("resend", DONE_A, f"about {B}", DONE_B, unheard=(f"about {B}",)).wrong == {}
