"""What the control socket can ask of a running gateway, one module for each kind of thing."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.control import Handler
from gateway.handlers import backup, daemon, letters, outbound, pairing, people, sessions, usage
from gateway.handlers.running import Running

__all__ = ["control_handlers"]

_KINDS = (daemon, pairing, people, sessions, letters, backup, usage, outbound)


def control_handlers(gateway: Running) -> Mapping[str, Handler]:
    """The operations by name."""
    return {name: handler for kind in _KINDS for name, handler in kind.operations(gateway).items()}
