"""The parts of a message's content, read. Pure. Source: platform.openai.com/docs/api-reference/chat/create, content parts.

Files come inside of the request, as data URLs (RFC 2397); what lies elsewhere is not fetched: an address is the caller's,
and the network that it would be asked in is ours.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

from hermes.messages import scrub_surrogates

__all__ = ["BadRequest", "Content", "Upload", "read_content"]

_NAME = 1000  # characters of a file's name that are looked at
_DATA = re.compile(r"data:([\w.+/-]*)((?:;[\w.+-]+=[^;,]*)*)(;base64)?,", re.IGNORECASE)


class BadRequest(Exception):
    """The request cannot be answered as it is. `param`: the field."""

    def __init__(self, text: str, param: str | None = None) -> None:
        super().__init__(text)
        self.param = param


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came inside of a request."""

    kind: Literal["image", "voice", "document"]
    data: bytes
    name: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """What a message says, and what came with it."""

    text: str
    uploads: tuple[Upload, ...] = ()


def read_content(content: Any, where: str) -> Content:  # noqa: ANN401  JSON
    """A message's content: text, or a list of parts. Raises `BadRequest`."""
    if isinstance(content, str):
        return Content(scrub_surrogates(content))
    if not isinstance(content, list):
        raise BadRequest(f"{where} must be text or a list of parts.", where)
    parts = [_part(part, f"{where}[{i}]") for i, part in enumerate(content)]
    text = "\n".join(p for p in parts if isinstance(p, str))
    return Content(scrub_surrogates(text), tuple(p for p in parts if isinstance(p, Upload)))


def _part(part: Any, where: str) -> str | Upload:  # noqa: ANN401  JSON
    if not isinstance(part, dict):
        raise BadRequest(f"{where} must be an object.", where)
    match part.get("type"):
        case "text" | "input_text":
            return _string(part, "text", where)
        case "image_url" | "input_image":
            return _image(part, where)
        case "file" | "input_file":
            return _file(part, where)
        case "input_audio":
            inner = _object(part, "input_audio", where)
            place = f"{where}.input_audio"
            form = re.sub(r"\W", "", _string(inner, "format", place))
            return Upload("voice", _decoded(_string(inner, "data", place), f"{place}.data"), f"audio.{form}")
    raise BadRequest(f"{where}: parts of type text, image_url, file and input_audio are taken.", where)


def _image(part: Mapping[str, Any], where: str) -> Upload:
    given = part.get("image_url")
    url = given.get("url") if isinstance(given, Mapping) else given
    if not isinstance(url, str):
        raise BadRequest(f"{where}.image_url.url must be a string.", where)
    return Upload("image", _data_of(url, where))


def _file(part: Mapping[str, Any], where: str) -> Upload:
    inner = part if part.get("type") == "input_file" else _object(part, "file", where)
    if "file_data" not in inner:
        raise BadRequest(f"{where}: a file must come as file_data; there are no stored files here.", where)
    given = inner.get("filename")
    name = scrub_surrogates(given[:_NAME]) if isinstance(given, str) else ""
    return Upload("document", _data_of(_string(inner, "file_data", where), where), name)


def _data_of(url: str, where: str) -> bytes:
    found = _DATA.match(url)
    if found is None:
        if re.match(r"\w+:", url):
            raise BadRequest(f"{where}: only data URLs are taken; nothing is fetched from elsewhere.", where)
        return _decoded(url, where)
    rest = url[found.end() :]
    return _decoded(rest, where) if found[3] else unquote_to_bytes(rest)


def _decoded(text: str, where: str) -> bytes:
    try:
        return base64.b64decode(re.sub(r"\s+", "", text), validate=True)
    except (binascii.Error, ValueError) as e:
        raise BadRequest(f"{where} is no base64.", where) from e


def _object(part: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    found = part.get(key)
    if not isinstance(found, Mapping):
        raise BadRequest(f"{where}.{key} must be an object.", where)
    return found


def _string(part: Mapping[str, Any], key: str, where: str) -> str:
    found = part.get(key)
    if not isinstance(found, str):
        raise BadRequest(f"{where}.{key} must be a string.", where)
    return found
