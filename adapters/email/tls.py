"""What TLS connections to the mail servers trust. Reading certificates blocks: call it off the loop."""

from __future__ import annotations

import ssl

from adapters.email.settings import Server
from hermes.config import Network
from hermes.errors import AdapterError, ConfigError
from hermes.home import Home, default_home
from hermes.trust import trusted

__all__ = ["build_context"]


def build_context(server: Server, network: Network) -> ssl.SSLContext | None:
    """The context for a server; `None` without TLS. Raises `AdapterError` for certificates that cannot be read."""
    if server.tls == "none":
        return None
    # Paths in the settings are relative to the home.
    own = (Home(default_home()).resolve(server.ca_file),) if server.ca_file is not None else ()
    try:
        return trusted(network, *own, purpose="mail")
    except ConfigError as error:
        raise AdapterError(str(error)) from error
