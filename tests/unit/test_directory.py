"""Chats by their names, homes, and what is told where a name is none."""

import sqlite3

import pytest

from gateway.directory import MOST_CHATS, Directory
from gateway.router import parse_target
from gateway.schema import PART
from hermes.errors import ConfigError
from hermes.events import Target, event_from_json, event_to_json
from hermes.store import Job
from tests.gatewayrig import message

DAY = 86_400.0


def learned(directory: Directory, chat: str, name: str, now: float = 0.0, **fields: object) -> Job | None:
    found = directory.learn(message("hi", chat, chat_name=name, **fields), now)
    return None if found is None else found[0]


def known() -> Directory:
    directory = Directory(lambda instance: instance == "telegram")
    for chat, name in (("1", "#general"), ("2", "#ops"), ("3", "#Ops"), ("4", "@ana")):
        learned(directory, chat, name)
    return directory


@pytest.mark.parametrize(
    ("text", "chat", "thread"),
    [
        ("telegram:#general", "1", None),
        ("telegram:#GENERAL:7", "1", "7"),
        ("telegram:@Ana", "4", None),
        ("telegram:%23general", "1", None),
        ("telegram:#general%3A", None, None),
        ("telegram:1", "1", None),
        ("telegram:@unheard", "@unheard", None),  # the platform knows names of its own
    ],
)
def test_a_chat_is_found_by_its_name(text: str, chat: str | None, thread: str | None) -> None:
    if chat is None:
        with pytest.raises(ConfigError):
            known().resolve(parse_target(text))
    else:
        assert known().resolve(parse_target(text)) == Target("telegram", chat, thread)


def test_a_person_who_never_wrote_is_reached_by_number_and_a_name_like_one_is_a_name() -> None:
    directory = known()
    assert directory.resolve(parse_target("discord:@500")) == Target("discord", "@500")
    learned(directory, "6", "@500", instance="discord")
    assert directory.resolve(parse_target("discord:@500")) == Target("discord", "6")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("discord:@5a", "known are: none"),
        ("discord:@", "known are: none"),
        ("telegram:#nowhere", "known are: #general, #ops, #Ops, @ana"),
        ("telegram:#ops", "telegram:2, telegram:3"),
        ("slack:@ana", "known are: none"),
        ("telegram", "telegram has no home: send /sethome"),
        ("telegram:home", "telegram has no home"),
        ("home", "send /sethome"),
        ("origin", "nothing came from one here"),
    ],
)
def test_a_name_that_names_no_single_chat_says_what_there_is(text: str, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        known().resolve(parse_target(text))
    assert told in str(error.value)


def test_homes_and_the_origin() -> None:
    directory = known()
    directory.make_home("telegram", "5", 0.0)
    assert directory.resolve(parse_target("telegram")) == Target("telegram", "5")
    assert directory.resolve(parse_target("telegram:home:9")) == Target("telegram", "5", "9")
    assert directory.resolve(parse_target("home")) == Target("telegram", "5")
    directory.make_home("slack", "C1", 0.0)
    with pytest.raises(ConfigError, match="slack:C1, telegram:5"):
        directory.resolve(parse_target("home"))
    here = Target("discord", "8", "9", "answers")
    assert directory.resolve(parse_target("origin"), here) == here


def test_names_are_learned_once_newest_wins_and_can_be_taken_back() -> None:
    directory = Directory()
    assert learned(directory, "1", "#old") is not None
    assert learned(directory, "1", "#old", now=10.0) is None
    assert learned(directory, "1", "#old", now=2 * DAY) is not None  # so that it is not the first to go
    assert learned(directory, "2", "") is None
    assert learned(directory, "3", "#api", kind="api") is None
    found = directory.learn(message("hi", "1", chat_name=" #new \n name"), 3 * DAY)
    assert [c.name for c in directory.chats()] == ["#new name"]
    assert found is not None
    found[1]()
    assert [c.name for c in directory.chats()] == ["#old"]


def test_a_group_that_moved_is_one_chat_by_either_id_and_by_its_name() -> None:
    directory = Directory()
    learned(directory, "-3", "#team", kind="group")
    directory.make_home("telegram", "-3", 0.0)
    moved = message("hi", "-1003", chat_name="#team", kind="group", session="-3")
    found = directory.follow(moved)
    assert found is not None
    assert directory.follow(moved) is None
    now = Target("telegram", "-1003")
    for text in ("telegram:#team", "telegram:-3", "telegram:-1003", "telegram", "home"):
        assert directory.resolve(parse_target(text)) == now, "also where only guests wrote since"
    learned(directory, "-1003", "#team renamed", kind="group")
    assert [(c.chat, c.name) for c in directory.chats()] == [("-1003", "#team renamed")]
    learned(directory, "-1003", "#team", kind="group")
    assert directory.resolve(parse_target("telegram:#team")) == now
    found[1]()
    assert directory.resolve(parse_target("telegram:-3")) == Target("telegram", "-3")
    for fields in (
        {"kind": "api", "session": "-3"},
        {"kind": "group"},
        {"kind": "group", "session": "-1003"},
    ):
        assert directory.follow(message("hi", "-1003", **fields)) is None


def test_D12_names_are_bounded_in_memory_and_in_the_store() -> None:
    connection = sqlite3.connect(":memory:")
    for step in PART.steps:
        connection.executescript(step)
    directory = Directory()
    for n in range(MOST_CHATS + 5):
        job = learned(directory, str(n), f"#{n}", now=float(n))
        assert job is not None
        if n >= MOST_CHATS - 2:
            job(connection)
        else:
            connection.execute(
                "INSERT INTO chats VALUES ('telegram', ?, ?, 'group', ?)", (str(n), f"#{n}", n)
            )
    rows = connection.execute("SELECT count(*), min(at) FROM chats").fetchone()
    assert rows == (MOST_CHATS, 5.0)
    assert len(directory.chats()) == MOST_CHATS
    connection.close()


def test_the_chats_name_is_stored_with_its_event() -> None:
    event = message("hi", chat_name="#general")
    assert event_from_json(event_to_json(event)) == event
