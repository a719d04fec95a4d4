"""Where files' bytes go and come from: what Slack serves at files.slack.com, with the page for who may not read.

In the journal and the fault plan its calls are `upload` and `download`, with the file's id as `file`. A lost upload
was taken; a lost download ends half way.
"""

from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.peers.platform import half
from tests.peers.serving import cut
from tests.peers.slack.files import File

if TYPE_CHECKING:
    from tests.peers.slack.server import Call, SlackPeer

_PAGE = "<!DOCTYPE html><html><title>Sign in to Peer | Slack</title></html>"


class Shelf:
    """The routes of one peer."""

    def __init__(self, peer: "SlackPeer") -> None:
        self._peer = peer

    def routes(self) -> list[web.RouteDef]:
        """For the application."""
        return [
            web.post("/upload/v1/{file}", self._upload),
            web.get("/files-pri/{name}/download/{rest:.*}", self._download),
            web.get("/", self._sign_in),
        ]

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        file = self._peer.files.by_id.get(request.match_info["file"])
        if file is None or file.state not in ("asked", "poured"):
            return web.Response(status=404, text="no such upload")
        if fault := self._peer.faults.take("upload", None):
            self._peer.finish(self._noted("upload", file, request), 0, f"fault:{fault.kind}")
            return cut(request)
        content = await request.read()
        call = self._noted("upload", file, request, size=len(content))
        fault = self._peer.faults.take("upload", call.params)
        if fault is not None and (early := await self._peer.before(request, call, fault)) is not None:
            return early
        if len(content) != file.length:
            self._peer.violations.append(f"upload: {len(content)} bytes, not {file.length}")
        file.content, file.state = content, "poured"
        self._peer.finish(call, 200, "ok" if fault is None else f"fault:{fault.kind}")
        return (
            cut(request)
            if fault is not None and fault.kind == "lost"
            else web.Response(text=f"OK - {len(content)}")
        )

    async def _download(self, request: web.Request) -> web.StreamResponse:
        file = self._peer.files.by_id.get(request.match_info["name"].removeprefix("T1-"))
        if file is None:
            return web.Response(status=404, text="file_not_found")
        call = self._noted("download", file, request)
        fault = self._peer.faults.take("download", call.params)
        if fault is not None and (early := await self._peer.before(request, call, fault)) is not None:
            return early
        if not self._peer.may_read(request):
            self._peer.finish(call, 302, "refused")
            return web.Response(status=302, headers={"Location": f"{self._peer.base}/?redir={request.path}"})
        if file.more.get("answers_with_page"):
            self._peer.finish(call, 200, "page")
            return web.Response(text=_PAGE, content_type="text/html")
        if (elsewhere := file.more.get("sent_on_to")) is not None:
            self._peer.finish(call, 302, "sent on")
            return web.Response(status=302, headers={"Location": elsewhere})
        self._peer.finish(call, 200, "ok" if fault is None else f"fault:{fault.kind}")
        if fault is not None and fault.kind == "lost":
            return await half(request, file.content)
        return web.Response(body=file.content, content_type=file.mimetype)

    async def _sign_in(self, _: web.Request) -> web.StreamResponse:
        return web.Response(text=_PAGE, content_type="text/html")

    def _noted(self, method: str, file: File, request: web.Request, **more: Any) -> "Call":
        self._peer.server.count_connection(request)
        return self._peer.note(method, {"file": file.id, **more}, request.content_type)
