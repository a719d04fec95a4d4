"""The tools' keys in config.yaml: `tools`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from hermes.config import Section

__all__ = ["ToolsSettings"]


class ToolsSettings(Section):
    """What tools may do."""

    workspace: Path = Field(
        default=Path("workspace"),
        description="The only folder whose files tools may use; relative to the home.",
    )
    result_chars: int = Field(
        default=30_000,
        ge=1_000,
        description="Longer results are kept in a file and shown to the model in part.",
    )
    toolsets: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="Platform or instance -> the toolsets that are on there; absent: all.",
        examples=["{telegram: [core], webhook: []}"],
    )
    send_to: tuple[str, ...] = Field(
        default=("home",),
        description="Where `send_message` may write besides the chat that it is asked in: home (every platform's home), "
        "a chat by its id or its name, `platform:*`, `*`.",
        examples=["[home, 'slack:#ops', 'telegram:12345']"],
    )
    disabled: tuple[str, ...] = Field(
        default=(), description="Tools that are off everywhere.", examples=["[write_file]"]
    )
