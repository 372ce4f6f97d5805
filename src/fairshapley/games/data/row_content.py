"""The content of rows: what is missing in them, and which of them are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairshapley._basics.frames import column_names, is_frame
from fairshapley._basics.types import IntArray
from fairshapley.games.data.rows import Rows, is_sparse
from fairshapley.games.player_data import missing_objects


def first_missing(features: Any) -> tuple[int, Any] | None:
    """The row and the column of the first value that is missing or infinite.

    Examples
    --------
    >>> first_missing(np.array([[1.0, 2.0], [np.nan, 0.0]]))
    (1, 0)
    """
    if is_sparse(features):
        entries = features.tocoo()
        bad = np.flatnonzero(~np.isfinite(entries.data))
        return (int(entries.row[bad[0]]), int(entries.col[bad[0]])) if len(bad) else None
    if hasattr(features, "iloc"):
        for position, name in enumerate(features.columns):
            column = features.iloc[:, position]
            missing = np.asarray(column.isna())
            if getattr(column.dtype, "kind", "") == "f":
                missing = missing | np.isinf(column.to_numpy(dtype=np.float64, na_value=np.nan))
            if missing.any():
                return int(np.flatnonzero(missing)[0]), name
        return None
    if is_frame(features):
        found = first_missing(np.array(features))
        return None if found is None else (found[0], column_names(features)[found[1]])
    if features.dtype.kind not in "fO":
        return None
    missing = missing_objects(features) if features.dtype.kind == "O" else ~np.isfinite(features)
    places = np.argwhere(missing)
    return (
        (int(places[0][0]), int(places[0][-1]) if features.ndim > 1 else 0) if len(places) else None
    )


def representatives(rows: Rows) -> IntArray:
    """For each row the first one with the same content.

    Examples
    --------
    >>> from fairshapley.games.data.rows import read_rows
    >>> representatives(read_rows(([[1.0], [2.0], [1.0]], [0, 0, 0]), "train"))
    array([0, 1, 0])
    """
    beside = [rows.y] if rows.weights is None else [rows.y, rows.weights]
    numbered = (np.unique(one, return_inverse=True)[1].reshape(-1) for one in beside)
    content = np.stack([_content(rows.X), *numbered], axis=1)
    _, first, inverse = np.unique(content, axis=0, return_index=True, return_inverse=True)
    return first[inverse.reshape(-1)].astype(np.int64)


def _content(features: Any) -> IntArray:
    """A number for each row, equal where the features are."""
    if hasattr(features, "iloc"):
        columns = (features.iloc[:, position] for position in range(features.shape[1]))
        try:
            features = np.stack([column.factorize()[0] for column in columns], axis=1)
        except TypeError:
            return _all_different(len(features))
    if is_frame(features):
        features = np.array(features)
    if is_sparse(features):
        features = features.copy()
        features.eliminate_zeros()
        features.sort_indices()
        bounds = zip(features.indptr[:-1].tolist(), features.indptr[1:].tolist(), strict=True)
        keys = [
            (features.indices[a:b].tobytes(), (features.data[a:b] + 0).tobytes()) for a, b in bounds
        ]
        return _numbered(keys)
    if features.dtype.kind in "OUT":
        return _numbered([tuple(row) if features.ndim > 1 else row for row in features.tolist()])
    flat = np.ascontiguousarray(features.reshape(len(features), -1))
    if flat.dtype.kind == "f":
        flat = np.where(np.isnan(flat), np.nan, flat) + 0.0  # one NaN, and no −0.0
    whole_rows = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1])))[:, 0]
    return np.unique(whole_rows, return_inverse=True)[1].reshape(-1)


def _numbered(keys: Sequence[Any]) -> IntArray:
    numbers: dict[Any, int] = {}
    try:
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    except TypeError:
        return _all_different(len(keys))


def _all_different(n_rows: int) -> IntArray:
    """Where something cannot be hashed, such as a list: no row is known to equal another."""
    return np.arange(n_rows)
