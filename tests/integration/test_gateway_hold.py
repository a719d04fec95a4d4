"""HTTP is there before recovery is done; what comes over it in between waits."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gateway.recovery import ResumeRules, recover
from tests.gatewayrig import message, rig


async def test_what_comes_before_recovery_is_taken_once_and_after_what_was_open(tmp_path: Path) -> None:
    async with rig(tmp_path / "home") as g:
        intake = g.core.intake("telegram")
        intake.hold()
        taking = asyncio.create_task(intake.take([message("early")]))
        again = await recover(g.core.parts, g.core.sessions, ResumeRules())  # as a start does it
        assert not taking.done()
        assert await g.rows("SELECT 1 FROM inbox") == []
        assert again.waiting == []
        intake.release()
        assert [v.kind for v in await taking] == ["accepted"]
        assert await g.answered(1) == ["echo: early"]
        await g.quiet()
        assert g.texts == ["echo: early"]
