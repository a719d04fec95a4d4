"""`hermes people list|show|link|unlink|role`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gateway.cli.asking import ask_holder
from gateway.cli.output import AsJson, new_app, print_json, print_table, when

__all__ = ["app"]

app = new_app("Say who is who: one person with several accounts, and what each may do.")
Account = Annotated[str, typer.Argument(help="Such as telegram:123.")]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List whose accounts are joined, and who was given a role."""
    found = ask_holder("people.list")["people"]
    if as_json:
        print_json(found)
    elif not found:
        print("No accounts are joined, and nobody was given a role.")
    else:
        print_table(("PERSON", "ROLE", "ACCOUNTS"), [(p["id"], _role(p), _accounts(p)) for p in found])


def _role(person: dict[str, Any]) -> str:
    return f"{person['role']} (given)" if person["given"] else str(person["role"])


def _accounts(person: dict[str, Any]) -> str:
    return ", ".join(a["account"] for a in person["accounts"])


@app.command()
def show(
    person: Annotated[str, typer.Argument(help="As `list` shows it, or one of the accounts.")],
    as_json: AsJson = False,
) -> None:
    """Show one person."""
    found = ask_holder("people.show", person=person)["person"]
    if as_json:
        print_json(found)
        return
    print(f"{found['id']}: {_role(found)}")
    rows = [
        (a["account"], a["name"], a["admitted"] or "by the others", when(a["joined_at"]))
        for a in found["accounts"]
    ]
    print_table(("ACCOUNT", "NAME", "ADMITTED", "JOINED"), rows)


@app.command()
def link(first: Account, other: Account, as_json: AsJson = False) -> None:
    """Join OTHER to FIRST: they are one person, and OTHER is let in as FIRST is."""
    found = ask_holder("people.link", first=first, other=other)["person"]
    if as_json:
        print_json(found)
    else:
        print(f"{found['id']} ({_role(found)}): {_accounts(found)}.")


@app.command()
def unlink(account: Account, as_json: AsJson = False) -> None:
    """Take an account out of its person; what it was let in by them ends at once."""
    ask_holder("people.unlink", account=account)
    if as_json:
        print_json({"account": account})
    else:
        print(f"{account} stands alone.")


@app.command()
def role(
    account: Account,
    role: Annotated[str, typer.Argument(help="owner, member, guest; default takes back what was given.")],
    as_json: AsJson = False,
) -> None:
    """Say what the person whose account it is may do."""
    found = ask_holder("people.role", account=account, role=role.strip().lower())
    if as_json:
        print_json({"account": account, "role": found["role"], "admitted": found["admitted"]})
        return
    print(f"{account} is {found['role']}.")
    if not found["admitted"]:
        print("It is not admitted: a role lets nobody in. See `hermes pairing` and allow_from.")
