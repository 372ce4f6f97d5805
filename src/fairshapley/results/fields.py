"""The fields of a result as plain data, and back: every value is checked by its annotation."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley.results.origin import InputFile
from fairshapley.results.records import Checkpoint, Copies, PartValues, SizeBin


def plain(value: Any) -> Any:
    """Arrays as lists, non-finite floats as strings: strict JSON, exact both ways."""
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


def checked(kind: str, value: Any) -> Any:
    """Return a copy of the value of a field; raise an error when it is not of the kind."""
    kind, _, optional = kind.partition(" | ")
    if optional and value is None:
        return None
    return _reader(kind)(value)


def _reader(kind: str) -> Callable[[Any], Any]:
    """Return what reads plain data as a kind: a simple kind, a record, or a tuple of kinds."""
    if kind in KINDS:
        return KINDS[kind]
    if kind in RECORDS:
        return partial(_record, RECORDS[kind])
    inner = kind.removeprefix("tuple[").removesuffix("]")
    if inner.endswith(", ..."):
        part = _reader(inner.removesuffix(", ..."))
        return lambda value: tuple(map(part, _items(value)))
    parts = [_reader(part) for part in inner.split(", ")]
    return lambda value: tuple(part(item) for part, item in zip(parts, _items(value), strict=True))


def _record(kind: Any, value: Any) -> Any:
    """Return a record from the list of its entries."""
    kinds = [getattr(part, "__forward_arg__", part) for part in kind.__annotations__.values()]
    readers, items = list(map(_reader, kinds)), _items(value)
    # Entries with a default may be missing: they are newer than the file.
    if not len(readers) - len(kind._field_defaults) <= len(items) <= len(readers):
        raise ValueError(f"give lists of {len(readers)} entries")
    return kind(*(part(item) for part, item in zip(readers, items, strict=False)))


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple | np.ndarray):
        raise TypeError("give a list")
    return list(value.tolist() if isinstance(value, np.ndarray) else value)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _number(value: Any) -> float:
    """A number, or one of the strings that stand for those JSON has not."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number and value not in ("nan", "inf", "-inf"):
        raise TypeError("give a number")
    return float(value)


def _amount(value: Any) -> float:
    if not (number := _number(value)) >= 0:
        raise ValueError("give a number of at least 0")
    return number


def _count(value: Any) -> int:
    if isinstance(value, bool) or (number := operator.index(value)) < 0:
        raise ValueError("give a whole number of at least 0")
    return number


def _flag(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise TypeError("give True or False")
    return bool(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("give a string")
    return value


def _matrix(value: Any) -> NDArray[np.float64]:
    rows = [list(map(_number, _items(row))) for row in _items(value)]
    if not rows or len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        raise ValueError("give rows of equal length, of at least two numbers")
    return np.array(rows, dtype=float)


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("give a dictionary")
    return copy.deepcopy({_text(name): item for name, item in value.items()})


KINDS: dict[str, Callable[[Any], Any]] = {
    "FloatArray": lambda value: _frozen(np.array(list(map(_number, _items(value))), dtype=float)),
    "FloatMatrix": lambda value: _frozen(_matrix(value)),
    "IntArray": lambda value: _frozen(np.array(list(map(_count, _items(value))), dtype=np.int64)),
    "float": _amount,
    "Real": _number,
    "int": _count,
    "bool": _flag,
    "str": _text,
    "dict[str, Any]": _mapping,
    "dict[str, str]": lambda value: {name: _text(item) for name, item in _mapping(value).items()},
}
RECORDS = {kind.__name__: kind for kind in (Checkpoint, SizeBin, PartValues, Copies, InputFile)}
