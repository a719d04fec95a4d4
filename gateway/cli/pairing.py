"""`hermes pairing list|approve|revoke`."""

from __future__ import annotations

from typing import Annotated

import typer

from gateway.cli.asking import ask_holder
from gateway.cli.chat.text import clean
from gateway.cli.output import AsJson, new_app, print_json, print_table, when

__all__ = ["app"]

app = new_app("Admit people who wrote for the first time.")


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List who waits and who was admitted."""
    found = ask_holder("pairing.list")["pairings"]
    if as_json:
        print_json(found)
    elif not found:
        print("Nobody has asked.")
    else:
        rows = [
            (p["instance"], p["sender"], p["name"], p["state"], p["code"], when(p["asked_at"])) for p in found
        ]
        print_table(("PLATFORM", "SENDER", "NAME", "STATE", "CODE", "ASKED"), rows)


@app.command()
def approve(
    code: Annotated[str, typer.Argument(help="The code that the person was given.")], as_json: AsJson = False
) -> None:
    """Admit the person who was given CODE."""
    pairing = ask_holder("pairing.approve", code=code.strip().upper())["pairing"]
    if as_json:
        print_json(pairing)
        return
    who = f"{pairing['instance']}:{pairing['sender']}"
    print(clean(f"{pairing['name'] or pairing['sender']} ({who}) is admitted."))


@app.command()
def revoke(
    account: Annotated[str, typer.Argument(help="Such as telegram:123, as `list` shows it.")],
    as_json: AsJson = False,
) -> None:
    """Take an admission back."""
    instance, colon, sender = account.partition(":")
    if not colon or not sender:
        raise typer.BadParameter('write for example "telegram:123"')
    still = ask_holder("pairing.revoke", instance=instance, sender=sender).get("still")
    if as_json:
        print_json({"instance": instance, "sender": sender, "still": still})
    else:
        ended = "not paired or joined any longer" if still else "not admitted any longer"
        print(clean(" ".join(filter(None, [f"{account} is {ended}.", still]))))
