"""Tokens of what the model is sent for "hi": the prompt and every core tool's schema.

Tokens are counted by the Python in HERMES_BENCH_TOKENIZER, an environment that has `bpe-openai` (which
carries its vocabulary along); without one, four characters count as a token.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

from bench.daemon import config, daemon
from bench.figure import Figure
from bench.machine import OthersCores
from bench.wire import Wire, api_turn
from tests.peers.model.control import ModelPeerControl
from tests.peers.programs import peer_program

__all__ = ["measure_prompt"]

_COUNT = """
import sys, bpe_openai
print(len(bpe_openai.get_encoding("o200k_base").encode(sys.stdin.read())))
"""


def measure_prompt(*, quick: bool) -> Iterator[Figure]:  # noqa: ARG001  it is always this quick
    """Of the first message of a session over the API."""
    others = OthersCores()
    with peer_program("model", "--checks", "off") as model, daemon(config(model)) as running:
        asyncio.run(_say_hi(running.port))
        body: dict[str, Any] = ModelPeerControl(model).journal()[0]["body"]
    tools = body.get("tools", [])
    text = "".join(str(message["content"]) for message in body["messages"])
    schemas = json.dumps(tools, ensure_ascii=False, separators=(",", ":"))
    counted, how = _tokens(text + schemas)
    yield Figure(
        name="prompt",
        what='fixed prompt of "hi" with every core tool',
        unit="tokens",
        runs=[counted],
        bound=5000,
        rule="5,000 tokens",
        others_cores=others.so_far(),
        note=f"counted with {how}; {len(tools)} tools",
        more={
            "tools": len(tools),
            "tool_tokens": _tokens(schemas)[0],
            "bytes": len((text + schemas).encode()),
        },
    )


async def _say_hi(port: int) -> None:
    async with Wire(port) as wire:
        await wire.all_at_once([api_turn("hi", "prompt")])


def _tokens(text: str) -> tuple[float, str]:
    python = os.environ.get("HERMES_BENCH_TOKENIZER")
    if python is None:
        return len(text) / 4, "4 characters a token"
    done = subprocess.run(
        [python, "-c", _COUNT], check=True, input=text, capture_output=True, text=True, encoding="utf-8"
    )
    return float(done.stdout), "o200k_base"
