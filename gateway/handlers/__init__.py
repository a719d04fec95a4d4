"""What the control socket can ask of a running gateway, one module for each kind of thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gateway.control import Handler
from gateway.handlers import backup, daemon, letters, pairing, sessions, usage

if TYPE_CHECKING:
    from gateway.app import Gateway

__all__ = ["control_handlers"]

_KINDS = (daemon, pairing, sessions, letters, backup, usage)


def control_handlers(gateway: Gateway) -> Mapping[str, Handler]:
    """The operations by name."""
    return {name: handler for kind in _KINDS for name, handler in kind.operations(gateway).items()}
