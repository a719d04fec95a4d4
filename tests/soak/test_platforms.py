"""Ten thousand messages over all platforms in a storm, in both modes; `python -m bench.storm` shows the same."""

import os
import random

import pytest

from bench.storm import Load, Mode, Sample, storm
from tests.peers.mail import Dovecot

_MESSAGES = int(os.environ.get("STORM_MESSAGES", "10000"))
_RSS_LIMIT = 180.0  # MB; what is kept of so many conversations that are live at once


@pytest.mark.parametrize("mode", ["resend", "drop"])
def test_nothing_is_lost_doubled_or_out_of_order_but_as_the_mode_says(
    mode: Mode, dovecot: Dovecot, request: pytest.FixtureRequest
) -> None:
    capture = request.config.pluginmanager.getplugin("capturemanager")
    seed = int(os.environ.get("STORM_SEED") or random.SystemRandom().randrange(2**32))

    def told(sample: Sample) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{sample.settled} in {sample.seconds:.0f} s, {sample.rss} MB", end="", flush=True)

    print(f"STORM_SEED={seed}")
    done = storm(Load(messages=_MESSAGES, mode=mode, seed=seed), told)
    print(done)
    assert done.wrong == {}
    assert done.asked.total() >= 0.95 * _MESSAGES
    assert done.troubles.total() >= 0.03 * _MESSAGES
    assert max(sample.rss for sample in done.samples) <= _RSS_LIMIT
    if mode == "resend":
        assert done.lost == 0
    else:
        assert done.doubled == done.unreported == 0
