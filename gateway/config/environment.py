"""Where values outside config.yaml come from: the process's environment, `.env`, files, systemd credentials.

`NAME` is looked for as the variable NAME, the file that NAME_FILE names (Docker secrets), the file NAME in
`$CREDENTIALS_DIRECTORY` (systemd.exec(5), LoadCredential=), then in `.env`. An empty value counts as absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path as FilePath

from gateway.config.problems import Problem, Problems
from hermes.home import Home

__all__ = ["Environment", "parse_env"]

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_REFERENCE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_ESCAPES = {"n": "\n", "t": "\t"}
_MAX_SECRET = 64 * 1024


def parse_env(text: str, name: str = ".env") -> dict[str, str]:
    """The variables of a `.env` file: NAME=value, `export`, quotes, # comments.

    Raises `Problems`, which hold no values.
    """
    found: dict[str, str] = {}
    problems: list[Problem] = []
    for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        value = None if match is None else _unquoted(match[2])
        if match is None or value is None:
            problems.append(Problem((), "is no NAME=value line with closed quotes", number))
        else:
            found[match[1]] = value
    if problems:
        raise Problems(name, problems)
    return found


def _unquoted(text: str) -> str | None:
    if text[:1] not in {'"', "'"}:
        return re.split(r"(?<!\s)\s+#", text, maxsplit=1)[0].strip()
    match = re.match(r"'([^']*)'\s*(?:#.*)?$" if text[0] == "'" else r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$', text)
    if match is None:
        return None
    if text[0] == "'":
        return match[1]
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), match[1])


class Environment:
    """One reading of everything outside config.yaml."""

    def __init__(self, environ: Mapping[str, str], dotenv: Mapping[str, str], home: Home) -> None:
        self._environ = environ
        self._dotenv = dotenv
        self._home = home
        self.seen: set[str] = set()
        """Values that were handed out; they may be secret."""

    @classmethod
    def read(cls, home: Home, environ: Mapping[str, str]) -> Environment:
        """With the home's `.env`, where there is one. Raises `Problems`."""
        try:
            data = home.env.read_bytes()
        except FileNotFoundError:
            return cls(environ, {}, home)
        except OSError as error:
            raise Problems(".env", [Problem((), f"cannot be read: {error.strerror}")]) from None
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise Problems(".env", [Problem((), "is not UTF-8 text; save it as UTF-8")]) from None
        return cls(environ, parse_env(text), home)

    def lookup(self, name: str) -> str | None:
        """The value of `name`, `None` when it is nowhere. Raises `Problems` when a file cannot be read."""
        value = (
            self._environ.get(name)
            or self._from_file(self._environ.get(f"{name}_FILE"), f"environment variable {name}_FILE")
            or self._credential(name)
            or self._dotenv.get(name)
            or self._from_file(self._dotenv.get(f"{name}_FILE"), f".env, {name}_FILE")
        )
        if value:
            self.seen.add(value)
        return value or None

    def read_secret(self, path: str, source: str) -> str:
        """The text of a file that holds one secret, without the line's end. Raises `Problems`."""
        file = self._home.resolve(path)
        try:
            with file.open("rb") as stream:
                text = stream.read(_MAX_SECRET).decode().strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise Problems(
                "config.yaml", [Problem((), f"{file} cannot be read: {why}", source=source)]
            ) from None
        self.seen.add(text)
        return text

    def overrides(self) -> dict[str, str]:
        """The variables HERMES_<SECTION>[__<KEY>...] that are not empty; the process goes before `.env`."""
        both = {**self._dotenv, **self._environ}
        return {k: v for k, v in sorted(both.items()) if k.startswith("HERMES_") and v}

    def interpolate(self, text: str) -> tuple[str, list[str]]:
        """`text` with `${NAME}` and `${NAME:-default}` filled in, and the names that are nowhere.

        `$${` is a plain `${`.
        """
        missing: list[str] = []

        def fill(match: re.Match[str]) -> str:
            name, default = match[1], match[2]
            if name is None:
                return "${"
            value = self.lookup(name)
            if value is None and default is None:
                missing.append(name)
            return value if value is not None else default or ""

        return _REFERENCE.sub(fill, text), missing

    def _from_file(self, path: str | None, source: str) -> str | None:
        return self.read_secret(path, source) if path else None

    def _credential(self, name: str) -> str | None:
        directory = self._environ.get("CREDENTIALS_DIRECTORY")
        if not directory:
            return None
        file = FilePath(directory) / name
        return self.read_secret(str(file), f"credential {name}") if file.is_file() else None
