"""What the user is told when another model answers than the one that was wanted."""

from __future__ import annotations

from dataclasses import replace

from agent_core.models.chain import Chain
from agent_core.state import SessionState
from hermes.agent import Notice, TurnOutcome

__all__ = ["substituted"]


def substituted(outcome: TurnOutcome, chain: Chain, state: SessionState) -> TurnOutcome:
    """The outcome, with a notice when the model that answers in place of the wanted one has changed.

    `state` remembers it, so that it is told once.
    """
    if outcome.state != "answered":
        return outcome
    now = "" if chain.current == chain.wanted else chain.current
    has_changed, state.substitute = now != state.substitute, now
    if not (now and has_changed):
        return outcome
    notice = Notice("substitute", {"model": now, "instead": chain.wanted})
    return replace(outcome, notices=(*outcome.notices, notice))
