"""What people read when config.yaml is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.config import load
from gateway.config.document import parse
from gateway.config.problems import Problems
from gateway.wiring import SCHEMA as OURS
from hermes.errors import EXIT_CONFIG
from tests.unit.config_schema import home_with, loaded, problems

MAILBOX = "address: a@x.test, password: p, trust_from: true, imap: {host: x.test}, smtp: {host: x.test}"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            "gateway:\n  http:\n    prot: 1\n",
            'config.yaml, line 3: gateway.http.prot is an unknown key; did you mean "port"?',
        ),
        ("gatway: {}\n", 'config.yaml, line 1: gatway is an unknown section; did you mean "gateway"?'),
        (
            "platforms:\n  telegrm: {}\n",
            'unknown platform type; did you mean "telegram"? Known here: telegram,',
        ),
        (
            "platforms:\n  b:\n    type: telegrm\n",
            'config.yaml, line 3: platforms.b.type is an unknown platform type; did you mean "telegram"?',
        ),
        ("platforms:\n  telegram: {}\n", "config.yaml, line 2: platforms.telegram.token is missing"),
        ("platforms: [telegram]\n", "line 1: platforms must hold keys, for example"),
        ("platforms: {telegram: yes}\n", "platforms.telegram must hold keys"),
        ("gateway: 5\n", "config.yaml, line 1: gateway must hold keys"),
        ("gateway: {http: 5}\n", "config.yaml, line 1: gateway.http must hold keys"),
        (
            "gateway:\n  drain_timeout: soon\n",
            "line 2: gateway.drain_timeout is wrong: 'soon' is not a duration; write for example \"30s\"",
        ),
        ("gateway: {limits: {rate: 5}}", 'write for example "30/min"'),
        (
            "gateway: {http: {port: 99999}}",
            "gateway.http.port should be 0 to 65535; for example port: 8642",
        ),
        ("gateway: {drain_timeout: -1}", "should be at least 0; for example drain_timeout: 30s"),
        ("gateway: {agent_cache: {idle_ttl: 0}}", "should be more than 0; for example idle_ttl: 1h"),
        ("logging: {file_size: 1kB}", "should be at least 10kB; for example file_size: 10MB"),
        ("llm: {provider: opnai}", "llm.provider should be"),
        ("llm: {model: 4}", "llm.model must be text, a number in quotes; for example model:"),
        (
            "timezone: Europe/Berln",
            'timezone is no time zone of this machine; write for example "Europe/Berlin"',
        ),
        ("bindings:\n- {agent: a}\n- {platform: x}\n", "line 3: bindings[1].agent is missing"),
        ("agents:\n  a:\n    modl: x\n", 'line 3: agents.a.modl is an unknown key; did you mean "model"?'),
        ("network: {proxy: 'ftp://secret@x'}", 'network.proxy is wrong: write for example "http://proxy'),
        ("network: {proxy: 'http://[::1'}", "network.proxy is wrong: write for example"),
        ("network: {proxy: 'http://h:99999'}", "network.proxy is wrong: write for example"),
        ("llm: {custom: {base_url: 'http://[::1/v1'}}", "llm.custom.base_url is wrong: write for example"),
        ("llm: {custom: {base_url: 'http://h:x/v1'}}", "llm.custom.base_url is wrong: write for example"),
        ("llm: {custom: {base_url: '127.0.0.1:9'}}", "llm.custom.base_url is wrong: write for example"),
        ("gateway: {drain_timeout: .inf}", "gateway.drain_timeout is wrong: inf is not a duration"),
        ("gateway: {drain_timeout: .nan}", "gateway.drain_timeout is wrong: nan is not a duration"),
        # YAML itself
        ("a: 1\n b: 2\n", "config.yaml, line 2: YAML syntax"),
        ("llm:\n\tmodel: x\n", "line 2: YAML syntax: a tab stands where YAML wants spaces"),
        ("llm: {model: x\n", "YAML syntax"),
        (
            "llm:\n  model: x\n  model: y\n",
            "config.yaml, line 3: llm.model stands here twice, first in line 2",
        ),
        ("- a\n- b\n", "config.yaml, line 1: holds a list; it must hold keys"),
        ("hello\n", "holds a single value"),
        ("llm: {model: *x}\n", "put it in quotes"),
        ("llm: {model: !x y}\n", "put the value in quotes"),
        ("llm: {model: @x}\n", "YAML syntax"),
        ("llm: {? [a] : b}\n", "has a key that is no plain word"),
        ("a: &a {b: *a}\n", "is too large or refers to itself"),
        (b"llm:\n  model: \xff\n", "config.yaml, line 2: is not UTF-8 text"),
        (b"llm: \x00\n", "config.yaml"),
    ],
)
def test_a_problem_names_file_line_key_and_a_way_out(tmp_path: Path, config: str | bytes, said: str) -> None:
    found = problems(tmp_path, config)
    assert any(said in s for s in found), found
    assert all(s.startswith("config.yaml") for s in found)


def test_all_problems_are_listed_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    found = problems(tmp_path, "gatway: {}\nllm: {modl: x}\nplatforms: {telegram: {}}\nagent: {budget: 0}\n")
    assert [s.split(":")[0][-1] for s in found] == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    "config",
    [
        "llm: {custom: {api_key: [hush-hush]}}",
        "llm: {custom: {api_key: {hush-hush: hush-hush}}}",
        "platforms: {telegram: {token: hush-hush, tokn: hush-hush}}",
        "network: {proxy: 'hush-hush'}",
        "gateway: {drain_timeout: '${K}'}",
        "llm: {custom: {api_key: 'hush-hush}}",
        "llm: {custom: {api_key: hush-hush}, base_url: hush-hush}",
    ],
)
def test_no_secret_is_echoed(tmp_path: Path, config: str) -> None:
    found = problems(tmp_path, config, K="hush-hush")
    assert found
    assert "hush-hush" not in "".join(found)


def test_aliases_that_multiply_are_refused_quickly(tmp_path: Path) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    found = problems(tmp_path, "\n".join(lines))
    assert any("too large" in s for s in found)
    assert len(found) <= 20


def test_merge_keys_work(tmp_path: Path) -> None:
    config = "agents:\n  a: &a {model: x}\n  b: {<<: *a, workspace: w}\n"
    assert parse(config.encode()).values["agents"]["b"] == {"model": "x", "workspace": "w"}
    assert problems(tmp_path, config) == []
    assert "merges" in problems(tmp_path, "agents: {a: {<<: 5}}")[0]


@given(st.text(alphabet="ab:-{}[]&*!|>'\"#%@`,?\t\n 01~<.\\é") | st.binary(max_size=40))
def test_any_text_gives_values_or_problems(text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    try:
        said = [repr(parse(data).values)]
    except Problems as error:
        said = list(error.sentences)
    assert all(said)


def test_a_wrong_configuration_is_exit_78_and_one_sentence_for_a_reload(tmp_path: Path) -> None:
    with pytest.raises(Problems) as raised:
        loaded(tmp_path, "gatway: {}\nllm: {modl: x}\n")
    assert raised.value.exit_code == EXIT_CONFIG
    assert raised.value.sentences == tuple(str(raised.value).split("\n"))
    assert raised.value.summary.startswith("config.yaml, line 1: gatway is an unknown section")
    assert raised.value.summary.endswith("(and 1 more; see `hermes config check`)")


def test_two_instances_that_would_share_a_variable_are_named(tmp_path: Path) -> None:
    config = "platforms:\n  my-bot: {type: telegram}\n  my_bot: {type: telegram}\n"
    (told,) = problems(tmp_path, config, MY_BOT_TOKEN="1:hush-hush")
    assert "platforms.my_bot.token would have the variable of platforms.my-bot.token, MY_BOT_TOKEN" in told
    assert (
        problems(tmp_path, config.replace("my_bot: {", "my_bot: {token: '2:hush-hush', "), MY_BOT_TOKEN="1:x")
        == []
    )


@pytest.mark.parametrize(
    ("key", "first", "second", "is_twin"),
    [
        ("token", "telegram: {token: '1:A'}", "b: {type: telegram, token: ' 1:A'}", True),
        ("token", "telegram: {token: '1:A'}", "b: {type: telegram, token: '1:B'}", False),
        ("token", "telegram: {token: '1:A'}", "b: {type: telegram, token: '1:A', enabled: false}", False),
        (
            "token",
            "telegram: {token: '1:A'}",
            "b: {type: telegram, token: '1:A', base_url: 'http://127.0.0.1:8081/bot'}",  # another server's bot
            False,
        ),
        ("token", "discord: {token: a.b.c}", "b: {type: discord, token: Bot a.b.c}", True),
        (
            "bot_token",
            "slack: {bot_token: xoxb-1, app_token: xapp-1}",
            "b: {type: slack, bot_token: xoxb-1, mode: http, signing_secret: s}",
            True,
        ),
        (
            "app_token",
            "slack: {bot_token: xoxb-1, app_token: xapp-1}",
            "b: {type: slack, bot_token: xoxb-2, app_token: xapp-1}",
            True,
        ),
        (
            "app_token",
            "slack: {bot_token: xoxb-1, app_token: xapp-1}",
            "b: {type: slack, bot_token: xoxb-2, app_token: xapp-2}",
            False,
        ),
        ("address", f"email: {{{MAILBOX}}}", f"b: {{type: email, {MAILBOX}, folder: inbox}}", True),
        ("address", f"email: {{{MAILBOX}}}", f"b: {{type: email, {MAILBOX}, folder: Bot}}", False),
    ],
)
def test_two_instances_of_one_account_are_refused_by_name(
    tmp_path: Path, key: str, first: str, second: str, is_twin: bool
) -> None:
    home = home_with(tmp_path / "home", f"platforms:\n  {first}\n  {second}\n")
    if not is_twin:
        assert len(load(home, OURS, {}).platforms) == 2
        return
    with pytest.raises(Problems) as told:
        load(home, OURS, {})
    name = first.partition(":")[0]
    said = f"platforms.b.{key} is the {key.replace('_', ' ')} of platforms.{name} too: both would answer"
    assert f"config.yaml, line 3: {said}" in str(told.value)
    assert told.value.exit_code == EXIT_CONFIG


TELEGRAM_ON = '\n  telegram: {token: "1:A"}'


@pytest.mark.parametrize(
    ("deliver", "others", "wrong"),
    [
        ("nosuch:1", "", "nosuch:1"),
        ("[telegram:1, telgram:2]", TELEGRAM_ON, "telgram:2"),
        ("telegram:1", "\n  telegram: {enabled: false}", "telegram:1"),
        ("webhook:1", "", "webhook:1"),
        ("telegram:1:2", TELEGRAM_ON, None),
        ("'telegram:'", TELEGRAM_ON, "telegram:"),
        ("telegram:1:2:3", TELEGRAM_ON, "telegram:1:2:3"),
        ("telegram", TELEGRAM_ON, None),
        ("home", "", None),
    ],
)
def test_a_delivery_that_leads_nowhere_is_refused_before_the_daemon_stops_for_it(
    tmp_path: Path, deliver: str, others: str, wrong: str | None
) -> None:
    route = f"{{secret: s, prompt: x, deliver: {deliver}}}"
    home = home_with(tmp_path / "home", f"platforms:\n  webhook: {{routes: {{r: {route}}}}}{others}\n")
    if wrong is None:
        load(home, OURS, {})
        return
    with pytest.raises(Problems) as told:
        load(home, OURS, {})
    assert "config.yaml, line 2: platforms.webhook.routes.r.deliver " in str(told.value)
    assert repr(wrong) in str(told.value)
