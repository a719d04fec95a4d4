"""Settings of e-mail: what is refused, and with which words."""

from typing import Any

import pytest
from pydantic import ValidationError

from adapters.email.filing import sent_folder
from adapters.email.folder import Position
from adapters.email.settings import EmailSettings
from gateway.cli.mail import MailWish, mail_values
from hermes.errors import ConfigError

GIVEN: dict[str, Any] = {
    "address": "Bot@X.test",
    "password": "pw",
    "imap": {"host": "imap.x.test"},
    "smtp": {"host": "smtp.x.test", "tls": "starttls"},
    "allow_from": ["*"],
}


def made(**keys: Any) -> EmailSettings:
    return EmailSettings.model_validate({**GIVEN, **keys})


def test_defaults_and_one_form_of_addresses() -> None:
    found = made(aliases=["Helper@x.test"])
    assert (found.address, found.aliases, found.login()) == ("bot@x.test", ("helper@x.test",), "bot@x.test")
    assert (found.imap.port_for("imap"), found.smtp.port_for("smtp")) == (993, 587)
    assert made(smtp={"host": "s", "tls": "implicit"}).smtp.port_for("smtp") == 465
    assert made(imap={"host": "s", "tls": "starttls"}).imap.port_for("imap") == 143
    assert made(imap={"host": "s", "port": 9993}).imap.port_for("imap") == 9993
    checked = made(allow_from=["Ana@Bücher.test"], authserv_id="mx.x.test")
    assert checked.allow_from == ("ana@xn--bcher-kva.test",)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"address": "bot"}, "no mail address"),
        ({"aliases": ["x"]}, "no mail address"),
        ({"password": None}, "a password is missing"),
        ({"password": "a\nb"}, "one line"),
        ({"auth": "xoauth2"}, "needs `oauth`"),
        ({"auth": "xoauth2", "oauth": {"client_id": "x"}}, "set `command`"),
        ({"imap": {"host": "imap://x"}}, "its name alone"),
        ({"imap": {"host": "x", "tls": "ssl"}}, "implicit"),
        ({"allow_from": ["ana@far.test"]}, "authserv_id"),
        ({"allow_from": None}, "authserv_id"),
        ({"allow_from": ["*", "ana@far.test"]}, "authserv_id"),
        ({"allow_from": ["12345"], "trust_from": True}, "no mail address"),
        ({"folder": "Ü"}, "ASCII"),
        ({"name": "a\r\nb"}, "one line"),
        ({"idle_renew": "30m"}, "1680"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_what_does_not_hold_is_said(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        made(**keys)


def test_a_list_is_taken_where_senders_can_be_known() -> None:
    assert made(allow_from=["ana@far.test"], trust_from=True).allow_from == ("ana@far.test",)
    assert made(allow_from=None, authserv_id="mx").allow_from is None


def wished(**options: Any) -> dict[str, Any]:
    values = mail_values(MailWish(**options), lambda _, default: default)
    return {".".join(map(str, k)): v for k, v in values.items()}


def test_servers_are_guessed_from_the_address() -> None:
    gmail = wished(address="me@gmail.com")
    assert gmail["imap.host"] == "imap.gmail.com"
    assert (gmail["smtp.host"], gmail["smtp.port"], gmail["smtp.tls"]) == ("smtp.gmail.com", 465, "implicit")
    assert gmail["authserv_id"] == "mx.google.com"
    own = wished(address="me@own.test")
    assert (own["imap.host"], own["imap.tls"], own["smtp.host"], own["smtp.tls"]) == (
        *("imap.own.test", "implicit", "smtp.own.test", "starttls"),
    )
    given = wished(address="me@own.test", imap="mail.own.test:143", smtp="mail.own.test:465", trust_from=True)
    assert (given["imap.tls"], given["smtp.tls"], given["trust_from"]) == ("starttls", "implicit", True)


@pytest.mark.parametrize("options", [{}, {"address": "me"}, {"address": "me@x.test", "imap": "x:y"}])
def test_what_cannot_be_guessed_is_asked_for(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        wished(**options)


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ([rb'(\HasNoChildren) "/" "INBOX"', rb'(\HasNoChildren \Sent) "/" "Gesendet"'], "Gesendet"),
        ([rb'(\HasNoChildren) "." INBOX.Sent'], "INBOX.Sent"),
        ([rb'() NIL "Sent Items"'], "Sent Items"),
        ([rb'(\Noselect) "/" "a\"b"', b"nonsense"], None),
        ([], None),
    ],
)
def test_the_folder_for_what_was_sent(listed: list[bytes], found: str | None) -> None:
    assert sent_folder(listed) == found


def test_a_position_comes_back_as_it_was() -> None:
    for position in (Position(1, 5, 100.0), Position(1, 0, 0.0), Position(2, 3, 100.5, old=9, since=4.0)):
        assert Position.from_text(position.to_text()) == position
    assert [Position.from_text(t) for t in (None, "", "x", "[]", "{}", '{"x":1}')] == [None] * 6
    moved = Position(2, 3, 1.0, old=9, since=4.0)
    assert moved.moved(8, 2.0) == Position(2, 8, 2.0, old=9, since=4.0)
    assert moved.moved(9, 2.0) == Position(2, 9, 2.0)
