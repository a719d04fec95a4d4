"""`python -m tests.peers.slack --port N`: prints its address on a line, serves until SIGTERM.

The tokens are `xoxb-1-peer` and `xapp-1-peer`, the Web API is under /api/.
"""

import argparse
import asyncio
from pathlib import Path

from tests.peers.serving import serve_until_signal
from tests.peers.slack.server import SlackPeer


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--journal", type=Path)
    args = parser.parse_args()

    async def serve() -> None:
        await serve_until_signal(SlackPeer(args.port, journal=args.journal))

    asyncio.run(serve())


if __name__ == "__main__":
    main()
