"""`hermes config get|set|show|path|check`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, NoReturn

import typer

from gateway.cli.output import AsJson, new_app, print_json
from gateway.cli.piped import piped
from hermes.config import Schema
from hermes.errors import HermesError
from hermes.home import Home, default_home

__all__ = ["app"]

app = new_app("Look at the configuration and change it.")

_AT_START = ("platforms.", "gateway.http.")
"""Keys that a daemon reads once, when it starts."""

Key = Annotated[str, typer.Argument(help="Such as llm.model or platforms.telegram.token.")]
Reveal = Annotated[bool, typer.Option("--reveal", help="Show secrets.")]


@app.command()
def get(context: typer.Context, key: Key, reveal: Reveal = False, as_json: AsJson = False) -> None:
    """Print one value as it is in use."""
    from gateway.config.editing import place_of
    from gateway.config.keys import parse_key
    from gateway.config.loading import load
    from gateway.config.plain import pick, plain_snapshot

    home = Home(default_home())
    with _reported():
        schema, path = _schema(context), parse_key(key)
        place_of(home, schema, path)
        value = pick(plain_snapshot(load(home, schema, os.environ), reveal=reveal), path)
    _print(value, as_json=as_json)


@app.command("set")
def set_(
    context: typer.Context,
    key: Key,
    value: Annotated[
        str | None,
        typer.Argument(help="Absent: a secret is asked for. `-`: read from stdin. `null`: remove the key."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change one value; comments stay. Secrets go to .env."""
    from gateway.config.editing import place_of, set_value
    from gateway.config.keys import parse_key
    from gateway.home import prepare

    home = Home(default_home())
    with _reported():
        schema, path = _schema(context), parse_key(key)
        secret = place_of(home, schema, path).secret
        text = _value(key, value, secret=secret)
        note = prepare(home)
        if note:
            print(note, file=sys.stderr)
        change = set_value(home, schema, path, text, os.environ)
    restart_needed = key.startswith(_AT_START) and _daemon_runs(home)
    if as_json:
        print_json(
            {"key": key, "removed": text == "null", **asdict(change), "restart_needed": restart_needed}
        )
    else:
        where = f"{change.variable} in {change.file}" if change.variable else change.file
        print(f"{'Removed' if text == 'null' else 'Set'} {key}: {where}")
        if change.switched_on:
            print(f"Switched platforms.{change.switched_on} on in {home.config}.")
    if change.variable and os.environ.get(change.variable, text) != text:
        print(f"Note: the environment variable {change.variable} goes before .env.", file=sys.stderr)
    if restart_needed and not as_json:
        print("Note: the running daemon uses it after: hermes gateway restart", file=sys.stderr)


def _daemon_runs(home: Home) -> bool:
    from gateway.control_client import ControlRefused, running_daemon

    try:
        return running_daemon(home, seconds=2.0) is not None
    except ControlRefused:
        # It starts, stops or is another user's: what was set stands in the file all the same.
        return False


@app.command()
def show(context: typer.Context, reveal: Reveal = False, as_json: AsJson = False) -> None:
    """Print all settings in use, defaults too."""
    from gateway.config.loading import load
    from gateway.config.plain import plain_snapshot

    with _reported():
        values = plain_snapshot(load(Home(default_home()), _schema(context), os.environ), reveal=reveal)
    _print(values, as_json=as_json)


@app.command()
def path(as_json: AsJson = False) -> None:
    """Print where config.yaml is."""
    config = Home(default_home()).config
    if as_json:
        print_json({"path": str(config), "exists": config.exists()})
    else:
        print(config)


@app.command()
def check(context: typer.Context, as_json: AsJson = False) -> None:
    """Say what is wrong with the configuration; exit code 78 when something is."""
    from gateway.config.loading import load
    from gateway.config.problems import Problems
    from gateway.home import check_ours
    from gateway.wiring import unusable

    home, errors, warnings, code = Home(default_home()), tuple[str, ...](), tuple[str, ...](), 0
    try:
        check_ours(home)
        snapshot = load(home, _schema(context), os.environ)
        warnings = (*snapshot.warnings, *unusable(snapshot))
    except Problems as error:
        errors, code = error.sentences, error.exit_code
    except HermesError as error:
        errors, code = (str(error),), error.exit_code
    if as_json:
        print_json({"ok": not errors, "errors": errors, "warnings": warnings})
    else:
        for line in errors:
            print(line, file=sys.stderr)
        for line in warnings:
            print(f"Warning: {line}", file=sys.stderr)
        if not errors:
            print(f"{home.config} is right." if home.config.exists() else f"{home.config} is not there yet.")
    raise typer.Exit(code)


@app.command(hidden=True)
def reference(context: typer.Context) -> None:
    """Print docs/configuration.md."""
    from gateway.config.reference import render

    print(render(_schema(context)), end="")


def _schema(context: typer.Context) -> Schema:
    """The composed schema, or the one that a program that embeds this command line handed in."""
    if isinstance(context.obj, Schema):
        return context.obj
    from gateway.wiring import SCHEMA

    return SCHEMA


def _value(key: str, value: str | None, *, secret: bool) -> str:
    if value == "-":
        return piped(key)
    if value is not None:
        return value
    if not secret:
        raise typer.BadParameter(f"a value is needed: hermes config set {key} VALUE")
    if not sys.stdin.isatty():
        raise typer.BadParameter(f"nobody can be asked here; pipe the secret in: hermes config set {key} -")
    answer: str = typer.prompt(f"{key} (not shown)", hide_input=True)
    return answer.strip()


def _print(value: object, *, as_json: bool) -> None:
    if as_json:
        print_json(value)
    elif isinstance(value, dict | list):
        from ruamel.yaml import YAML

        yaml = YAML()
        yaml.width = 4096
        yaml.dump(value, sys.stdout)
    elif value is not None:
        print(str(value).lower() if isinstance(value, bool) else value)


@contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except HermesError as error:
        _fail(error)


def _fail(error: HermesError) -> NoReturn:
    print(f"hermes: {error}", file=sys.stderr)
    raise typer.Exit(error.exit_code) from None
