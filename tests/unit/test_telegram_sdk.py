"""What the SDK could do with more libraries is not paid for."""

import subprocess
import sys

LOOK = """
import sys
from adapters.telegram.sdk import Bot
assert not [name for name in sys.modules if name.partition(".")[0] == "cryptography"], "in memory"
assert Bot("1:a").token == "1:a"
import cryptography  # whoever needs it has it
"""


def test_the_sdk_brings_no_cryptography_and_takes_it_from_nobody() -> None:
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
