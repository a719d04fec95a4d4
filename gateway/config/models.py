"""Looking into section models: which class stands at a path, and which fields are secret."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from gateway.config.problems import Path, Problem, Problems, unknown
from hermes.config import PlatformSettings, Schema, Section

__all__ = ["Annotation", "Place", "find", "is_secret", "load_class", "placed", "section_class", "shape"]

Annotation: TypeAlias = Any
"""A type as it is written beside a field; Python has no type for those."""

Kind = Literal["secret", "model", "map", "list", "plain"]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a field takes: `inner` is the model of a "model", the value type of a "map" or "list"."""

    kind: Kind
    inner: Any = None


def load_class(spec: str) -> Annotation:
    """The class that "module:Class" names."""
    module, _, name = spec.partition(":")
    return getattr(import_module(module), name)


def section_class(schema: Schema, name: str) -> type[Section]:
    """The model of the section `name`. Raises `KeyError` for an unknown one."""
    found: type[Section] = load_class(schema.sections[name])
    return found


def shape(annotation: Annotation) -> Shape:
    """The shape behind `Annotated`, `Optional` and containers."""
    origin: Annotation = get_origin(annotation)
    arguments = get_args(annotation)
    if origin is Annotated:
        return shape(arguments[0])
    if origin in {Union, types.UnionType}:
        shapes = [shape(a) for a in arguments if a is not type(None)]
        return next((s for s in shapes if s.kind != "plain"), Shape("plain"))
    if annotation is SecretStr:
        return Shape("secret")
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Shape("model", annotation)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Shape("map", arguments[1])
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return Shape("list", arguments[0])
    return Shape("plain")


def is_secret(field: FieldInfo) -> bool:
    """Whether the field holds one secret."""
    return shape(field.annotation).kind == "secret"


@dataclass(frozen=True, slots=True)
class Place:
    """What stands at a path: the field (`None` inside of maps and lists), its type, the model around it."""

    path: Path
    annotation: Annotation
    field: FieldInfo | None
    around: type[BaseModel] | None

    @property
    def secret(self) -> bool:
        return shape(self.annotation).kind == "secret"


def placed(model: type[BaseModel], location: Path) -> Place:
    """Where a pydantic error location points; marks that pydantic puts between real keys are left out."""
    annotation: Annotation = model
    path: Path = ()
    field: FieldInfo | None = None
    around: type[BaseModel] | None = None
    for part in location:
        here = shape(annotation)
        if here.kind == "model":
            around, field = here.inner, here.inner.model_fields.get(part)
            path = (*path, part)
            if field is None:
                return Place(path, None, None, around)
            annotation = field.annotation
        elif (here.kind == "map" and isinstance(part, str)) or (
            here.kind == "list" and isinstance(part, int)
        ):
            path, annotation, field = (*path, part), here.inner, None
    return Place(path, annotation, field, around)


def find(schema: Schema, path: Path, types_of: Mapping[str, str]) -> Place:
    """The place of a key that a person named.

    `types_of`: instance -> platform type, where it is not the name.

    Raises `Problems` with the nearest known key.
    """
    annotation, around, field = _root(schema, path, types_of), None, None
    for depth in range(2 if path[0] == "platforms" else 1, len(path)):
        part, here = path[depth], shape(annotation)
        if here.kind == "model":
            around = here.inner
            field = around.model_fields.get(str(part))
            if field is None:
                raise _wrong(path[: depth + 1], unknown(str(part), list(around.model_fields)))
            annotation = field.annotation
        elif here.kind in {"map", "list"}:
            annotation, field = here.inner, None
        else:
            raise _wrong(path[:depth], "has no keys of its own")
    return Place(path, annotation, field, around)


def _root(schema: Schema, path: Path, types_of: Mapping[str, str]) -> Annotation:
    if not path:
        raise _wrong((), "a key is needed, for example llm.model")
    top = str(path[0])
    if top == "platforms":
        if len(path) == 1:
            return dict[str, PlatformSettings]
        kind = types_of.get(str(path[1]), str(path[1]))
        if kind not in schema.platforms:
            raise _wrong(path[:2], unknown(kind, schema.platforms, "platform type"))
        return load_class(schema.platforms[kind])
    if top not in schema.sections:
        raise _wrong((top,), unknown(top, [*schema.sections, "platforms"], "section"))
    model = section_class(schema, top)
    return model if model.whole is None else model.model_fields[model.whole].annotation


def _wrong(path: Path, text: str) -> Problems:
    return Problems("config.yaml", [Problem(path, text)])
