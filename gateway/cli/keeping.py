"""Copies of a person's files in the home; apart from what sends them, which mostly needs none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gateway.media.folder import MediaFolder
from gateway.media.outgoing import keep_paths
from gateway.wiring import kind_of
from hermes.files import StoredFile
from hermes.home import Home, default_home

__all__ = ["keep_files"]


def keep_files(paths: Sequence[Path], limit: int) -> list[StoredFile]:
    """The copies, each at most `limit` bytes. Raises `HermesError` for what cannot be read."""
    return keep_paths(MediaFolder(Home(default_home()), kind_of), paths, limit)
