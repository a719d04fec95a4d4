"""Files in the workspace: what people upload, what the app uploads, and who may read what.

https://docs.slack.dev/reference/objects/file-object , /reference/methods/files.getUploadURLExternal ,
/files.completeUploadExternal , /files.info . Slack answers the last step before it shows the file, and takes it once.
"""

import hashlib
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_NOT_SHOWN = frozenset({"answers_with_page", "file_access", "sent_on_to"})


class Refusal(Exception):
    """The server's ordinary answer to a call that cannot be done."""

    def __init__(self, error: str, **more: Any) -> None:
        super().__init__(error)
        self.body = {"ok": False, "error": error, **more}


@dataclass(slots=True)
class File:
    """One file. `shares`: kind of conversation, its id, number of the message; `more`: further fields, or other ones.

    `state`: `asked` (an address was given out), `poured` (the bytes are there), `shown`, or `deleted`.
    `answers_with_page` (True) and `sent_on_to` (an address) in `more` say how its download goes.
    """

    id: str
    name: str
    user: str
    base: str
    length: int
    content: bytes = b""
    mimetype: str = "application/octet-stream"
    state: str = "shown"
    shares: list[tuple[str, str, str]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    hidden_for: int = 0

    def wire(self, *, with_shares: bool = False) -> dict[str, Any]:
        """As the Web API and events show it."""
        if self.more.get("file_access") == "check_file_info" and not with_shares:
            return {"id": self.id, "mode": "file_access", "file_access": "check_file_info", "created": 0}
        address = f"{self.base}/files-pri/T1-{self.id}/download/{self.name}"
        shown: dict[str, Any] = {
            "id": self.id, "name": self.name, "title": self.name, "mimetype": self.mimetype, "size": self.length,
            "user": self.user, "mode": "hosted", "is_external": False, "url_private": address,
            "url_private_download": address, "file_access": "visible",
        }  # fmt: skip
        shown |= {key: value for key, value in self.more.items() if key not in _NOT_SHOWN}
        if with_shares:
            shown["shares"] = self._shares()
        return shown

    def _shares(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for kind, channel, ts in self.shares:
            found.setdefault(kind, {}).setdefault(channel, []).append({"ts": ts})
        return found

    def summary(self) -> dict[str, Any]:
        """As plain JSON, for tests in another process."""
        digest = hashlib.sha256(self.content).hexdigest()
        return {"id": self.id, "name": self.name, "size": len(self.content), "sha256": digest}


class Files:
    """All files. slow: how many looks at files.info do not yet see what was just shown."""

    def __init__(self, base: Callable[[], str]) -> None:
        self._base = base
        self._numbers = itertools.count(1)
        self.by_id: dict[str, File] = {}
        self.slow = 0

    def add(self, name: str, content: bytes, mimetype: str, user: str = "U1", **more: Any) -> File:
        """A person uploads one."""
        file = File(
            f"F{next(self._numbers)}", name, user, self._base(), len(content), content, mimetype, more=more
        )
        self.by_id[file.id] = file
        return file

    def ask(self, params: Mapping[str, Any], user: str) -> dict[str, Any]:
        """files.getUploadURLExternal."""
        if int(params["length"]) == 0:
            raise Refusal("missing_argument")
        file = self.add(params["filename"], b"", "application/octet-stream", user)
        file.length, file.state = int(params["length"]), "asked"
        return {"upload_url": f"{self._base()}/upload/v1/{file.id}", "file_id": file.id}

    def poured(self, params: Mapping[str, Any]) -> list[tuple[File, str]]:
        """The files of a files.completeUploadExternal, each with its title, which can be shown now."""
        found = []
        asked = params["files"]
        for item in json.loads(asked) if isinstance(asked, str) else asked:
            file = self.by_id.get(item["id"])
            if file is None or file.state != "poured":
                raise Refusal("file_not_found")
            found.append((file, item.get("title") or file.name))
        return found

    def show(self, file: File, kind: str, channel: str, ts: str) -> None:
        """It stands in a message."""
        file.state, file.hidden_for = "shown", self.slow
        file.shares.append(("public" if kind == "channel" else "private", channel, ts))

    def info(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """files.info."""
        file = self.by_id.get(str(params.get("file")))
        if file is None or file.state in ("asked", "poured"):
            raise Refusal("file_not_found")
        if file.state == "deleted":
            raise Refusal("file_deleted")
        shown = file.wire(with_shares=True)
        if file.hidden_for:
            file.hidden_for -= 1
            shown["shares"] = {}
        return {"file": shown, "comments": []}
