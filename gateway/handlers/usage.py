"""What was used."""

from __future__ import annotations

from collections.abc import Mapping

from gateway import books
from gateway.control import Handler
from gateway.day import midnight
from gateway.handlers.request import number, texts
from gateway.handlers.running import Running
from hermes.messages import JSONObject

__all__ = ["operations"]

_MOST_DAYS = 3660


def operations(gateway: Running) -> Mapping[str, Handler]:
    """The operations by name."""

    async def report(request: JSONObject) -> JSONObject:
        core = gateway.core
        days, by = number(request, "days", 30, _MOST_DAYS), texts(request, "by")
        since = midnight(days_ago=days - 1)
        return {"rows": await books.usage_report(core.store, core.settings.current(), since, by)}

    return {"usage.report": report}
