import json

import pytest

from adapters.telegram.failures import Refused, failure
from hermes.errors import AdapterError, Conflict, NotTaken, OutcomeUnknown, Rejected, Unauthorized


def answer(code: int, description: str, **parameters: object) -> bytes:
    body = {"ok": False, "error_code": code, "description": description}
    return json.dumps(body | ({"parameters": parameters} if parameters else {})).encode()


@pytest.mark.parametrize(
    ("method", "status", "body", "kind"),
    [
        ("getUpdates", 401, answer(401, "Unauthorized"), Unauthorized),
        ("sendMessage", 401, answer(401, "Unauthorized"), Unauthorized),
        ("getMe", 404, answer(404, "Not Found"), Unauthorized),
        ("sendMessage", 404, answer(404, "Not Found"), Rejected),
        ("getUpdates", 409, answer(409, "Conflict: terminated by other getUpdates request"), Conflict),
        ("sendMessage", 429, answer(429, "Too Many Requests", retry_after=7), NotTaken),
        ("sendMessage", 400, answer(400, "Bad Request: chat not found"), Rejected),
        ("sendMessage", 403, answer(403, "Forbidden: bot was blocked by the user"), Rejected),
        ("sendMessage", 500, answer(500, "Internal Server Error"), NotTaken),
        ("sendMessage", 502, answer(502, "Bad Gateway"), NotTaken),
        ("sendMessage", 502, b"<html>Bad Gateway</html>", OutcomeUnknown),
        ("sendMessage", 500, b'{"error": "proxy"}', OutcomeUnknown),
        ("sendMessage", 504, b"", OutcomeUnknown),
        ("sendMessage", 407, b"proxy wants a password", NotTaken),
        ("getMe", 404, b"<html>no bot api here</html>", NotTaken),
        ("sendMessage", 302, b"", NotTaken),
    ],
)
def test_each_answer_has_one_meaning(method: str, status: int, body: bytes, kind: type[AdapterError]) -> None:
    error = failure(method, status, body)
    assert isinstance(error, kind)
    assert str(error).endswith((".", "r", "d", "t", "y", "s"))  # a sentence or the server's own words


def test_TG_12_the_seconds_to_wait_are_the_servers() -> None:
    error = failure("sendMessage", 429, answer(429, "Too Many Requests: retry after 37", retry_after=37))
    assert isinstance(error, NotTaken)
    assert error.retry_after == 37.0


@pytest.mark.parametrize("parameters", [{}, {"retry_after": "soon"}, {"retry_after": None}])
def test_a_429_without_seconds_names_none(parameters: dict[str, object]) -> None:
    error = failure("sendMessage", 429, answer(429, "Too Many Requests", **parameters))
    assert isinstance(error, NotTaken)
    assert error.retry_after is None


def test_a_moved_chat_tells_its_new_id() -> None:
    error = failure("sendMessage", 400, answer(400, "group chat was upgraded", migrate_to_chat_id=-100777))
    assert isinstance(error, Refused)
    assert error.migrated_to == -100777


@pytest.mark.parametrize(
    "body", [b"[]", b"null", b'{"ok": false, "error_code": "x"}', b'"\xff', b"[" * 100_000]
)
def test_hostile_bodies_are_no_verdict(body: bytes) -> None:
    assert isinstance(failure("sendMessage", 503, body), OutcomeUnknown)


def test_long_descriptions_are_cut() -> None:
    assert len(str(failure("sendMessage", 400, answer(400, "x" * 10_000)))) < 600
