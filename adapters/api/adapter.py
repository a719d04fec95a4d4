"""The adapter: two addresses on the shared HTTP server."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import replace

import structlog
from aiohttp import web

from adapters.api import wire
from adapters.api.parse import Chat, parse_chat
from adapters.api.parts import BadRequest, Upload
from adapters.api.reply import reply
from adapters.api.settings import ApiSettings
from hermes import failpoint
from hermes.adapter import Adapter, AdapterContext, Capabilities, Intake, Piece, Receipt
from hermes.config import PlatformSettings
from hermes.errors import ConfigError, NotTaken, Rejected, StoreUnavailable
from hermes.events import Attachment, Event, Sender, Target, Verdict
from hermes.files import StoredFile

__all__ = ["Api", "build"]

_log = structlog.get_logger("adapters.api")
_OFF_THE_LOOP = 32 * 1024  # bytes of a body from which parsing is worth a thread
_CHATS = "/v1/chat/completions"
_PULSE = 30.0
_KEPT = 24 * 3600.0  # seconds that an Idempotency-Key means the same request
_MOST_GENERATIONS = 64
_SENDER = Sender(id="api")


class Api:
    """One instance, at `/v1/chat/completions` and `/v1/models`."""

    capabilities = Capabilities(commands=False)

    def __init__(self, settings: ApiSettings, context: AdapterContext) -> None:
        self._key = settings.key.get_secret_value().encode()
        self._context = context

    async def run(self, intake: Intake) -> None:
        """There is nothing to connect to: the HTTP server calls."""
        intake.state("connected")
        while True:
            intake.alive()
            await self._context.clock.sleep(_PULSE)

    def mount(self, router: web.UrlDispatcher, intake: Intake) -> None:
        """Add the addresses. Raises `ConfigError` when another instance has them."""
        chat = _Chats(self._context, intake)

        async def completions(request: web.Request) -> web.StreamResponse:
            return self._refusal(request) or await chat.handle(request)

        async def models(request: web.Request) -> web.StreamResponse:
            return self._refusal(request) or wire.models(int(self._context.clock.time()))

        if any(resource.canonical == _CHATS for resource in router.resources()):
            raise ConfigError(f"platforms.{self._context.instance}: there can be one API only.")
        router.add_post(_CHATS, completions)
        router.add_get("/v1/models", models)

    def render(self, markdown: str, target: Target) -> Sequence[Piece]:  # noqa: ARG002  the contract
        """Answers are read by whoever asks, so nothing is cut."""
        return [Piece(markdown)] if markdown.strip() else []

    async def send(
        self,
        target: Target,  # noqa: ARG002  the contract
        piece: Piece,  # noqa: ARG002
        *,
        key: str,  # noqa: ARG002
        again: bool = False,  # noqa: ARG002
    ) -> Receipt:
        """Always `Rejected`: nobody can be called through an API."""
        raise Rejected("The API answers requests only; deliver to another platform.")

    async def typing(self, target: Target) -> None:
        """Nobody sees it."""

    async def aclose(self) -> None:
        """Nothing is open."""

    def _refusal(self, request: web.Request) -> web.Response | None:
        lines = request.headers.getall("Authorization", ())
        scheme, _, token = (lines[0] if len(lines) == 1 else "").partition(" ")
        given = token.strip().encode("utf-8", "surrogateescape")
        if hmac.compare_digest(given, self._key) and scheme.lower() == "bearer":
            return None
        _log.warning("api.key_wrong", instance=self._context.instance, peer=request.remote)
        text = "Incorrect API key provided; send Authorization: Bearer KEY with the key of platforms.api."
        return wire.error(401, text, "invalid_api_key", WWW_Authenticate="Bearer")


class _Chats:
    """`POST /v1/chat/completions`, for a caller who may."""

    def __init__(self, context: AdapterContext, intake: Intake) -> None:
        self._context = context
        self._intake = intake

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            body = await request.read()
            chat = await self._parsed(request, body)
        except web.HTTPException as e:  # the server's limits
            return wire.error(e.status, _LIMITS.get(e.status, f"{e.reason}."), "invalid_body")
        except web.RequestPayloadError:
            return wire.error(400, "The body is broken.", "invalid_body")
        except BadRequest as e:
            return wire.error(400, str(e), "invalid_request", e.param)
        failpoint.reached("intake.parsed")
        try:
            verdict = await self._taken(chat)
        except Rejected as e:
            return wire.error(400, str(e), "file_refused", "messages")
        except (StoreUnavailable, NotTaken):
            return wire.error(
                503, "Nothing can be stored at the moment.", "store_unavailable", Retry_After="5"
            )
        self._intake.alive()
        ticket = verdict.ticket
        if ticket is None or verdict.kind not in ("accepted", "duplicate"):
            return _refused(verdict)
        if verdict.kind == "duplicate" and verdict.fingerprint != chat.fingerprint:
            text = "This Idempotency-Key was used with another request; use a new one."
            return wire.error(422, text, "idempotency_key_reused", "Idempotency-Key")
        return await self._answered(request, chat, ticket)

    async def _parsed(self, request: web.Request, body: bytes) -> Chat:
        if len(body) < _OFF_THE_LOOP:
            return parse_chat(request.headers, body)
        return await asyncio.to_thread(parse_chat, request.headers, body)

    async def _taken(self, chat: Chat) -> Verdict:
        """The verdict on the request.

        A caller who goes away meanwhile takes a turn that is only for him along.
        """
        taking = asyncio.ensure_future(self._take(chat))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            verdict = await taking
            if chat.idempotency is None and verdict.ticket is not None:
                await self._intake.abandon(verdict.ticket)
            raise

    async def _take(self, chat: Chat) -> Verdict:
        chat, files = await self._kept(chat)
        event = self._event(chat, files)
        (verdict,) = await self._intake.take([event])
        for _ in range(_MOST_GENERATIONS):
            since = verdict.since
            if verdict.kind != "duplicate" or since is None or self._context.clock.time() - since < _KEPT:
                break
            # The key is older than it is kept: the request after it has a name that follows from it.
            (verdict,) = await self._intake.take([self._event(chat, files, f":{since:.6f}")])
        return verdict

    async def _kept(self, chat: Chat) -> tuple[Chat, tuple[Attachment, ...]]:
        """The files of a request lie in the home before it is taken: nobody could fetch them later."""
        files = [
            Attachment(u.kind, "", u.name, size=len(u.data), file=await self._keep(u)) for u in chat.uploads
        ]
        history = [
            replace(m, files=tuple([await self._keep(u) for u in uploads])) if uploads else m
            for m, uploads in zip(chat.history, chat.earlier, strict=True)
        ]
        return replace(chat, uploads=(), earlier=(), history=tuple(history)), tuple(files)

    async def _keep(self, upload: Upload) -> StoredFile:
        return await self._context.keep(upload.data, upload.name, spoken=upload.kind == "voice")

    def _event(self, chat: Chat, files: tuple[Attachment, ...], generation: str = "") -> Event:
        # A colon cannot be in the name that a client chooses, so nobody can name a one-off session.
        own = f"once:{secrets.token_hex(12)}"
        session = chat.session or own
        instance = self._context.instance
        return Event(
            platform="api",
            instance=instance,
            account=instance,
            kind="api",
            chat=session,
            sender=_SENDER,
            text=chat.text,
            dedupe_key=own if chat.idempotency is None else f"idem:{chat.idempotency}{generation}",
            message_id=chat.fingerprint,
            command_text=False,
            session=session,
            history=chat.history,
            volatile=chat.idempotency is None,
            sent_at=self._context.clock.time(),
            attachments=files,
            admitted="key",
        )

    async def _answered(self, request: web.Request, chat: Chat, ticket: str) -> web.StreamResponse:
        created = int(self._context.clock.time())
        answer = wire.Answer(f"chatcmpl-{ticket}", created, chat.model, chat.include_usage)
        over = False
        try:
            response = await reply(request, self._intake.follow(ticket), answer, stream=chat.stream)
            over = response.finished
        finally:
            if not over and chat.idempotency is None:
                await asyncio.shield(self._intake.abandon(ticket))
        return response.http


_LIMITS = {
    408: "The body did not arrive in time.",
    413: "The body is larger than gateway.limits.http_body.",
    415: "Compressed bodies are not taken; send it without Content-Encoding.",
}


def _refused(verdict: Verdict) -> web.Response:
    if verdict.reason in ("rate", "backlog"):
        text = "Too much at once; send it again later."
        return wire.error(429, text, "rate_limit_exceeded", Retry_After="60")
    if verdict.reason == "too long":
        return wire.error(
            413, "The message is longer than gateway.limits.message_chars.", "too_long", "messages"
        )
    return wire.error(403, f"Refused: {verdict.reason or verdict.kind}.", "refused")


def build(settings: PlatformSettings, context: AdapterContext) -> Adapter:
    """Make the adapter."""
    if not isinstance(settings, ApiSettings):
        raise TypeError(f"api got {type(settings).__name__}")
    return Api(settings, context)
