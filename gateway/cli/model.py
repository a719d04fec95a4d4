"""`hermes model`: which model answers."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.loop import run
from gateway.cli.output import AsJson, new_app, print_json, print_table
from gateway.cli.piped import piped_secret
from hermes.errors import ConfigError, HermesError, ModelError
from hermes.home import Home, default_home

if TYPE_CHECKING:
    from gateway.wiring import ProviderState
    from hermes.config import Snapshot

__all__ = ["app"]

app = new_app("Choose the model, or list what there is.", group=False)

SHOWN = 40


@app.command()
def model(
    choice: Annotated[
        str | None, typer.Argument(metavar="[PROVIDER[/MODEL]]", help="Such as openrouter/openai/gpt-5-mini.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="The provider's key; `-` reads it from stdin, which keeps it secret.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="The provider's address (custom, ollama).")] = None,
    as_json: AsJson = False,
) -> None:
    """Choose the model that answers. `list`: what there is. Without an argument: ask at a terminal."""
    home = Home(default_home())
    if choice == "list" or (choice is None and (as_json or not sys.stdin.isatty())):
        _list(_snapshot(home), as_json=as_json)
        return
    before = _snapshot(home)  # what is wrong there is told before anything is asked or written
    provider, name = _split(choice) if choice is not None else _ask_provider(before)
    base_url = _address(before, provider, base_url)
    values = {"llm.provider": provider} | ({} if base_url is None else {f"llm.{provider}.base_url": base_url})
    key = _key(before, provider, key)
    trial = _tried(home, values, f"llm.{provider}.api_key", key)
    if not name:
        name = _ask_model(_offered(trial, provider)) if sys.stdin.isatty() else _only(trial, provider)
    elif base_url is not None:
        _doubt(trial, provider, name)
    _write(home, values | {"llm.model": name}, f"llm.{provider}.api_key", key)
    print(f"{provider}/{name} answers from now on.")


# --- listing -------------------------------------------------------------------------------------


def _snapshot(home: Home) -> Snapshot:
    from gateway.config.loading import load
    from gateway.wiring import SCHEMA

    return load(home, SCHEMA, os.environ)


def _state(provider: ProviderState) -> str:
    if not provider.base_url:
        return "needs an address"
    if provider.needs_key and not provider.has_key:
        return "needs a key"
    return "set up"


def _list(snapshot: Snapshot, *, as_json: bool) -> None:
    from gateway.wiring import auxiliaries, fallbacks, providers

    beside = fallbacks(snapshot)
    auxiliary = auxiliaries(snapshot)
    rows = []
    for provider in providers(snapshot):
        names, problem = _models(snapshot, provider)
        rows.append(
            {
                "provider": provider.name,
                "base_url": provider.base_url,
                "key": provider.has_key,
                "keys": provider.keys,
                "chosen": provider.chosen,
                "state": problem or _state(provider),
                "models": names,
                "fallbacks": [
                    {"place": place, "model": full}
                    for place, full in enumerate(beside, 1)
                    if full.partition("/")[0] == provider.name
                ],
                "auxiliary": {
                    task: full for task, full in auxiliary.items() if full.partition("/")[0] == provider.name
                },
            }
        )
    if as_json:
        print_json(rows)
        return
    shown = [("*" if r["chosen"] else "", r["provider"], r["state"], _some(r["models"])) for r in rows]
    print_table(("", "PROVIDER", "STATE", "MODELS"), shown)
    if beside:
        print(f"Fallbacks, in this order: {', '.join(beside)}")
    if auxiliary:
        print(f"Beside the conversation: {', '.join(f'{task}: {full}' for task, full in auxiliary.items())}")
    print("Choose one: hermes model PROVIDER/MODEL [--key -]")


def _models(snapshot: Snapshot, provider: ProviderState) -> tuple[list[str], str | None]:
    from gateway.wiring import offered_models

    if _state(provider) != "set up":
        return [], None
    try:
        return run(offered_models(snapshot, provider.name)), None
    except ModelError as error:
        return [], str(error)


def _some(names: object) -> str:
    listed = names if isinstance(names, list) else []
    return ", ".join(listed[:3]) + (f", ... ({len(listed)})" if len(listed) > 3 else "")


# --- choosing ------------------------------------------------------------------------------------


def _split(choice: str) -> tuple[str, str]:
    from gateway.config.problems import unknown
    from gateway.wiring import PROVIDER_NAMES

    provider, _, name = choice.partition("/")
    if provider not in PROVIDER_NAMES:
        raise ConfigError(f"{provider} {unknown(provider, PROVIDER_NAMES, 'provider')}")
    if not name.isprintable():
        raise ConfigError(f"{name!r} is no model's name.")
    return provider, name


def _ask_provider(snapshot: Snapshot) -> tuple[str, str]:
    from gateway.wiring import providers

    known = providers(snapshot)
    for number, provider in enumerate(known, 1):
        print(f"{number}. {provider.name} ({_seen(snapshot, provider)})")
    return known[_ask_number("Which provider", len(known)) - 1].name, ""


def _seen(snapshot: Snapshot, provider: ProviderState) -> str:
    """Its state; one that needs no key is asked whether it is there."""
    problem = None if provider.needs_key else _models(snapshot, provider)[1]
    return problem or _state(provider)


def _address(snapshot: Snapshot, provider: str, base_url: str | None) -> str | None:
    """The address to write; asked for at a terminal when there is none. Raises `ConfigError`."""
    from gateway.wiring import providers

    state = next(p for p in providers(snapshot) if p.name == provider)
    if state.base_url or base_url:
        return base_url
    if not sys.stdin.isatty():
        raise ConfigError(f"{provider} needs its address: hermes model {provider}/MODEL --base-url URL")
    return str(typer.prompt(f"The address of {provider}, such as http://127.0.0.1:8000/v1")).strip()


def _ask_model(names: list[str]) -> str:
    if len(names) > SHOWN:
        part = typer.prompt(f"{len(names)} models; a part of the name", default="")
        names = [n for n in names if part.lower() in n.lower()] or names
    for number, name in enumerate(names[:SHOWN], 1):
        print(f"{number}. {name}")
    if not names:
        return str(typer.prompt("The model's name"))
    return names[_ask_number("Which model", min(len(names), SHOWN)) - 1]


def _ask_number(question: str, most: int) -> int:
    while True:
        answer = str(typer.prompt(f"{question} (1 to {most})")).strip()
        if answer.isdigit() and 1 <= int(answer) <= most:
            return int(answer)


def _offered(snapshot: Snapshot, provider: str) -> list[str]:
    from gateway.wiring import offered_models

    try:
        return run(offered_models(snapshot, provider))
    except ModelError as error:
        print(f"The models cannot be listed: {error}", file=sys.stderr)
        return []


def _doubt(snapshot: Snapshot, provider: str, name: str) -> None:
    """Say so when a new address is not reached, or does not list the model; it is taken all the same."""
    names = _offered(snapshot, provider)
    if names and name not in names:
        print(f"Note: {provider} does not list {name}, but: {_some(names)}.", file=sys.stderr)


def _only(snapshot: Snapshot, provider: str) -> str:
    names = _offered(snapshot, provider)
    if len(names) != 1:
        raise HermesError(
            f"Name the model: hermes model {provider}/MODEL" + (f" ({_some(names)})." if names else ".")
        )
    return names[0]


# --- writing -------------------------------------------------------------------------------------


def _key(snapshot: Snapshot, provider: str, key: str | None) -> str:
    """The key to write, empty for none; asked for when it is needed and can be asked for."""
    from gateway.wiring import providers

    state = next(p for p in providers(snapshot) if p.name == provider)
    if key == "-":
        return _sendable(piped_secret(f"The key for {provider}"), provider)
    if key is None and state.needs_key and not state.has_key:
        return _ask_key(provider)
    return _sendable(key or "", provider)


def _sendable(key: str, provider: str) -> str:
    """The key. Raises `ConfigError` for one that no HTTP header can hold."""
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"The key for {provider} holds characters that cannot be sent; was it copied whole?"
        )
    return key


def _ask_key(provider: str) -> str:
    if not sys.stdin.isatty():
        raise ConfigError(f"{provider} needs a key; pipe it in: hermes model {provider}/MODEL --key -")
    asked = str(typer.prompt(f"The key for {provider} (not shown)", hide_input=True)).strip()
    return _sendable(asked, provider)


def _tried(home: Home, values: dict[str, str], key_name: str, key: str) -> Snapshot:
    """The settings as they will be. Raises `ConfigError` when they would not hold."""
    from gateway.config.editing import place_of, tried
    from gateway.config.keys import parse_key
    from gateway.wiring import SCHEMA

    for name in (*values, key_name) if key else values:
        place_of(home, SCHEMA, parse_key(name))
    given = {f"HERMES_{key_name.upper().replace('.', '__')}": key} if key else {}
    return tried(home, SCHEMA, values, {**os.environ, **given})


def _write(home: Home, values: dict[str, str], key_name: str, key: str) -> None:
    """All of it; the key first, since it alone could still be refused."""
    from gateway.config.editing import set_value, set_values
    from gateway.config.keys import parse_key
    from gateway.home import prepare
    from gateway.wiring import SCHEMA

    prepare(home)
    if key:
        set_value(home, SCHEMA, parse_key(key_name), key, os.environ)
    set_values(home, SCHEMA, values, os.environ)
