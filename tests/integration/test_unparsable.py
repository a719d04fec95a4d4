"""What cannot be read is kept for whoever looks for it, and strangers cannot fill the disk with it."""

from pathlib import Path

import pytest

from gateway import ledger
from hermes.events import Unparsable
from tests.gatewayrig import rig


async def test_of_what_cannot_be_read_the_newest_is_kept_for_each_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "_UNPARSABLE", 3)
    job = ledger.accept
    async with rig(tmp_path / "home") as g:
        for number in range(5):
            for instance in ("telegram", "email"):
                item = Unparsable(f"raw {number}", "nonsense")
                judged = ledger.Judged("unparsable", instance, "unparsable", raw=item)
                await g.core.store.write(job([judged], None, float(number)))
        rows = await g.rows("SELECT instance, raw FROM unparsable ORDER BY id")
        counted = await g.rows("SELECT instance, sum(count) FROM verdicts GROUP BY instance ORDER BY 1")
    assert rows == [(i, f"raw {n}") for n in (2, 3, 4) for i in ("telegram", "email")]
    assert counted == [("email", 5), ("telegram", 5)]
