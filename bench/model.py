"""CPU of one streamed model call: our client beside a bare HTTP stream of the same call, on the same server.

`python bench/model.py [--calls N] [--history N] [--chunks N]`; prints milliseconds of CPU per call and their
ratio. The server answers at once from a process of its own, so that only the client's work is counted.
"""

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

import httpx

from agent_core.models.providers import ProviderConfig, build_model
from hermes.messages import Message
from hermes.model import ModelRequest

_HEAD = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def _answer(chunks: int) -> bytes:
    def event(delta: dict[str, object], finish: str | None = None) -> bytes:
        chunk = {**_HEAD, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    usage = {**_HEAD, "choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": chunks}}
    texts = b"".join(event({"content": f"word{n} "}) for n in range(chunks))
    return texts + event({}, "stop") + b"data: " + json.dumps(usage).encode() + b"\n\ndata: [DONE]\n\n"


async def _serve(chunks: int) -> None:
    """HTTP/1.1 with keep-alive, just enough of it."""
    body = _answer(chunks)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    whole = head + b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                asked = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            length = next(
                int(line.split(b":")[1])
                for line in asked.split(b"\r\n")
                if line.lower().startswith(b"content-length")
            )
            await reader.readexactly(length)
            writer.write(whole)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=2**22)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


def _history(size: int) -> list[Message]:
    return [
        Message("user" if n % 2 else "assistant", f"message {n}: " + "some text " * 12) for n in range(size)
    ]


async def _cost(call: Callable[[], Awaitable[object]], calls: int) -> float:
    """Milliseconds of CPU per call, the best of five rounds."""
    rounds = []
    for _ in range(5):
        gc.collect()
        begun = time.process_time()
        for _ in range(calls):
            await call()
        rounds.append((time.process_time() - begun) * 1000 / calls)
    return min(rounds)


async def _compare(url: str, calls: int, history: int) -> dict[str, float]:
    request = ModelRequest("You are brief.", _history(history))
    plain = [{"role": m.role, "content": m.text} for m in request.messages]
    body = {"model": "m", "stream": True, "messages": plain}

    async with httpx.AsyncClient() as client:

        async def bare() -> None:
            async with client.stream("POST", f"{url}/chat/completions", json=body) as response:
                async for line in response.aiter_lines():
                    if line.startswith("data: {"):
                        json.loads(line[6:])

        bare_cost = await _cost(bare, calls)

    model = build_model(ProviderConfig("custom", "m", base_url=url))
    our_cost = await _cost(lambda: model.complete(request, lambda _: None), calls)
    await model.aclose()
    return {"bare_ms": bare_cost, "ours_ms": our_cost, "ratio": our_cost / bare_cost}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--history", type=int, default=40)
    parser.add_argument("--chunks", type=int, default=20)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(_serve(options.chunks))
        return
    command = [sys.executable, __file__, "--serve", "--chunks", str(options.chunks)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            print(json.dumps(asyncio.run(_compare(url, options.calls, options.history))))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
