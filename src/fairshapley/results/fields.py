"""The fields of a result as plain data, and back: every value is checked by its annotation."""

from __future__ import annotations

import copy
import math
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley.results.copies import Copies
from fairshapley.results.origin import InputFile
from fairshapley.results.records import Checkpoint, PartValues, SizeBin


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
    """A copy of the value of a field, or an error when it is not of the kind."""
    kind, _, optional = kind.partition(" | ")
    if optional and value is None:
        return None
    return KINDS.get(kind, copy.deepcopy)(value)


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


def _sha256(value: Any) -> str:
    if not re.fullmatch("[0-9a-f]{64}", _text(value)):
        raise ValueError("give a SHA-256 of 64 hexadecimal digits")
    return str(value)


def _all(part: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    """A reader of tuples of one kind."""
    return lambda value: tuple(map(part, _items(value)))


def _pairs(value: Any) -> tuple[tuple[int, int], ...]:
    pairs = _all(_all(_count))(value)
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("give pairs of players")
    return pairs


def _two(value: Any) -> tuple[float, float]:
    first, second = map(_number, _items(value))
    return (first, second)


def _records(kind: Callable[..., Any], *parts: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A reader of tuples of one kind, each a list of parts."""
    needed = len(parts) - len(getattr(kind, "_field_defaults", ()))

    def read(value: Any) -> tuple[Any, ...]:
        rows = [_items(row) for row in _items(value)]
        # Entries with a default may be missing: they are newer than the file.
        if any(not needed <= len(row) <= len(parts) for row in rows):
            raise ValueError(f"give lists of {len(parts)} entries")
        pairs = [zip(parts, row, strict=False) for row in rows]
        return tuple(kind(*(part(item) for part, item in pair)) for pair in pairs)

    return read


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
    "tuple[str, ...]": _all(_text),
    "tuple[int, ...]": _all(_count),
    "tuple[float, float]": _two,
    "tuple[tuple[int, int], ...]": _pairs,
    "tuple[Checkpoint, ...]": _records(Checkpoint, _count, _amount, _amount),
    "tuple[SizeBin, ...]": _records(SizeBin, _count, _count, _count, _amount, _number, _amount),
    "tuple[PartValues, ...]": _records(PartValues, _text, _all(_number), _two),
    "tuple[Copies, ...]": _records(Copies, _all(_count), _amount, _flag, _number, _number, _number),
    "tuple[InputFile, ...]": _records(InputFile, _text, _sha256, _count),
    "dict[str, Any]": _mapping,
    "dict[str, str]": lambda value: {name: _text(item) for name, item in _mapping(value).items()},
}
