"""An OpenAI-compatible model server: `ModelPeer` in process, `python -m tests.peers.model` as a program."""

from tests.peers.model.control import ModelPeerControl
from tests.peers.model.script import Answer, ToolCall, calls, fails, overflows, says
from tests.peers.model.server import ModelPeer, Request

__all__ = [
    "Answer",
    "ModelPeer",
    "ModelPeerControl",
    "Request",
    "ToolCall",
    "calls",
    "fails",
    "overflows",
    "says",
]
