"""The adapter: routes on the shared HTTP server, each request one event."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from aiohttp import web

from adapters.webhook.answer import error, status
from adapters.webhook.parse import parse_payload
from adapters.webhook.settings import Route, WebhookSettings
from adapters.webhook.signature import DELIVERY_IDS, Proof, Verifier, build_verifier
from adapters.webhook.template import Template
from hermes import failpoint
from hermes.adapter import Adapter, AdapterContext, Capabilities, Intake, Piece, Receipt
from hermes.config import PlatformSettings
from hermes.errors import ConfigError, Rejected, StoreUnavailable
from hermes.events import Event, Sender, Target

if TYPE_CHECKING:
    from multidict import CIMultiDictProxy

__all__ = ["Webhook", "build"]

_log = structlog.get_logger("adapters.webhook")
_OFF_THE_LOOP = 32 * 1024  # bytes of a body from which hashing and parsing are worth a thread
_FOLDERS = ("webhooks", "webhook")
"""Where routes are served: both spellings are common in senders' settings."""
_PULSE = 30.0


@dataclass(frozen=True, slots=True)
class _Served:
    """A route, ready to judge requests."""

    name: str
    settings: Route
    verify: Verifier
    template: Template
    reply_to: tuple[Target, ...]


class _BadBody(Exception):
    """The body is not what it says."""


class Webhook:
    """One instance; `mount` gives each route its address, `/webhooks/NAME`."""

    capabilities = Capabilities(commands=False)

    def __init__(self, settings: WebhookSettings, context: AdapterContext) -> None:
        """Raises `ConfigError` for a target that cannot exist."""
        self._context = context
        self._routes = [_served(name, route, context) for name, route in settings.routes.items()]

    async def run(self, intake: Intake) -> None:
        """There is nothing to connect to: the HTTP server calls."""
        intake.state("connected")
        while True:
            intake.alive()
            await self._context.clock.sleep(_PULSE)

    def mount(self, router: web.UrlDispatcher, intake: Intake) -> None:
        """Add the routes. Raises `ConfigError` when another instance has a route of the same name."""
        taken = {resource.canonical for resource in router.resources()}
        for route in self._routes:
            paths = [f"/{folder}/{route.name}" for folder in _FOLDERS]
            if taken.intersection(paths):
                where = f"platforms.{self._context.instance}.routes.{route.name}"
                raise ConfigError(f"{where}: another webhook platform has a route of this name.")
            _warn(self._context.instance, route)
            endpoint = _Endpoint(route, self._context, intake)
            for path in paths:
                router.add_post(path, endpoint.handle)

    def render(self, markdown: str, target: Target) -> Sequence[Piece]:  # noqa: ARG002  the contract
        """Nothing can be sent to a webhook, so nothing is cut."""
        return [Piece(markdown)] if markdown.strip() else []

    async def send(self, target: Target, piece: Piece, *, key: str, again: bool = False) -> Receipt:  # noqa: ARG002  the contract
        """Always `Rejected`: webhooks only come in."""
        raise Rejected("A webhook takes messages in only; deliver to another platform.")

    async def typing(self, target: Target) -> None:
        """Nobody sees it."""

    async def aclose(self) -> None:
        """Nothing is open."""


class _Endpoint:
    """One route's address. The order of the checks is the promise: size, signature, body, verdict."""

    def __init__(self, route: _Served, context: AdapterContext, intake: Intake) -> None:
        self._route = route
        self._context = context
        self._intake = intake
        self._sender = Sender(id=route.name)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()  # raises 413, 415, 408 (the server's limits)
        try:
            event = await self._judge(request, body)
        except _BadBody as e:
            return error(400, str(e))
        if isinstance(event, str):
            _log.warning("webhook.refused", route=self._route.name, peer=request.remote, reason=event)
            return error(401, event)
        failpoint.reached("intake.parsed")
        try:
            (verdict,) = await self._intake.take([event])
        except StoreUnavailable:
            return error(503, "Nothing can be stored at the moment; send it again later.", retry_after=5)
        response = status(verdict)
        await response.prepare(request)
        await response.write_eof()
        failpoint.reached("intake.acknowledged")
        self._intake.alive()
        return response

    async def _judge(self, request: web.Request, body: bytes) -> Event | str:
        now = self._context.clock.time()
        headers, content_type = request.headers, request.content_type
        if len(body) < _OFF_THE_LOOP:
            return self._event(headers, content_type, body, now)
        return await asyncio.to_thread(self._event, headers, content_type, body, now)

    def _event(
        self, headers: CIMultiDictProxy[str], content_type: str, body: bytes, now: float
    ) -> Event | str:
        """The event, or why the signature does not hold. Pure."""
        route = self._route
        proof = route.verify(headers, body, now)
        if proof.refusal is not None:
            return proof.refusal
        try:
            prompt = route.template.expand(parse_payload(content_type, body))
        except ValueError as e:
            raise _BadBody(str(e)) from e
        if prompt.missing:
            _log.warning("webhook.field_missing", route=route.name, fields=prompt.missing)
        identity = proof.identity or secrets.token_hex(8)
        window = route.settings.replay_window
        return Event(
            platform="webhook",
            instance=self._context.instance,
            account=self._context.instance,
            kind="hook",
            chat=route.name,
            sender=self._sender,
            text=prompt.text,
            dedupe_key=f"{route.name}:{identity}",
            command_text=False,
            reply_to=route.reply_to,
            session=route.name if route.settings.session else f"{route.name}:{secrets.token_hex(8)}",
            untrusted=True,
            sent_at=now,
            replay_key=f"{route.name}:{hashlib.sha256(body).hexdigest()}" if window else None,
            replay_window=window,
            admitted="anyone" if route.settings.insecure else "signed",
        )


def build(settings: PlatformSettings, context: AdapterContext) -> Adapter:
    """Make the adapter. Raises `ConfigError`."""
    if not isinstance(settings, WebhookSettings):
        raise TypeError(f"webhook got {type(settings).__name__}")
    return Webhook(settings, context)


def _served(name: str, route: Route, context: AdapterContext) -> _Served:
    where = f"platforms.{context.instance}.routes.{name}"
    targets: list[Target] = []
    for target in route.deliver:
        try:
            targets.append(context.targets(target))
        except ConfigError as e:
            raise ConfigError(f"{where}.deliver: {e}") from e
    return _Served(name, route, _verifier(route), Template(route.prompt), tuple(targets))


def _verifier(route: Route) -> Verifier:
    if route.secret is not None:
        return build_verifier(route.scheme, route.secret.get_secret_value())
    if not route.insecure:
        return lambda *_: Proof("This route has no secret, so it takes nothing.")
    return lambda headers, *_: Proof(None, headers.get(DELIVERY_IDS.get(route.scheme, ""), "")[:128] or None)


def _warn(instance: str, route: _Served) -> None:
    if route.settings.insecure:
        _log.warning(
            "webhook.insecure", instance=instance, route=route.name, taken="unsigned requests from anybody"
        )
    elif route.settings.secret is None:
        _log.warning(
            "webhook.without_secret", instance=instance, route=route.name, taken="nothing; set its secret"
        )
