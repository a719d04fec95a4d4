"""`hermes completion bash|zsh|fish`: a script for the shell, made once from the commands; nothing runs when Tab is pressed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, Literal, Protocol

import typer

from gateway.cli import COMMANDS
from gateway.cli.output import new_app

__all__ = ["app", "script", "words"]

app = new_app("Print a completion script for a shell.", group=False)

Shell = Literal["bash", "zsh", "fish"]


class _Command(Protocol):
    """What is asked of a command; the library brings its own copy of the class."""

    params: list[Any]
    hidden: bool


Words = Mapping[str, tuple[str, ...]]

_BASH = """\
# hermes completion bash > ~/.local/share/bash-completion/completions/hermes
_hermes() {
  local path="" word words=""
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
%(steps)s
    esac
  done
  case "$path" in
%(offers)s
  esac
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _hermes hermes
"""
_ZSH = """\
#compdef hermes
# hermes completion zsh > a file named _hermes in a folder of $fpath
autoload -U +X bashcompinit && bashcompinit
"""
_FISH = """\
# hermes completion fish > ~/.config/fish/completions/hermes.fish
function __hermes_path
    set -l path ""
    for word in (commandline -opc)[2..-1]
        switch "$path $word"
%(steps)s
        end
    end
    echo $path
end
complete -c hermes -e
%(offers)s
"""


@app.command()
def completion(shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print a script that completes commands and options; where to put it stands in its first lines."""
    print(script(shell, words()), end="")


def words() -> dict[str, tuple[str, ...]]:
    """What may follow each command: subcommands and options, by the command's words (`" sessions list"`)."""
    found: dict[str, tuple[str, ...]] = {"": (*COMMANDS, "--help", "--version", "--debug")}
    for name, (place, _) in COMMANDS.items():
        module, _, attribute = place.partition(":")
        command = typer.main.get_command(getattr(import_module(module), attribute))
        found.update(_below(f" {name}", command))
    return found


def _below(path: str, command: _Command) -> Iterator[tuple[str, tuple[str, ...]]]:
    shown = [p for p in command.params if not getattr(p, "hidden", False)]
    options = [o for p in shown for o in (*p.opts, *p.secondary_opts) if o.startswith("--")]
    children: Mapping[str, _Command] = getattr(command, "commands", {})
    visible = {name: child for name, child in children.items() if not child.hidden}
    yield path, (*visible, *options, "--help")
    for name, child in visible.items():
        yield from _below(f"{path} {name}", child)


def script(shell: Shell, offered: Words) -> str:
    """The text for a shell; pure. Words are ours alone: letters, digits and dashes need no quoting."""
    if shell == "fish":
        return _FISH % {
            "steps": "\n".join(
                f'            case "{p}"\n                set path "{p}"' for p in offered if p
            ),
            "offers": "\n".join(
                f"complete -c hermes -n 'test \"$(__hermes_path)\" = \"{p}\"' -a '{' '.join(w)}'"
                for p, w in offered.items()
            ),
        }
    text = _BASH % {
        "steps": "\n".join(f'      "{p}") path="{p}" ;;' for p in offered if p),
        "offers": "\n".join(f'    "{p}") words="{" ".join(w)}" ;;' for p, w in offered.items()),
    }
    return text if shell == "bash" else _ZSH + text
