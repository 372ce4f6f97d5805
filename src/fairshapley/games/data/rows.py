"""Rows of data: features and targets as users have them, read once and checked.

Features may be arrays, data frames, sparse matrices or a list of texts; they are copied, so that a
game does not change with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairshapley._basics import frames
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.game import real_numbers
from fairshapley.games.player_data import as_array, described, missing_objects, read_targets


@dataclass(frozen=True, eq=False)
class Rows:
    """Features and targets, one row each."""

    X: Any
    """An array, a DataFrame or a sparse matrix in CSR form; an array of texts has one axis"""
    y: NDArray[Any]
    weights: FloatArray | None = None
    """How much each row counts; None counts all alike"""

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows, in the order given."""
        features = frames.take_rows(self.X, rows) if frames.is_frame(self.X) else self.X[rows]
        return Rows(features, self.y[rows], None if self.weights is None else self.weights[rows])


def is_sparse(features: object) -> bool:
    """Return whether features are a sparse matrix or array of scipy."""
    return bool(sparse.issparse(features))


def read_rows(pair: Any, what: str) -> Rows:
    """Features, targets and perhaps weights, or an InputError that says what is wrong with `what`.

    Examples
    --------
    >>> len(read_rows(([[1.0], [2.0]], ["a", "b"]), "train"))
    2
    """
    if not isinstance(pair, tuple | list) or len(pair) not in (2, 3):
        raise InputError(
            f"{what} must be a pair (X, y), not {described(pair)}; weights come third, (X, y, w)"
        )
    weights = _read_weights(pair[2], what) if len(pair) == 3 and pair[2] is not None else None
    features, targets = frames.read_frame(pair[0]), pair[1]
    if isinstance(targets, str) and frames.is_frame(features):
        features, targets = frames.without(features, targets, what)
    rows = Rows(_read_features(features, what), read_targets(targets, f"y of {what}"), weights)
    n_features = rows.X.shape[0]
    if n_features != len(rows.y):
        raise InputError(f"{what} has {n_features} rows of X and {len(rows.y)} of y: give one each")
    if weights is not None and len(weights) != len(rows.y):
        raise InputError(f"{what} has {len(rows.y)} rows and {len(weights)} weights: give one each")
    if not n_features:
        raise InputError(f"{what} is empty: give at least one row")
    if 0 in rows.X.shape:
        raise InputError(f"X of {what} has no columns: give at least one feature")
    return rows


def _read_features(features: Any, what: str) -> Any:
    if is_sparse(features):
        if features.ndim != 2:
            raise InputError(
                f"X of {what} must have two axes, rows and columns, not {features.ndim}"
            )
        matrix = features.tocsr(copy=True)
        matrix.sum_duplicates()
        return matrix
    if frames.is_frame(features):
        return frames.copied(features)
    array = as_array(features, f"X of {what}")
    if array.dtype.kind == "U" and array.ndim > 1 and not hasattr(features, "dtype"):
        array = np.array(features, dtype=object)  # numpy makes texts of the numbers among them
    texts = array.dtype.kind in "UT" or (array.dtype.kind == "O" and _all_texts(array))
    if array.ndim < 2 and not (array.ndim == 1 and texts):
        _refuse_missing_texts(array, what)
        raise InputError(
            f"X of {what} must have two axes, rows and columns, not the shape {array.shape}: for "
            "one feature use X.reshape(-1, 1), or `frame[['name']]`"
        )
    if array.dtype.kind not in "fiubOUT":
        raise InputError(f"X of {what} must hold numbers, not {array.dtype}: convert it first")
    if array.dtype.kind == "O" and not texts:
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            return array  # Numbers and texts, for a pipeline that encodes them.
    return array


def _refuse_missing_texts(array: NDArray[Any], what: str) -> None:
    missing = missing_objects(array)
    if array.ndim == 1 and missing.any() and _all_texts(array[~missing]):
        row = int(np.flatnonzero(missing)[0])
        raise InputError(f"row {row} of X of {what} has no text: leave it out, or give it ''")


def _read_weights(weights: Any, what: str) -> FloatArray:
    array = real_numbers(weights, f"weights of {what}")
    good = array.ndim == 1 and bool(np.isfinite(array).all()) and bool((array >= 0).all())
    if not good or not 0 < array.sum() < np.inf:
        raise InputError(
            f"weights of {what} must be one finite number for each row, none below 0 and not all 0"
        )
    return array


def check_classes(y: NDArray[Any], what: str, remedy: str) -> None:
    """Raise InputError when targets are numbers with fractions, which are no classes."""
    if y.dtype.kind == "f" and (y != np.round(y)).any():
        raise InputError(
            f"y of {what} holds numbers such as {y[y != np.round(y)][0]}, which are no classes: "
            f"{remedy}"
        )


def _all_texts(array: NDArray[Any]) -> bool:
    return all(isinstance(value, str) for value in array.ravel().tolist())


def check_alike(first: Rows, other: Rows, names: tuple[str, str]) -> None:
    """Raise InputError unless two sets of rows have the same columns and targets of one kind."""
    a, b = first.X, other.X
    if frames.frame_kind(a) != frames.frame_kind(b):
        kinds = [frames.frame_kind(part).replace("dict", "numpy") for part in (a, b)]
        raise InputError(
            f"X of {names[0]} is of {kinds[0]}, X of {names[1]} of {kinds[1]}: give both as data "
            "frames of one kind, or both as arrays"
        )
    if a.shape[1:] != b.shape[1:]:
        widths = [str(part.shape[1:]).strip("(,)") or "no" for part in (a, b)]
        raise InputError(
            f"X of {names[0]} has {widths[0]} columns, X of {names[1]} has {widths[1]}: give the "
            "same features"
        )
    columns = [frames.column_names(part) for part in (a, b) if frames.is_frame(part)]
    for at, (one, two) in enumerate(zip(*columns, strict=True) if columns else ()):
        if one != two:
            raise InputError(
                f"column {at} is {one!r} in {names[0]} and {two!r} in {names[1]}: give the same "
                "columns in the same order"
            )
    if (first.y.dtype.kind == "U") != (other.y.dtype.kind == "U"):
        raise InputError(
            f"y of {names[0]} holds {first.y.dtype}, y of {names[1]} {other.y.dtype}: give texts "
            "in both, or numbers in both"
        )


def stack(parts: Sequence[Rows]) -> Rows:
    """Return several sets of rows as one; they are alike.

    Examples
    --------
    >>> part = read_rows(([[1.0]], [0]), "train")
    >>> stack([part, part]).X
    array([[1.],
           [1.]])
    """
    if len(parts) == 1:
        return parts[0]
    y = np.concatenate([part.y for part in parts])
    weights = None
    if any(part.weights is not None for part in parts):
        given = [np.ones(len(part)) if part.weights is None else part.weights for part in parts]
        weights = np.concatenate(given)
    features = [part.X for part in parts]
    if frames.is_frame(features[0]):
        return Rows(frames.stacked(features), y, weights)
    if any(map(is_sparse, features)):
        stacked = sparse.vstack([sparse.csr_array(part) for part in features], format="csr")
        return Rows(stacked, y, weights)
    return Rows(np.concatenate(features), y, weights)
