"""A program that behaves like the embedded model's process, for tests of who starts and ends it.

Reads its orders and says its address as `agent_core.models.local.serve` does, and answers chat completions.
The last message decides: "crash" ends it at once, "hang" makes it deaf for good, "overflow ..." is refused as
too long while the request is over 4,000 bytes; everything else is echoed with the number of messages.
A model file named `refused.gguf` is refused, with `late.gguf` it never gets ready, with `dead.gguf` it dies.
"""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

deaf = threading.Event()
orders: dict[str, Any] = {}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
        pass

    def do_GET(self) -> None:
        if deaf.is_set():
            threading.Event().wait()
        self.answer(200, {"status": "ok"})

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        body = json.loads(self.rfile.read(size))
        if self.headers["Authorization"] != f"Bearer {orders['key']}":
            self.answer(401, {"error": {"message": "no"}})
            return
        text = body["messages"][-1]["content"]
        if text == "crash":
            os._exit(9)
        if text == "hang":
            deaf.set()
            threading.Event().wait()
        if text.startswith("overflow") and size > 4000:
            told = {"code": 400, "message": "exceeds", "type": "exceed_context_size_error"}
            self.answer(400, {"error": told})
            return
        self.stream(f"{len(body['messages'])}: {text}", body)

    def answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, text: str, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        half = len(text) // 2
        for piece in (text[:half], text[half:]):
            self.event({"choices": [{"index": 0, "delta": {"content": piece}}]})
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self.event({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, content: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(content).encode() + b"\n\n")


def main() -> None:
    orders.update(json.loads(sys.stdin.readline()))
    name = Path(orders["model_file"]).name
    if name == "refused.gguf":
        print("0.1 E llama_model_load: error loading model: it is half a file", file=sys.stderr, flush=True)
        print(json.dumps({"error": "Failed to init server"}), flush=True)
        sys.exit(3)
    if name == "late.gguf":
        sys.stdin.read()
        return
    if name == "dead.gguf":
        os._exit(7)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_address[1]}"}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
