"""A skill: a procedure that the agent has or has learned, as a folder with SKILL.md (agentskills.io)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

__all__ = ["Skill", "SkillTrust"]

SkillTrust = Literal["builtin", "trusted", "community"]


@dataclass(frozen=True, slots=True)
class Skill:
    """What the prompt's index needs; the body is read when the skill is viewed.

    name: 1 to 64 of `[a-z0-9-]`, equal to the folder's name. description: at most 1,024 characters.
    """

    name: str
    description: str
    folder: Path
    category: str = ""
    trust: SkillTrust = "community"
    platforms: tuple[str, ...] = ()
    requires_toolsets: tuple[str, ...] = ()
    tags: tuple[str, ...] = field(default=())
