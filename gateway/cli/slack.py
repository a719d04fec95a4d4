"""`hermes slack manifest`: what to paste where Slack asks for an app's manifest."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Literal

import typer

from gateway.cli.output import new_app

__all__ = ["app"]

app = new_app("Prepare the Slack app.")


@app.callback()
def slack() -> None:
    """Prepare the Slack app."""


@app.command()
def manifest(
    name: Annotated[str, typer.Option(help="The app's name in Slack.")] = "Hermes",
    url: Annotated[
        str | None,
        typer.Option(help="mode http: the request URL (https://HOST/slack/events); absent: Socket Mode."),
    ] = None,
    assistant: Annotated[
        bool, typer.Option("--assistant", help="With Slack's assistant view (a paid plan has it).")
    ] = False,
    form: Annotated[Literal["yaml", "json"], typer.Option("--format", help="yaml or json.")] = "yaml",
) -> None:
    """Print the manifest to paste at https://api.slack.com/apps (Create New App, From a manifest)."""
    from gateway.wiring import slack_manifest

    made = slack_manifest(name=name, url=url, assistant=assistant)
    if form == "json":
        print(json.dumps(made, indent=2, ensure_ascii=False))
        return
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.dump(made, sys.stdout)
