"""`python -m tests.peers.telegram --port N`: prints its address on a line, serves until SIGTERM."""

import argparse
import asyncio
from pathlib import Path

from tests.peers.serving import serve_until_signal
from tests.peers.telegram.server import TOKEN, TelegramPeer


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", default=TOKEN)
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--enforce-rate", action="store_true")
    args = parser.parse_args()

    async def serve() -> None:
        peer = TelegramPeer(args.port, token=args.token, enforce_rate=args.enforce_rate, journal=args.journal)
        await serve_until_signal(peer)

    asyncio.run(serve())


if __name__ == "__main__":
    main()
