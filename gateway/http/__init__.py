"""The HTTP server that webhook and API share: one port, bounded in every direction, with probes."""

from gateway.http.probes import Probes
from gateway.http.server import HttpServer

__all__ = ["HttpServer", "Probes"]
