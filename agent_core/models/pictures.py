"""Pictures on their way to a model: read when it is asked, and not a moment longer in memory. Blocks."""

from __future__ import annotations

import base64

from hermes.model import ModelRequest

__all__ = ["data_urls"]


def data_urls(request: ModelRequest) -> dict[str, str]:
    """The files of the request's messages as data URLs (RFC 2397) by digest; those that are gone are left out."""
    found: dict[str, str] = {}
    for file in {f.digest: f for message in request.messages for f in message.files}.values():
        try:
            data = request.stored(file).read_bytes()
        except OSError:
            continue
        found[file.digest] = f"data:{file.mime};base64,{base64.b64encode(data).decode()}"
    return found
