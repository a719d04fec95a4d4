"""Which values are secret, and whether somebody knows one."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator

from pydantic import BaseModel, SecretStr

from hermes.config import SettingsSource, Snapshot

__all__ = ["api_key_check", "secret_values"]


def secret_values(snapshot: Snapshot) -> frozenset[str]:
    """Every secret that the settings hold, for redaction."""
    found = {s for part in (*snapshot.sections.values(), *snapshot.platforms.values()) for s in _walk(part)}
    return frozenset(s for s in found if s)


def _walk(value: object) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _walk(getattr(value, name))
    elif isinstance(value, dict):
        for item in value.values():
            yield from _walk(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item)


def api_key_check(settings: SettingsSource) -> Callable[[str], bool]:
    """Whether a token is the key of an API instance, in constant time per key."""

    def is_key(token: str) -> bool:
        given = token.encode("utf-8", "replace")
        keys = [
            s.encode()
            for p in settings.current().platforms.values()
            if p.enabled and p.type == "api"
            for s in _walk(getattr(p, "key", None))
        ]
        return bool(sum(hmac.compare_digest(given, key) for key in keys if key))

    return is_key
