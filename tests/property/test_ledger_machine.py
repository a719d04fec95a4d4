"""The ledger as a state machine: no event is lost, none is closed twice, no row leaves its end."""

from __future__ import annotations

import sqlite3
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from gateway import ledger, outbox
from gateway.ledger import Judged
from gateway.outbox import Draft
from gateway.schema import PART
from hermes.adapter import Piece
from hermes.events import Target, Watermark
from hermes.store import Job
from tests.gatewayrig import message

ENDS = {"sent", "dead", "dropped"}


class Ledger(RuleBasedStateMachine):
    """Drives the jobs and keeps a plain picture of what must hold."""

    events: Bundle[str] = Bundle("events")
    rows: Bundle[int] = Bundle("rows")

    def __init__(self) -> None:
        super().__init__()
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.row_factory = sqlite3.Row
        for step in PART.steps:
            self.connection.executescript(step)
        self.tickets: dict[str, str] = {}
        self.inbox: dict[str, str] = {}
        self.outbox: dict[int, str] = {}
        self.keys: set[str] = set()
        self.mark = ""
        self.clock = 0.0

    def run(self, job: Job, *, fail: bool = False) -> Any:
        """One transaction; `fail`: it is rolled back, as when the process dies before the commit."""
        self.clock += 1
        self.connection.execute("BEGIN")
        result = job(self.connection)
        self.connection.execute("ROLLBACK" if fail else "COMMIT")
        return result

    @rule(target=events, key=st.integers(0, 5), fail=st.booleans())
    def take(self, key: int, fail: bool) -> str:
        name = f"message {key}"
        event = message("x", dedupe_key=name)
        item = Judged(
            "accepted", "telegram", event=event, ticket=f"t{self.clock}", session_key="s", agent_id="main"
        )
        mark = Watermark("telegram", "offset", str(self.clock))
        taken = self.run(ledger.accept([item], mark, self.clock), fail=fail)
        if fail:
            return name
        (verdict,) = taken.verdicts
        if name in self.tickets:
            assert verdict.kind == "duplicate"
            assert verdict.ticket == self.tickets[name]
            assert taken.rows == ()
        else:
            assert verdict.kind == "accepted"
            assert len(taken.rows) == 1
            self.tickets[name] = str(verdict.ticket)
            self.inbox[name] = "waiting"
        self.mark = mark.value
        return name

    def _id(self, name: str) -> int:
        return int(
            self.connection.execute("SELECT id FROM inbox WHERE dedupe_key = ?", (name,)).fetchone()[0]
        )

    @rule(name=events, fail=st.booleans())
    def begin(self, name: str, fail: bool) -> None:
        if name not in self.inbox:
            return
        self.run(ledger.begin("turn", [self._id(name)]), fail=fail)
        if not fail and self.inbox[name] == "waiting":
            self.inbox[name] = "running"

    @rule(name=events, state=st.sampled_from(["answered", "failed", "stopped", "dead"]), fail=st.booleans())
    def close(self, name: str, state: Any, fail: bool) -> None:
        if name not in self.inbox:
            return
        self.run(ledger.close([self._id(name)], state, "text", None, self.clock), fail=fail)
        if not fail and self.inbox[name] in ("waiting", "running"):
            self.inbox[name] = state

    @rule(target=rows, key=st.integers(0, 5), fail=st.booleans())
    def enqueue(self, key: int, fail: bool) -> int:
        draft = Draft(f"k{key}", Target("telegram", "1"), Piece("text"))
        made = self.run(outbox.enqueue([draft], self.clock), fail=fail)
        if fail:
            return 0
        assert bool(made) == (draft.key not in self.keys)
        self.keys.add(draft.key)
        for row in made:
            self.outbox[row.id] = "queued"
        return made[0].id if made else 0

    @rule(
        row=rows, what=st.sampled_from(["claim", "receipt", "requeue", "dead", "dropped"]), fail=st.booleans()
    )
    def send(self, row: int, what: str, fail: bool) -> None:
        allowed = {"claim": "queued"}.get(what, "sending")
        if self.outbox.get(row) != allowed:
            return
        jobs: dict[str, tuple[Job, str]] = {
            "claim": (outbox.claim(row, self.clock), "sending"),
            "receipt": (outbox.receipt(row, "9", None, self.clock), "sent"),
            "requeue": (outbox.requeue(row, due_at=0, again=True, attempts=1, error="e"), "queued"),
            "dead": (outbox.write_off(row, "dead", "e", self.clock), "dead"),
            "dropped": (outbox.write_off(row, "dropped", "e", self.clock), "dropped"),
        }
        job, state = jobs[what]
        self.run(job, fail=fail)
        if not fail:
            self.outbox[row] = state

    @invariant()
    def the_book_is_what_happened(self) -> None:
        inbox = dict(tuple(r) for r in self.connection.execute("SELECT dedupe_key, state FROM inbox"))
        assert inbox == self.inbox
        outbox = dict(tuple(r) for r in self.connection.execute("SELECT id, state FROM outbox"))
        assert outbox == self.outbox

    @invariant()
    def what_is_open_is_what_a_start_would_take_up(self) -> None:
        closed = self.connection.execute("SELECT state, closed_at FROM inbox").fetchall()
        assert all((r["closed_at"] is None) == (r["state"] in ("waiting", "running")) for r in closed)
        ended = self.connection.execute("SELECT state, closed_at FROM outbox").fetchall()
        assert all((r["closed_at"] is not None) == (r["state"] in ENDS) for r in ended)

    @invariant()
    def the_watermark_moves_only_with_what_was_taken(self) -> None:
        row = self.connection.execute("SELECT value FROM watermarks").fetchone()
        assert (row[0] if row else "") == self.mark

    def teardown(self) -> None:
        self.connection.close()


TestLedger = Ledger.TestCase
TestLedger.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
