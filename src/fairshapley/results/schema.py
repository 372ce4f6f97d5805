"""The JSON schema of a result, from the annotations of its fields."""

from __future__ import annotations

from typing import Any

from fairshapley.results.result import Result
from fairshapley.results.serialising import (
    FORMAT,
    FORMAT_VERSION,
    RECORDS,
    is_required,
    stored_fields,
)

NUMBER = {"$ref": "#/$defs/number"}
SIMPLE: dict[str, dict[str, Any]] = {
    "FloatArray": {"type": "array", "items": NUMBER},
    "FloatMatrix": {"type": "array", "items": {"type": "array", "items": NUMBER}},
    "IntArray": {"type": "array", "items": {"type": "integer"}},
    "float": NUMBER,
    "Real": NUMBER,
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "str": {"type": "string"},
    "dict[str, Any]": {"type": "object"},
    "dict[str, str]": {"type": "object", "additionalProperties": {"type": "string"}},
}


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of `Result.to_dict` and of saved results.

    Examples
    --------
    >>> json_schema()["properties"]["evaluations"]
    {'type': 'integer'}
    """
    fields = {name: item for name, (_, item) in stored_fields(Result).items()}
    known = {"format": {"const": FORMAT}, "version": {"const": FORMAT_VERSION}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A result of fairshapley",
        "type": "object",
        "$defs": {"number": {"anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}]}},
        "properties": known
        | {"digest": SIMPLE["str"]}
        | {name: _schema(str(item.type)) for name, item in fields.items()},
        "required": [*known, *(name for name, item in fields.items() if is_required(item))],
        "additionalProperties": False,
    }


def _schema(kind: str) -> dict[str, Any]:
    """Return the schema of an annotation.

    Examples
    --------
    >>> _schema("int | None")
    {'anyOf': [{'type': 'integer'}, {'type': 'null'}]}
    """
    if kind in SIMPLE:
        return SIMPLE[kind]
    if kind.endswith(" | None"):
        return {"anyOf": [_schema(kind.removesuffix(" | None")), {"type": "null"}]}
    if kind in RECORDS:
        entries = RECORDS[kind].__annotations__.items()
        kinds = [(name, str(getattr(part, "__forward_arg__", part))) for name, part in entries]
        parts = [{**_schema(part), "title": name} for name, part in kinds]
        return _tuple(parts, len(parts) - len(RECORDS[kind]._field_defaults))
    inner = kind.removeprefix("tuple[").removesuffix("]")
    if inner.endswith(", ..."):
        return {"type": "array", "items": _schema(inner.removesuffix(", ..."))}
    parts = [_schema(part) for part in inner.split(", ")]
    return _tuple(parts, len(parts))


def _tuple(parts: list[dict[str, Any]], least: int) -> dict[str, Any]:
    return {"type": "array", "prefixItems": parts, "items": False, "minItems": least}
