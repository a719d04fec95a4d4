"""`hermes metrics`: what the models have used and cost."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gateway.cli.asking import ask_holder
from gateway.cli.output import AsJson, new_app, print_json, print_table

__all__ = ["app"]

app = new_app("Say what the models have used and cost.", group=False)

_SECONDS = 60.0


@app.command()
def metrics(
    days: Annotated[int, typer.Option(min=1, max=3660, help="Today and the days before.")] = 30,
    by: Annotated[
        str,
        typer.Option(metavar="GROUPS", help="day, session, person, model, agent, task; several with commas."),
    ] = "day",
    as_json: AsJson = False,
) -> None:
    """Say what the models have used and cost, in tokens and US dollars. A cost is empty where a price is not known."""
    groups = [word.strip() for word in by.split(",") if word.strip()]
    rows = ask_holder("usage.report", seconds=_SECONDS, days=days, by=groups)["rows"]
    if as_json:
        print_json(rows)
        return
    if not rows:
        print("Nothing was used.")
        return
    head = (*(g.upper() for g in groups), "TURNS", "CALLS", "IN", "CACHED", "OUT", "DOLLARS")
    print_table(head, [_row(row, groups) for row in rows])
    unpriced = sorted({model for row in rows for model in row["unpriced"]})
    if unpriced:
        print(f"No price is known for {', '.join(unpriced)}; llm.prices in config.yaml takes your own.")


def _row(row: dict[str, Any], groups: list[str]) -> tuple[object, ...]:
    cost = "" if row["cost"] is None else f"{row['cost']:.4f}"
    figures = (row[name] for name in ("turns", "calls", "prompt", "cached", "completion"))
    return (*(row[g] for g in groups), *figures, ("~" if row["estimated"] and cost else "") + cost)
