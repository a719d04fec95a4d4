"""Transcriptions: the form of a request read and checked, and the answer.

https://platform.openai.com/docs/api-reference/audio/createTranscription
"""

import hashlib
from typing import Any

from aiohttp import BodyPartReader, web

from tests.peers.model.script import Answer

HEARD = "[audio]"
"""Stands for the last user text where an answer is planned for a recording."""
_FIELDS = frozenset({"model", "language", "prompt", "response_format", "temperature"})
_ENDINGS = frozenset({"flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm"})
_LARGEST = 25 << 20


async def read_form(request: web.Request) -> tuple[dict[str, Any], list[str]]:
    """The fields of a request, the recording as `{"name", "type", "size", "digest"}`, and what a provider would refuse."""
    body: dict[str, Any] = {}
    if request.content_type != "multipart/form-data":
        return body, [f"no form: {request.content_type}"]
    async for field in await request.multipart():
        if not isinstance(field, BodyPartReader):
            return body, ["a form inside a form"]
        data = bytes(await field.read())
        if field.name == "file":
            kind = field.headers.get("Content-Type", "")
            digest = hashlib.sha256(data).hexdigest()
            body["file"] = {"name": field.filename or "", "type": kind, "size": len(data), "digest": digest}
        else:
            body[str(field.name)] = data.decode()
    return body, list(_faults(body))


def _faults(body: dict[str, Any]) -> list[str]:
    faults = [f"unknown field {name}" for name in body.keys() - _FIELDS - {"file"}]
    faults += [f"{name} is missing" for name in ("file", "model") if not body.get(name)]
    if body.get("response_format", "json") != "json":
        faults.append(f"response_format {body['response_format']} is not spoken here")
    file = body.get("file", {})
    if str(file.get("name", "")).rpartition(".")[2] not in _ENDINGS:
        faults.append(f"the name {file.get('name')!r} tells no format")
    if file.get("size", 0) > _LARGEST:
        faults.append("the file is too large")
    return faults


def transcription(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """The answer in JSON: billed by the second, where usage is not left out."""
    told: dict[str, Any] = {"text": answer.text}
    if answer.usage == "null":
        told["usage"] = None
    elif answer.usage != "none":
        told["usage"] = {"type": "duration", "seconds": max(1, body["file"]["size"] // 1000)}
    return told
