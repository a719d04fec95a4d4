"""Asking a person before something is taken away."""

from __future__ import annotations

import sys

import typer

from hermes.errors import HermesError

__all__ = ["ensure_agreed"]


def ensure_agreed(question: str, without: str) -> None:
    """Return when the person at the terminal says yes.

    Raises `HermesError`: with `without` where nobody can be asked, and when the answer is no.
    """
    if not sys.stdin.isatty():
        raise HermesError(without)
    try:
        is_agreed = typer.confirm(question)
    except typer.Abort:
        print()
        is_agreed = False
    if not is_agreed:
        raise HermesError("Nothing was changed.")
