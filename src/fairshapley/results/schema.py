"""The JSON schema of a result, from the annotations of its fields."""

from __future__ import annotations

from fairshapley.results.result import Result
from fairshapley.results.serialising import (
    FORMAT,
    FORMAT_VERSION,
    Schema,
    is_required,
    kind_of_field,
    stored_fields,
)


def json_schema() -> Schema:
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
        | {"digest": kind_of_field("str")[1]}
        | {name: kind_of_field(str(item.type))[1] for name, item in fields.items()},
        "required": [*known, *(name for name, item in fields.items() if is_required(item))],
        "additionalProperties": False,
    }
