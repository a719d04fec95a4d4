"""Which tools a turn may use: toolsets that include each other, chosen per platform, per agent and per role.

A toolset is a name for tools; a tool says which one it belongs to. `includes` composes them, to any depth; a
circle is an error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hermes.config import SettingsSource
from hermes.errors import ConfigError
from hermes.events import Admission, Role
from hermes.tools import Tool
from tools.settings import ToolsSettings

__all__ = ["BUNDLED", "ToolSelection", "Toolset", "expand"]

log = logging.getLogger(__name__)

_UNTRUSTED_PLATFORMS = frozenset({"webhook", "api"})


@dataclass(frozen=True, slots=True)
class Toolset:
    """Names of tools, and of toolsets that are included."""

    tools: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()


BUNDLED: Mapping[str, Toolset] = {
    "all": Toolset(includes=("core", "files", "memory", "messages")),
    "files": Toolset(("read_file", "search_files", "send_file", "write_file")),
    "reading": Toolset(("read_file", "search_files")),
    "memory": Toolset(("session_search",)),
    "messages": Toolset(("send_message",)),
    "none": Toolset(),
}


def expand(
    names: Sequence[str], toolsets: Mapping[str, Toolset], tools: Mapping[str, Tool]
) -> frozenset[str]:
    """The names of all tools in these toolsets. Raises `ConfigError` for an unknown toolset and for a circle.

    A toolset is what `toolsets` says and the tools that name it as theirs; a tool's name is a toolset of one.
    """
    out: set[str] = set()
    for name in names:
        out |= _expand(name, toolsets, tools, ())
    return frozenset(out)


def _expand(
    name: str, toolsets: Mapping[str, Toolset], tools: Mapping[str, Tool], way: tuple[str, ...]
) -> frozenset[str]:
    if name in way:
        raise ConfigError(f"The toolset {name} includes itself: {' -> '.join((*way, name))}.")
    own = {tool.name for tool in tools.values() if tool.toolset == name}
    declared = toolsets.get(name)
    if declared is None:
        if not own and name not in tools:
            known = sorted({*toolsets, *(t.toolset for t in tools.values())})
            raise ConfigError(f"There is no toolset {name}; known are {', '.join(known)}.")
        return frozenset(own or {name})
    for included in declared.includes:
        own |= _expand(included, toolsets, tools, (*way, name))
    return frozenset(own | {tool for tool in declared.tools if tool in tools})


class ToolSelection:
    """The tools of this installation (`hermes.tools.ToolBox`).

    of_agent: the toolsets of an agent id; of_platform: those of a platform's settings; of_role: those of a role;
    `None`: all.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool],
        settings: SettingsSource,
        *,
        toolsets: Mapping[str, Toolset] = BUNDLED,
        of_agent: Callable[[str], Sequence[str] | None] = lambda _: None,
        of_platform: Callable[[str], Sequence[str] | None] = lambda _: None,
        of_role: Callable[[Role], Sequence[str] | None] = lambda _: None,
    ) -> None:
        self._tools = dict(sorted(tools.items()))
        self._toolsets = toolsets
        self._settings = settings
        self._of_agent = of_agent
        self._of_platform = of_platform
        self._of_role = of_role
        self._cached: dict[tuple[int, str, str, Role, bool], tuple[Tool, ...]] = {}

    def select(
        self, *, agent_id: str, platform: str, admission: Admission, role: Role | None = None
    ) -> Sequence[Tool]:
        """See `ToolBox.select`. The agent's, the platform's and the role's toolsets must all allow a tool."""
        role = role or ("guest" if admission == "anyone" else "member")
        trusted = role != "guest" and platform not in _UNTRUSTED_PLATFORMS
        number = self._settings.current().number
        key = (number, agent_id, platform, role, trusted)
        if key not in self._cached:
            if len(self._cached) > 256:
                self._cached.clear()
            self._cached[key] = tuple(self._chosen(agent_id, platform, role, trusted=trusted))
        return self._cached[key]

    def _expanded(self, names: Sequence[str]) -> frozenset[str]:
        """No tools where the settings name a toolset wrongly: rather none than too many."""
        try:
            return expand(names, self._toolsets, self._tools)
        except ConfigError as error:
            log.warning("toolsets.wrong", extra={"reason": str(error)})
            return frozenset()

    def _chosen(self, agent_id: str, platform: str, role: Role, *, trusted: bool) -> list[Tool]:
        rules = self._settings.current().get("tools", ToolsSettings)
        allowed = frozenset(self._tools) - frozenset(rules.disabled)
        asked = (self._of_agent(agent_id), self._of_platform(platform), self._of_role(role))
        for names in (*asked, rules.toolsets.get(platform)):
            if names is not None:
                allowed &= self._expanded(names)
        return [t for n, t in self._tools.items() if n in allowed and (trusted or not t.trusted_only)]
