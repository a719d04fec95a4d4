"""The reference of all keys, from the models themselves: docs/configuration.md is this text."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gateway.config.bounds import bounds, measure_of, measured
from gateway.config.models import Annotation, load_class, section_class, shape
from gateway.config.plain import plain
from hermes.config import Schema

__all__ = ["render"]

_HEAD = """# Configuration

<!-- Made by `hermes config reference`; change the models, not this file. -->

Everything stands in `config.yaml` in the home (`~/.hermes`, or `HERMES_HOME`); `hermes config path` says
where. The file is YAML 1.2. An unknown key is an error, so a typo never goes unseen: `hermes config check`
names the line. A running daemon takes a changed file over by itself; one that is wrong leaves the old
settings in use and is reported. Relative paths start at the home. Durations: `30s`, `5m`, `1h30m`, `7d` or
seconds. Sizes: `1MiB`, `10MB` or bytes. Rates: `30/min`, `1/s` or `off`.

**Secrets** stay out of the file. `hermes config set llm.openai.api_key` asks for the key and puts it into
`.env` beside the file. Each secret has a variable: `llm.<provider>.api_key` is `<PROVIDER>_API_KEY`,
`platforms.<instance>.<key>` is `<INSTANCE>_<KEY>` (such as `TELEGRAM_TOKEN`), any other is its whole key
(`NETWORK_PROXY`). It is looked for in the environment, in the file that `<VARIABLE>_FILE` names, in
`$CREDENTIALS_DIRECTORY` (systemd), and in `.env`; what the configuration file itself says goes before.
`<key>_file: PATH` reads one secret from a file.

**Environment.** `HERMES_<SECTION>__<KEY>` overrides a key (`HERMES_GATEWAY__HTTP__PORT=9000`); lists and
maps are written as YAML (`["*"]`). Inside any text `${NAME}` and `${NAME:-default}` are filled in; `$${` is
a plain `${`.

**Platforms** stand under `platforms` by a name of your own; `type` defaults to that name, so two bots of
one platform are two names with one `type`. `enabled: false` switches one off; then the rest of it is not
looked at.
"""


def render(schema: Schema) -> str:
    """The whole page, Markdown. Imports every settings model."""
    parts = [_HEAD]
    for name in schema.sections:
        model = section_class(schema, name)
        parts.append(_chapter(f"`{name}`", model, _rows(model, name, model.whole)))
    for name in schema.platforms:
        model = load_class(schema.platforms[name])
        parts.append(_chapter(f"Platform `{name}`", model, _rows(model, "platforms.<instance>", None)))
    return "\n".join(parts)


def _chapter(title: str, model: type[BaseModel], rows: Iterator[str]) -> str:
    about = (model.__doc__ or "").strip().splitlines()[0]
    return (
        f"## {title}\n\n{about}\n\n| key | value | default | |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _rows(model: type[BaseModel], prefix: str, whole: str | None) -> Iterator[str]:
    for name, field in model.model_fields.items():
        key = prefix if name == whole else f"{prefix}.{name}"
        here = shape(field.annotation)
        if here.kind == "model":
            yield from _rows(here.inner, key, None)
            continue
        yield _row(key, field)
        inner = shape(here.inner) if here.kind in {"map", "list"} else None
        if inner is not None and inner.kind == "model":
            yield from _rows(inner.inner, f"{key}.<name>" if here.kind == "map" else f"{key}[]", None)


def _row(key: str, field: FieldInfo) -> str:
    about = field.description or ""
    if field.examples:
        about = f"{about} For example `{field.examples[0]}`.".strip()
    kind = ", ".join(filter(None, [_kind(field), bounds(field)]))
    cells = (f"`{key}`", kind, _default(field), about)
    return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = plain(field.get_default(call_default_factory=True))
    if value is None or value in ("", [], {}):
        return ""
    if (measure := measure_of(field)) in {"duration", "size"}:
        return f"`{measured(value, measure)}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _kind(field: FieldInfo) -> str:
    return measure_of(field) or _word(field.annotation)


_WORDS = {"bool": "true or false", "int": "number", "float": "number", "str": "text", "Path": "path"}


def _word(annotation: Annotation) -> str:
    here, arguments = shape(annotation), get_args(annotation)
    origin: Annotation = get_origin(annotation)
    if here.kind == "secret":
        return "secret"
    if origin is Literal:
        return ", ".join(f"`{a}`" for a in arguments if a != "")
    if origin in {Union, types.UnionType}:
        return " or ".join(dict.fromkeys(_word(a) for a in arguments if a is not type(None)))
    if here.kind == "map":
        return "keys"
    if here.kind == "list":
        return "list"
    if arguments:
        return _word(arguments[0])
    return _WORDS.get(getattr(annotation, "__name__", ""), "text")
