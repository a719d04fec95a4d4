"""A part put together from what servers make of being asked for a piece of it."""

from collections.abc import Callable

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from adapters.email.sections import Assembly, Given, given
from hermes.errors import Gone

MOST = 7
"""Bytes asked for at once."""

Server = Callable[[bytes, int, int], Given | None]
"""What it answers of a part, asked for so many bytes from there on."""

SERVERS: dict[str, Server] = {
    "as it should": lambda part, start, most: Given(part[start : start + most], start),
    "does not say where": lambda part, start, most: Given(part[start : start + most], None),
    "knows no pieces": lambda part, start, most: Given(part, None),
    "knows no pieces and says otherwise": lambda part, start, most: Given(part, start),
    "always from the beginning": lambda part, start, most: Given(part, 0),
    "gives all the rest": lambda part, start, most: Given(part[start:], start),
    "gives little": lambda part, start, most: Given(part[start : start + 3], start),
    "gives nothing behind the end": lambda part, start, most: (
        Given(part[start : start + most], start) if start < len(part) or not start else None
    ),
}


def put_together(server: Server, part: bytes) -> bytes:
    assembly, found = Assembly(MOST), b""
    for _ in range(len(part) + 2):
        found += assembly.add(server(part, assembly.at, MOST))
        if assembly.over:
            return found
    raise AssertionError("it is asked without end")


@pytest.mark.parametrize("kind", SERVERS)
@drawn(st.integers(0, 40))
def test_EM_23_a_part_of_any_size_comes_whole(kind: str, size: int) -> None:
    part = bytes(range(65, 65 + size))
    if size % MOST == 0 and size and kind == "gives nothing behind the end":
        with pytest.raises(Gone, match="went away"):  # it might be that: the last piece was a full one
            put_together(SERVERS[kind], part)
    elif size == MOST and kind == "always from the beginning":
        with pytest.raises(Gone, match="other pieces"):  # there may be more that it would never give
            put_together(SERVERS[kind], part)
    else:
        assert put_together(SERVERS[kind], part) == part


@pytest.mark.parametrize("answer", [Given(b"cut", 9), Given(b"abcdefg", 0), None])
def test_what_leaves_a_hole_is_an_error_and_no_shorter_file(answer: Given | None) -> None:
    assembly = Assembly(MOST)
    assembly.add(Given(b"abcdefg", 0))
    with pytest.raises(Gone):
        assembly.add(answer)


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([b"1 FETCH (UID 4 BODY[2]<0> {3}", bytearray(b"abc"), b")", b"done"], Given(b"abc", 0)),
        ([b"1 FETCH (BODY[2] {3}", bytearray(b"abc"), b" UID 4)"], Given(b"abc", None)),
        ([b"1 FETCH (UID 4 body[2]<7> NIL)"], Given(b"", 7)),
        ([rb'1 FETCH (UID 4 BODY[2]<7> "a\"b\\")'], Given(rb'a"b' + b"\\", 7)),
        ([b'1 FETCH (UID 4 BODY[2] "" FLAGS (\\Seen))'], Given(b"", None)),
        ([b"1 FETCH (UID 4 BODY[3]<0> {3}", bytearray(b"abc"), b")"], None),
        ([b"1 FETCH (UID 4 BODY[2.1]<0> {3}", bytearray(b"abc"), b")"], None),
        ([b"1 FETCH (UID 4 BODY[3] {1}", bytearray(b"x"), b" BODY[2]<0> {2}", bytearray(b"ab"), b")"], Given(b"ab", 0)),
        ([b"1 FETCH (UID 4 BODY[2]<0> {3}"], None),
        ([b"1 FETCH (UID 4 FLAGS ())"], None),
        ([], None),
    ],
)  # fmt: skip
def test_only_what_is_named_by_the_answer_counts(lines: list[bytes | bytearray], found: Given | None) -> None:
    assert given(lines, "2") == found
