"""What cannot be read is kept for whoever looks for it, and strangers cannot fill the disk with it."""

from pathlib import Path

from gateway import ledger
from hermes.events import Unparsable
from tests.gatewayrig import rig


async def test_of_what_cannot_be_read_the_newest_is_kept_for_each_platform(tmp_path: Path) -> None:
    judged = [
        ledger.Judged("unparsable", instance, "unparsable", raw=Unparsable(f"raw {number}", "nonsense"))
        for number in range(502)
        for instance in ("telegram", "email")
    ]
    async with rig(tmp_path / "home") as g:
        await g.core.store.write(ledger.accept(judged, None, 1.0))
        rows = await g.rows("SELECT instance, raw FROM unparsable ORDER BY id")
        counted = await g.rows("SELECT instance, sum(count) FROM verdicts GROUP BY instance ORDER BY 1")
    assert rows == [(i, f"raw {n}") for n in range(2, 502) for i in ("telegram", "email")]
    assert counted == [("email", 502), ("telegram", 502)]
