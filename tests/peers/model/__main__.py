"""`python -m tests.peers.model --port N`: prints its address on a line, serves until SIGTERM."""

import argparse
import asyncio
from pathlib import Path

from tests.peers.model.server import ModelPeer
from tests.peers.serving import serve_until_signal


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--checks", choices=("full", "strict", "off"), default="full")
    parser.add_argument("--api-key")
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--no-bodies", action="store_true", help="keep no request bodies")
    parser.add_argument("--extra-field", action="append", default=[], help="a request field to allow")
    args = parser.parse_args()

    async def serve() -> None:
        peer = ModelPeer(
            args.port,
            checks=args.checks,
            api_key=args.api_key,
            keep_bodies=not args.no_bodies,
            journal=args.journal,
            extra_fields=frozenset(args.extra_field),
        )
        await serve_until_signal(peer)

    asyncio.run(serve())


if __name__ == "__main__":
    main()
