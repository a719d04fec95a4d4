"""The command `hermes`.

A command's module is imported when it is chosen, so that `hermes status` costs next to nothing. Errors are
sentences on stderr; exit codes are those of `hermes.errors`, and 2 for a command that is written wrongly. A reader of
the output that has seen enough (`| head -1`) is no error.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gateway.cli.streams import make_ready

__all__ = ["COMMANDS", "main"]

COMMANDS: dict[str, tuple[str, str]] = {
    "chat": ("gateway.cli.chat.command:app", "Talk to the agent in this terminal."),
    "model": ("gateway.cli.model:app", "Choose the model, or list what there is."),
    "run": ("gateway.cli.daemon:run_app", "Run the daemon here (short for: gateway run)."),
    "gateway": ("gateway.cli.daemon:app", "Run, stop, restart and install the daemon."),
    "send": ("gateway.cli.send:app", "Send a message to a chat."),
    "status": ("gateway.cli.status_command:app", "Say how the daemon is."),
    "config": ("gateway.cli.config:app", "Look at the configuration and change it."),
    "pairing": ("gateway.cli.pairing:app", "Admit people who wrote for the first time."),
    "slack": ("gateway.cli.slack:app", "Prepare the Slack app."),
    "people": ("gateway.cli.people:app", "Say who is who, and what each may do."),
    "sessions": ("gateway.cli.sessions:app", "Look at conversations."),
    "deadletters": ("gateway.cli.deadletters:app", "Look at what was given up, and try it again."),
    "logs": ("gateway.cli.logs:app", "Show the daemon's log."),
    "backup": ("gateway.cli.backup:app", "Put everything that is needed to go on into one file."),
    "restore": ("gateway.cli.restore:app", "Go on from a backup."),
    "metrics": ("gateway.cli.metrics:app", "Say what the models have used and cost."),
    "doctor": ("gateway.cli.doctor:app", "Find what is damaged, and mend it."),
    "completion": ("gateway.cli.completion:app", "Print a completion script for a shell."),
}
USAGE = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = words[:1] == ["--debug"]
    words = words[debug:]
    make_ready()
    try:
        code = _dispatch(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has seen enough
        _forget_stdout()
        return 0
    except Exception as error:
        if debug:
            raise
        return _failed(error)
    return code


def _dispatch(words: list[str]) -> int:
    match words:
        case ["status", *rest] if set(rest) <= {"--json"}:
            from gateway.cli.status import show

            return show(as_json="--json" in rest)
        case ["run"] | ["gateway", "run"]:
            from gateway.cli.serving import serve_here

            return serve_here()
        case ["__complete", kind]:  # asked by the shell when Tab is pressed
            from gateway.cli.offers import offer

            return offer(kind)
        case [] | ["--help" | "-h" | "help"]:
            print(_help())
            return 0
        case ["--version" | "-V"]:
            from importlib.metadata import version

            print(f"hermes {version('hermes-gateway')}")
            return 0
        case _ if not all(map(_is_text, words)):
            print("hermes: an argument is no text in this locale's encoding.", file=sys.stderr)
            return USAGE
        case [name, *rest] if name in COMMANDS:
            return _run(name, rest)
        case _:
            print(f"hermes: {_unknown(words[0])}", file=sys.stderr)
            return USAGE


def _run(name: str, words: list[str]) -> int:
    from importlib import import_module

    _import_structlog_alone()
    module, _, attribute = COMMANDS[name][0].partition(":")
    app = getattr(import_module(module), attribute)
    try:
        app(args=words, prog_name=f"hermes {name}")
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # which the library makes exit code 1
            raise BrokenPipeError from ended
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _import_structlog_alone() -> None:
    """It would import rich, for a look that nothing of ours has: a tenth of a command's start."""
    painter = sys.modules.get("rich")
    sys.modules["rich"] = None  # type: ignore[assignment]  # None: as if it were not installed
    try:
        import structlog  # noqa: F401
    finally:
        del sys.modules["rich"]
        if painter is not None:
            sys.modules["rich"] = painter


def _is_text(word: str) -> bool:
    """Whether it can be stored; bytes that are none come as surrogates (PEP 383)."""
    return not any("\ud800" <= letter <= "\udfff" for letter in word)


def _help() -> str:
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items())
    return (
        "Usage: hermes [--debug] COMMAND [ARGUMENTS]\n\n"
        f"{listed}\n\n"
        "`hermes COMMAND --help` says more; --debug shows where an unexpected error came from.\n"
        "The home is HERMES_HOME, else ~/.hermes."
    )


def _unknown(word: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, COMMANDS, n=1)
    hint = f'did you mean "{near[0]}"?' if near else "`hermes --help` lists the commands."
    return f"there is no command {word!r}; {hint}"


def _failed(error: Exception) -> int:
    from hermes.errors import EXIT_UNEXPECTED, HermesError

    if isinstance(error, HermesError):
        print(f"hermes: {error}", file=sys.stderr)
        return error.exit_code
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        print(f"hermes: {place}{error.strerror}. `hermes --debug ...` shows where.", file=sys.stderr)
        return EXIT_UNEXPECTED
    from hermes.home import Home, default_home

    print(
        f"hermes: something unexpected went wrong ({type(error).__name__}). "
        f"`hermes --debug ...` shows where; the log is in {Home(default_home()).logs}.",
        file=sys.stderr,
    )
    return EXIT_UNEXPECTED


def _forget_stdout() -> None:
    """Keep the interpreter from failing once more when it flushes at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
