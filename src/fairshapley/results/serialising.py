"""A result as a JSON file, and back; damage is told from age.

Every value is checked by the annotation of its field.
"""

from __future__ import annotations

import copy
import json
import math
import operator
import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.files import as_path, content_digest, write_whole
from fairshapley.errors import InputError
from fairshapley.fairness.evidence import Evidence
from fairshapley.results.loading_checks import contradictions
from fairshapley.results.origin import InputFile
from fairshapley.results.records import (
    Checkpoint,
    Copies,
    GameFacts,
    PartValues,
    Remark,
    RunFacts,
    SizeBin,
    Split,
)

if TYPE_CHECKING:
    from fairshapley.results.result import Result

FORMAT = "fairshapley result"
FORMAT_VERSION = 1
# Beside the fields: what kind of file it is, and what tells that it was changed.
SAVED = "give a file that a result was saved to"
ABOUT = {"format", "version", "digest"}
# What a result consists of; in a file the fields of all parts stand side by side.
PARTS: dict[str, type[Any]] = {"evidence": Evidence, "game": GameFacts, "run": RunFacts}


Kind = TypeVar("Kind", bound="Stored")
Schema: TypeAlias = dict[str, Any]


class Stored:
    """What `Result` has for files."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON; numbers that are not finite are strings."""
        values = {name: plain(value) for name, value in stored_values(self).items()}
        return {"format": FORMAT, "version": FORMAT_VERSION, **values}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the result that `to_dict` described."""
        return from_plain(cls, data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON; `load` gives it back bit for bit.

        Parameters
        ----------
        path
            The file, which appears whole or not at all.
        """
        try:
            content = as_bytes(sealed(self))
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"cannot write {path}, the result is not plain: {error}") from error
        write_whole(as_path(path), content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a result written by `save`; an InputError when it was changed since.

        Parameters
        ----------
        path
            The file.
        """
        return from_plain(cls, read_plain(as_path(path)))


def sealed(result: Stored) -> dict[str, Any]:
    """Return the plain data of a result with its digest."""
    data = result.to_dict()
    data["digest"] = digest_of(type(result), data)
    return data


def result_digest(result: Stored) -> str:
    """Return what identifies a result: the SHA-256 of all its fields, to the last bit.

    Saved files and report pages carry it. It finds accidents, not forgeries: whoever changes a file
    on purpose can compute it anew.

    Examples
    --------
    >>> import fairshapley as fs
    >>> result = fs.exact(fs.games.TableGame([0, 1, 2, 5]))
    >>> result_digest(result) == result_digest(fs.Result.from_dict(result.to_dict()))
    True
    """
    return digest_of(type(result), result.to_dict())


def digest_of(kind: type[Any], data: Mapping[str, Any]) -> str:
    """Return the digest of a result as plain data.

    A field that has its default counts as one that is missing, so that a file keeps its digest when
    a later version adds fields.
    """
    given = {}
    for name, (_, item) in stored_fields(kind).items():
        default = item.default if item.default_factory is MISSING else item.default_factory()
        if name in data and (default is MISSING or data[name] != plain(default)):
            given[name] = data[name]
    return content_digest(given)


def from_plain(kind: type[Kind], data: Mapping[str, Any]) -> Kind:
    """Return the result of a kind that `to_dict` described."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise InputError(
            "this is not a saved fairshapley result",
            remedy="give a file written by Result.save, or by value --out values.json",
        )
    version = data.get("version")
    if type(version) is not int or version < 1:
        raise _damaged(", see version")
    if version > FORMAT_VERSION:
        raise InputError(
            f"the result was saved by a newer fairshapley (format {version}, this one "
            f"reads up to {FORMAT_VERSION}): upgrade fairshapley"
        )
    given = data.keys() - ABOUT
    known = stored_fields(kind)
    # A field with a default may be missing: it is newer than the file.
    needed = {name for name, (_, item) in known.items() if is_required(item)}
    wrong = (needed - given) | (given - known.keys())
    if wrong:
        raise _damaged(f", see {', '.join(sorted(map(str, wrong)))}")
    try:
        result = assembled(kind, **{name: _read(known[name][1], data[name]) for name in given})
        if "digest" in data and data["digest"] != digest_of(kind, data):  # `to_dict` writes none
            raise InputError("its digest does not fit: it was changed after it was written")
        for contradiction in contradictions(cast("Result", result)):
            raise InputError(contradiction)
    except (InputError, RecursionError, TypeError, ValueError) as error:
        raise _damaged(f" ({error})") from None
    return result


def as_bytes(data: Mapping[str, Any]) -> bytes:
    """Return the content of a file, from plain data."""
    text = json.dumps(data, allow_nan=False, indent=1, ensure_ascii=False)
    # A lone surrogate, which UTF-8 cannot hold, is escaped as in JSON.
    return text.encode("utf-8", "backslashreplace")


def read_plain(path: Path) -> dict[str, Any]:
    """Return the plain data in a file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a saved result ({error}): {SAVED}") from None
    if not isinstance(data, dict):
        raise InputError(f"{path} is not a saved result, as it holds no JSON object: {SAVED}")
    return data


def stored_fields(kind: type[Any]) -> dict[str, tuple[str, Field[Any]]]:
    """Return the fields that a file holds, by name, each with the part of the result it is in."""
    found: dict[str, tuple[str, Field[Any]]] = {}
    for item in fields(kind):
        if item.name in PARTS:
            found |= {inner.name: (item.name, inner) for inner in fields(PARTS[item.name])}
        else:
            found[item.name] = ("", item)
    del found["n_nulls"]  # the configuration says it
    return found


def stored_values(result: Stored) -> dict[str, Any]:
    """Return the values of the stored fields of a result, by name."""
    return {
        name: getattr(getattr(result, part) if part else result, name)
        for name, (part, _) in stored_fields(type(result)).items()
    }


def assembled(kind: type[Kind], **given: Any) -> Kind:
    """Return the result with these stored fields, each in its part of the result.

    Examples
    --------
    >>> import fairshapley as fs
    >>> import numpy as np
    >>> about = {"method": {"name": "mine"}, "semivalue": "shapley", "xi": 0.1}
    >>> result = assembled(
    ...     fs.Result, values=np.ones(2), standard_errors=np.zeros(2), counts=np.ones(2),
    ...     evaluations=4, marginals=None, stopped="done", seed=0, xi=0.1, configuration=about,
    ... )
    >>> result.method, result.evidence.n_players
    ('mine', 2)
    """
    known = stored_fields(kind)
    parts: dict[str, dict[str, Any]] = {"": {}, **{name: {} for name in PARTS}}
    for name, value in given.items():
        parts[known[name][0]][name] = value
    nulls = parts["run"].get("configuration", {}).get("null_players", 0)
    parts["evidence"]["n_nulls"] = nulls if isinstance(nulls, int) else 0
    made = {name: part(**parts[name]) for name, part in PARTS.items()}
    return kind(**parts[""], **made)


def with_fields(result: Kind, **changed: Any) -> Kind:
    """Return the result with some stored fields changed, whichever part they are in.

    Examples
    --------
    >>> import fairshapley as fs
    >>> with_fields(fs.exact(fs.games.TableGame([0, 1, 2, 5])), seconds=1.5).run.seconds
    1.5
    """
    return assembled(type(result), **stored_values(result) | changed)


def _read(item: Field[Any], value: Any) -> Any:
    """Return the value of a field from plain data."""
    try:
        return kind_of_field(str(item.type))[0](value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{item.name} cannot be {value!r:.40}: {error}") from None


def is_required(item: Field[Any]) -> bool:
    """Return whether a field has no default."""
    return item.default is MISSING and item.default_factory is MISSING


def _damaged(finding: str) -> InputError:
    return InputError(
        f"the saved result is damaged{finding}: use the original file, or save it again"
    )


def plain(value: Any) -> Any:
    """Return arrays as lists, non-finite floats as strings: strict JSON, exact both ways."""
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def kind_of_field(annotation: str) -> tuple[Callable[[Any], Any], Schema]:
    """Return what copies plain data of an annotation, or raises an error, and its JSON schema.

    Examples
    --------
    >>> read, schema = kind_of_field("int | None")
    >>> read(3), read(None), schema
    (3, None, {'anyOf': [{'type': 'integer'}, {'type': 'null'}]})
    """
    plain_kind, _, optional = annotation.partition(" | ")
    if optional:
        read, schema = kind_of_field(plain_kind)
        either = {"anyOf": [schema, {"type": "null"}]}
        return lambda value: None if value is None else read(value), either
    if annotation in KINDS:
        return KINDS[annotation]
    inner = annotation.removeprefix("tuple[").removesuffix("]")
    if inner.endswith(", ..."):
        read, schema = kind_of_field(inner.removesuffix(", ..."))
        repeated = {"type": "array", "items": schema}
        return lambda value: tuple(map(read, _items(value))), repeated
    record = RECORDS.get(annotation)
    kinds = inner.split(", ") if record is None else record.__annotations__.values()
    readers, schemas = zip(
        *(kind_of_field(getattr(part, "__forward_arg__", part)) for part in kinds), strict=True
    )
    least = len(readers)
    if record is not None:  # entries with a default may be missing: they are newer than the file
        least -= len(record._field_defaults)
        names = record._fields
        schemas = [part | {"title": name} for part, name in zip(schemas, names, strict=True)]

    def read_parts(value: Any) -> Any:
        items = _items(value)
        if not least <= len(items) <= len(readers):
            raise ValueError(f"give lists of {len(readers)} entries")
        parts = [read(item) for read, item in zip(readers, items, strict=False)]
        return tuple(parts) if record is None else record(*parts)

    rows = {"type": "array", "prefixItems": list(schemas), "items": False, "minItems": least}
    return read_parts, rows


def _items(value: Any) -> list[Any]:
    given = _of_type(list | tuple | np.ndarray, "a list", value)
    return list(given.tolist() if isinstance(given, np.ndarray) else given)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _number(value: Any) -> float:
    """Return a number, or one of the strings that stand for those JSON has not."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number and value not in ("nan", "inf", "-inf"):
        raise TypeError("give a number")
    return float(value)


def _at_least_0(value: Any, number: Any, kind: str) -> Any:
    if isinstance(value, bool) or not number >= 0:
        raise ValueError(f"give {kind} of at least 0")
    return number


def _of_type(kinds: Any, wanted: str, value: Any) -> Any:
    if not isinstance(value, kinds):
        raise TypeError(f"give {wanted}")
    return value


def _matrix(value: Any) -> NDArray[np.float64]:
    rows = [list(map(_number, _items(row))) for row in _items(value)]
    if not rows or len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        raise ValueError("give rows of equal length, of at least two numbers")
    return np.array(rows, dtype=float)


def _mapping(value: Any) -> dict[str, Any]:
    given = _of_type(dict, "a dictionary", value)
    return copy.deepcopy({_text(name): item for name, item in given.items()})


_text = partial(_of_type, str, "a string")


def _count(value: Any) -> int:
    number: int = _at_least_0(value, operator.index(value), "a whole number")
    return number


NUMBER = {"$ref": "#/$defs/number"}
INTEGER = {"type": "integer"}
KINDS: dict[str, tuple[Callable[[Any], Any], Schema]] = {
    "FloatArray": (
        lambda value: _frozen(np.array(list(map(_number, _items(value))), dtype=float)),
        {"type": "array", "items": NUMBER},
    ),
    "FloatMatrix": (
        lambda value: _frozen(_matrix(value)),
        {"type": "array", "items": {"type": "array", "items": NUMBER}},
    ),
    "IntArray": (
        lambda value: _frozen(np.array(list(map(_count, _items(value))), dtype=np.int64)),
        {"type": "array", "items": INTEGER},
    ),
    "float": (lambda value: _at_least_0(value, _number(value), "a number"), NUMBER),
    "Real": (_number, NUMBER),
    "int": (_count, INTEGER),
    "bool": (
        lambda value: bool(_of_type(bool | np.bool_, "True or False", value)),
        {"type": "boolean"},
    ),
    "str": (_text, {"type": "string"}),
    "dict[str, Any]": (_mapping, {"type": "object"}),
    "dict[str, str]": (
        lambda value: {name: _text(item) for name, item in _mapping(value).items()},
        {"type": "object", "additionalProperties": {"type": "string"}},
    ),
}
_KINDS = (Checkpoint, SizeBin, PartValues, Copies, Remark, Split, InputFile)
RECORDS: dict[str, Any] = {kind.__name__: kind for kind in _KINDS}
