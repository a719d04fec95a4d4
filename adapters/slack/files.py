"""What comes with a message that is no text, and what Slack says of a file. Pure.

Source: https://docs.slack.dev/reference/objects/file-object . A file in a message may be a mere stub (`file_access:
check_file_info`, in channels that workspaces share), so what is kept of it is its id, and files.info is asked later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from adapters.fields import objects
from adapters.slack.addresses import host_of
from adapters.slack.shared import shared
from hermes.errors import Gone
from hermes.events import Attachment
from hermes.messages import scrub_surrogates

__all__ = ["address_of", "is_page", "number_of_share", "read_files", "read_links"]

_Kind = Literal["image", "audio", "voice", "video", "document", "sticker", "other"]
_PAGES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.slack-docs"})
_HIDDEN = {
    "tombstone": "it was deleted in Slack",
    "hidden_by_limit": "Slack shows older files only in a paid workspace",
}


def read_files(message: Mapping[str, Any]) -> tuple[Attachment, ...]:
    """The files of a message and of what it passes on; those that cannot be read are passed over."""
    own = [_attachment(file) for file in _files((message,)) if not _is_elsewhere(file)]
    passed = [_attachment(file) for file in _files(shared(message)) if not _is_elsewhere(file)]
    return (*own, *map(Attachment.overheard, passed))


def read_links(message: Mapping[str, Any]) -> str:
    """Files that lie elsewhere (Google Drive and the like), as people see them: a link on each line."""
    links = [file for file in _files((message, *shared(message))) if _is_elsewhere(file)]
    return "\n".join(f"{_named(file)} ({_word(file, 'url_private')})" for file in links)


def address_of(file: Mapping[str, Any]) -> str:
    """Where the bytes of a file are, as files.info tells of it. Raises `Gone`, and says why."""
    if (why := _HIDDEN.get(_word(file, "mode"))) is not None:
        raise Gone(why)
    if _is_elsewhere(file):
        raise Gone(f"it lies outside of Slack, at {host_of(_word(file, 'url_private'))}")
    address = _word(file, "url_private_download") or _word(file, "url_private")
    if not address:
        raise Gone("Slack does not give it to this app")
    return address


def is_page(file: Mapping[str, Any]) -> bool:
    """Whether the file itself is HTML; Slack sends its own documents as that too."""
    return _word(file, "mimetype") in _PAGES or _word(file, "mode") in (
        "post",
        "space",
        "canvas",
        "quip",
        "list",
    )


def number_of_share(file: object, chat: str) -> str | None:
    """The number of the message that shows a file in a conversation; `None`: none does, as far as Slack says."""
    shares = file.get("shares") if isinstance(file, Mapping) else None
    for kind in ("public", "private"):
        places = shares.get(kind) if isinstance(shares, Mapping) else None
        found = places.get(chat) if isinstance(places, Mapping) else None
        for share in found if isinstance(found, list) else ():
            if isinstance(share, Mapping) and isinstance(share.get("ts"), str):
                return str(share["ts"])
    return None


def _files(holders: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for holder in holders:
        yield from (file for file in objects(holder, "files") if isinstance(file.get("id"), str))


def _attachment(file: Mapping[str, Any]) -> Attachment:
    size = file.get("size")
    return Attachment(
        kind=_kind(file),
        ref=_word(file, "id"),
        name=_named(file),
        mime=_word(file, "mimetype"),
        size=size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else None,
    )


def _is_elsewhere(file: Mapping[str, Any]) -> bool:
    return file.get("is_external") is True or file.get("mode") == "external"


def _named(file: Mapping[str, Any]) -> str:
    return _word(file, "name") or _word(file, "title")


def _kind(file: Mapping[str, Any]) -> _Kind:
    if file.get("subtype") == "slack_audio":
        return "voice"
    match _word(file, "mimetype").partition("/")[0]:
        case "image":
            return "image"
        case "audio":
            return "audio"
        case "video":
            return "video"
    return "document"


def _word(file: Mapping[str, Any], key: str) -> str:
    value = file.get(key)
    return scrub_surrogates(value)[:1000] if isinstance(value, str) else ""
