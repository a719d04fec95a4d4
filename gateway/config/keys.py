"""Keys as people write them: `llm.model`, `bindings[0].agent`, `people."Ana B."`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gateway.config.problems import Path, Problem, Problems, Raw

__all__ = ["parse_key", "platform_types"]

_PART = re.compile(r'(?:^|\.)(?:"([^"]+)"|([^.\[\]"]+))|\[(\d+)\]')


def parse_key(text: str) -> Path:
    """The path that `text` names. Raises `Problems`."""
    path: Path = ()
    position = 0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None or match.end() == position:
            break
        path = (*path, int(match[3]) if match[3] else match[1] or match[2])
        position = match.end()
    if position < len(text) or not path or isinstance(path[0], int):
        raise Problems("config.yaml", [Problem((), f"{text!r} is no key; write for example llm.model")])
    return path


def platform_types(values: Mapping[str, Raw]) -> dict[str, str]:
    """Instance -> platform type, for the instances whose name is not the type."""
    platforms = values.get("platforms")
    if not isinstance(platforms, dict):
        return {}
    return {n: str(d["type"]) for n, d in platforms.items() if isinstance(d, dict) and d.get("type")}
