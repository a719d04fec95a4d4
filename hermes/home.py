"""The home directory: where everything of one installation lies.

Pure paths; making and locking it is the gateway's work.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hermes.files import StoredFile

__all__ = ["APPLICATION_ID", "Home", "default_home"]

APPLICATION_ID = 0x48524D53
"""`HRMS`: what `PRAGMA application_id` says in a `state.db` that is ours.

Bytes 68 to 71 of the file, big-endian (sqlite.org/fileformat2.html)."""


def default_home(environ: Mapping[str, str] = os.environ) -> Path:
    """`HERMES_HOME`, else `~/.hermes`; absolute."""
    chosen = environ.get("HERMES_HOME")
    path = Path(chosen).expanduser() if chosen else Path.home() / ".hermes"
    return path.absolute()


@dataclass(frozen=True, slots=True)
class Home:
    """The paths inside a home. All absolute; the directory is 0700, files are 0600."""

    root: Path

    @property
    def config(self) -> Path:
        """The settings, written by people and by `hermes config set`."""
        return self.root / "config.yaml"

    @property
    def env(self) -> Path:
        """The secrets."""
        return self.root / ".env"

    @property
    def state(self) -> Path:
        """The database; nobody but the lock's holder opens it for writing."""
        return self.root / "state.db"

    @property
    def lock(self) -> Path:
        """Held (flock) by the daemon, or by the CLI while it writes without one."""
        return self.root / "hermes.lock"

    @property
    def pid(self) -> Path:
        """The daemon's process id, for people and scripts; the lock is what counts."""
        return self.root / "hermes.pid"

    @property
    def control(self) -> Path:
        """A text file that names the control socket's path, which may lie elsewhere (paths of sockets are short)."""
        return self.root / "control"

    @property
    def logs(self) -> Path:
        """The daemon's log files."""
        return self.root / "logs"

    @property
    def spills(self) -> Path:
        """Whole tool results that were too long for the model."""
        return self.root / "spills"

    @property
    def media(self) -> Path:
        """Files that came with messages or go out with answers, each by the SHA-256 of its bytes."""
        return self.root / "media"

    def stored(self, file: StoredFile) -> Path:
        """Where a file of `media` lies, if it is still kept. Raises `FileNotFoundError` for what names none."""
        return self.lying(file.digest)

    def lying(self, digest: str) -> Path:
        """The same by its digest."""
        if not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise FileNotFoundError(f"{digest[:80]!r} is no digest")
        return self.media / digest[:2] / digest

    @property
    def backups(self) -> Path:
        """Where `hermes backup` puts its files unless said otherwise."""
        return self.root / "backups"

    @property
    def models(self) -> Path:
        """Embedded models, unpacked, each named by its SHA-256."""
        return self.root / "models"

    @property
    def tools(self) -> Path:
        """The user's own tools."""
        return self.root / "tools"

    @property
    def workspace(self) -> Path:
        """Where the agent reads and writes files by default."""
        return self.root / "workspace"

    @property
    def soul(self) -> Path:
        """Who the agent is, in the user's words; part of the system prompt."""
        return self.root / "SOUL.md"

    def sessions(self, agent_id: str) -> Path:
        """Transcripts and sessions.json of one agent."""
        return self.root / "agents" / agent_id / "sessions"

    def resolve(self, path: str | Path) -> Path:
        """`path` with `~` expanded, relative ones taken from the home."""
        expanded = Path(path).expanduser()
        return expanded if expanded.is_absolute() else self.root / expanded
