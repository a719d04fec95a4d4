"""Is a request from whom it says? Pure.

Every comparison takes constant time, on bytes, since the bytes of a header are anybody's.

github: `X-Hub-Signature-256`, docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries.
standard: `webhook-id`, `webhook-timestamp`, `webhook-signature`, github.com/standard-webhooks/standard-
webhooks.
gitlab: `X-Gitlab-Token`, docs.gitlab.com/user/project/integrations/webhooks.
hmac: ours, `X-Signature: sha256=<lower-case hex of HMAC-SHA256("<X-Timestamp>.<body>")>`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass

from multidict import MultiMapping

from adapters.webhook.settings import Scheme, standard_key

__all__ = ["DELIVERY_IDS", "Proof", "Verifier", "build_verifier"]

_TOLERANCE = 300.0
_DIGITS = re.compile(rb"[0-9]{1,12}")

DELIVERY_IDS: dict[str, str] = {
    "github": "X-GitHub-Delivery",
    "standard": "webhook-id",
    "gitlab": "X-Gitlab-Event-UUID",
}


@dataclass(frozen=True, slots=True)
class Proof:
    """The outcome.

    `refusal`: one sentence, `None` when the signature holds. `identity`: what makes a delivery the same as
    another.
    """

    refusal: str | None = None
    identity: str | None = None


Headers = MultiMapping[str]
Verifier = Callable[[Headers, bytes, float], Proof]
"""(headers, raw body, now in epoch seconds) -> Proof."""


def build_verifier(scheme: Scheme, secret: str) -> Verifier:
    """The check of one route. Raises `ValueError` for a secret that the scheme cannot use."""
    if scheme == "standard":
        return _Standard(_Keyed(standard_key(secret)))
    key = secret.encode()
    if scheme == "gitlab":
        return _GitLab(key)
    return _GitHub(_Keyed(key)) if scheme == "github" else _Hmac(_Keyed(key))


class _Keyed:
    """HMAC-SHA256 with one key (RFC 2104)."""

    __slots__ = ("_begun",)

    def __init__(self, key: bytes) -> None:
        self._begun = hmac.new(key, digestmod="sha256")

    def of(self, signed: bytes) -> bytes:
        """The code. `hmac.digest` would let go of the interpreter for each, and prepare the key anew."""
        code = self._begun.copy()
        code.update(signed)
        return code.digest()

    def hex(self, signed: bytes) -> bytes:
        """The same as lower-case digits."""
        return self.of(signed).hex().encode()


@dataclass(frozen=True, slots=True)
class _GitHub:
    key: _Keyed

    def __call__(self, headers: Headers, body: bytes, _: float) -> Proof:
        given = _only(headers, "X-Hub-Signature-256")
        if given is None:
            return Proof("X-Hub-Signature-256 is missing.")
        if not hmac.compare_digest(given, b"sha256=" + self.key.hex(body)):
            return Proof("X-Hub-Signature-256 does not fit the body.")
        return Proof(None, _delivery(headers, "github"))


@dataclass(frozen=True, slots=True)
class _GitLab:
    key: bytes

    def __call__(self, headers: Headers, _: bytes, __: float) -> Proof:
        given = _only(headers, "X-Gitlab-Token")
        if given is None:
            return Proof("X-Gitlab-Token is missing.")
        if not hmac.compare_digest(given, self.key):
            return Proof("X-Gitlab-Token is wrong.")
        return Proof(None, _delivery(headers, "gitlab"))


@dataclass(frozen=True, slots=True)
class _Hmac:
    key: _Keyed

    def __call__(self, headers: Headers, body: bytes, now: float) -> Proof:
        given, stamp = _only(headers, "X-Signature"), _only(headers, "X-Timestamp")
        if given is None or stamp is None:
            return Proof("X-Signature or X-Timestamp is missing.")
        if not hmac.compare_digest(given, b"sha256=" + self.key.hex(stamp + b"." + body)):
            return Proof("X-Signature does not fit X-Timestamp and body.")
        if stale := _stale(stamp, now):
            return Proof(f"X-Timestamp {stale}")
        # The sender's X-Delivery-Id is not covered by the signature, so it says nothing.
        return Proof(None, hashlib.sha256(stamp + b"." + body).hexdigest())


@dataclass(frozen=True, slots=True)
class _Standard:
    key: _Keyed

    def __call__(self, headers: Headers, body: bytes, now: float) -> Proof:
        name, stamp = _only(headers, "webhook-id"), _only(headers, "webhook-timestamp")
        given = _only(headers, "webhook-signature")
        if not name or not stamp or not given:
            return Proof("webhook-id, webhook-timestamp or webhook-signature is missing.")
        right = base64.b64encode(self.key.of(name + b"." + stamp + b"." + body))
        # During a rotation of keys the sender signs with both; all are compared, so that time tells nothing.
        fits = [hmac.compare_digest(one, b"v1," + right) for one in given.split(b" ")]
        if not any(fits):
            return Proof("webhook-signature does not fit.")
        if stale := _stale(stamp, now):
            return Proof(f"webhook-timestamp {stale}")
        return Proof(None, _delivery(headers, "standard"))


def _only(headers: Headers, name: str) -> bytes | None:
    # aiohttp decodes headers as UTF-8 with surrogateescape.
    lines = headers.getall(name, ())
    return lines[0].encode("utf-8", "surrogateescape") if len(lines) == 1 else None


def _stale(stamp: bytes, now: float) -> str | None:
    if not _DIGITS.fullmatch(stamp):
        return "is no unix time in seconds."
    return None if abs(now - int(stamp)) <= _TOLERANCE else f"is more than {_TOLERANCE:.0f} seconds off."


def _delivery(headers: Headers, scheme: str) -> str | None:
    name = _only(headers, DELIVERY_IDS[scheme])
    if not name:
        return None
    text = name.decode("ascii", "replace")
    return (
        text
        if len(text) <= 128 and text.isprintable() and name.isascii()
        else hashlib.sha256(name).hexdigest()
    )
