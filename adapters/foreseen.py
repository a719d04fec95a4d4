"""One message that makes no sense stops no other: whatever its reading raises, it is set aside."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping

from hermes.events import Parsed, Unparsable

__all__ = ["UNFORESEEN", "or_unparsable"]

_RAW = 64 * 1024
UNFORESEEN = "unforeseen "
"""How the reason begins where the reading was not ready for what came: a fault of ours."""


def or_unparsable(found: object, parse: Callable[[], Parsed], *, secrets: Collection[str] = ()) -> Parsed:
    """What `parse` makes of what was `found`, or that it makes no sense. secrets: fields that are kept nowhere."""
    try:
        return parse()
    except (ValueError, OverflowError, RecursionError) as e:
        return Unparsable(_raw(found, secrets), str(e) or type(e).__name__)
    except Exception as e:  # noqa: BLE001  raised, it would come again with every new connection
        return Unparsable(_raw(found, secrets), f"{UNFORESEEN}{type(e).__name__}: {e}")


def _raw(found: object, secrets: Collection[str]) -> str:
    try:
        shown = {k: v for k, v in found.items() if k not in secrets} if isinstance(found, Mapping) else found
        return json.dumps(shown)[:_RAW]
    except (ValueError, RecursionError, TypeError):
        return "(cannot be shown)"
