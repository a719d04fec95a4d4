"""A copy of the database, for a backup that a command makes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from gateway import books
from gateway.control import Handler
from gateway.handlers.running import Running
from gateway.kept import database_copy
from hermes.home import Home
from hermes.messages import JSONObject

__all__ = ["operations"]


def operations(gateway: Running) -> Mapping[str, Handler]:
    """The operations by name."""

    async def copy(_: JSONObject) -> JSONObject:
        home = Home(gateway.core.settings.current().home)
        target = database_copy(home)
        await asyncio.to_thread(books.copy_online, home.state, target)
        return {"path": str(target)}

    return {"backup.copy": copy}
