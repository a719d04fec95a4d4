"""`hermes completion bash|zsh|fish`: a script for the shell, made once from the commands.

For names that are the home's own (conversations, platforms, dead letters) the script asks `hermes __complete`.
"""

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


_NAMES = {
    **{f" sessions {name}": "sessions" for name in ("show", "export", "rename", "delete")},
    **{f" deadletters {name}": "letters" for name in ("show", "retry", "drop")},
    " gateway remove": "platforms",
}
"""What the arguments of a command are the names of."""
_AFTER = {"--gateway": "platforms"}
"""The same for options."""

Words = Mapping[str, tuple[str, ...]]

_BASH = """\
# hermes completion bash > ~/.local/share/bash-completion/completions/hermes
_hermes() {
  local path="" word words="" kind="" current="${COMP_WORDS[COMP_CWORD]}"
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
%(steps)s
    esac
  done
  case "$path" in
%(offers)s
  esac
  if [[ $current != -* ]]; then
    case "$path" in
%(names)s
    esac
  fi
  case "${COMP_WORDS[COMP_CWORD-1]}" in
%(after)s
  esac
  if [[ -n $kind ]]; then
    words="$words $("${1:-hermes}" __complete $kind 2>/dev/null | cut -f1)"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
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
%(names)s
%(after)s
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
            "names": "\n".join(
                f"complete -c hermes -n 'test \"$(__hermes_path)\" = \"{p}\"' -a '(hermes __complete {kind} 2>/dev/null)'"
                for p, kind in _NAMES.items()
            ),
            "after": "\n".join(
                f'complete -c hermes -n \'string match -q "*run" "$(__hermes_path)"\' -x '
                f"-l {option.removeprefix('--')} -a '(hermes __complete {kind} 2>/dev/null)'"
                for option, kind in _AFTER.items()
            ),
        }
    text = _BASH % {
        "steps": "\n".join(f'      "{p}") path="{p}" ;;' for p in offered if p),
        "offers": "\n".join(f'    "{p}") words="{" ".join(w)}" ;;' for p, w in offered.items()),
        "names": "\n".join(f'      "{p}") kind={kind} ;;' for p, kind in _NAMES.items()),
        "after": "\n".join(f'    {option}) words="" kind={kind} ;;' for option, kind in _AFTER.items()),
    }
    return text if shell == "bash" else _ZSH + text
