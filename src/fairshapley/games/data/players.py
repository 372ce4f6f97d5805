"""Who owns which training rows, and what is true of them: players, targets, equal rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.frames import column_names, index_of, is_frame
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.data.rows import (
    Rows,
    check_alike,
    check_classes,
    is_sparse,
    read_rows,
    stack,
)
from fairshapley.games.player_data import as_labels, equal_places, missing_objects

# All pairs of many equal rows are too many to list; neighbours among them then say the same.
MAX_PAIRS = 100_000


@dataclass(frozen=True, eq=False)
class PlayerRows:
    """All training rows: first the players' rows, then the rows that are always there."""

    rows: Rows
    owner: IntArray
    """The player of each row that has one"""
    n_players: int

    @property
    def n_base(self) -> int:
        """The number of rows that are always there."""
        return len(self.rows) - len(self.owner)

    def masks(self, coalitions: BoolArray) -> BoolArray:
        """Return the rows of each coalition, shape (m, rows), in `order`."""
        # A last player who is always there has the rows of nobody else.
        owner = np.append(self.owner, np.full(self.n_base, self.n_players))
        always = np.ones((len(coalitions), 1), dtype=bool)
        return np.concatenate([coalitions, always], axis=1)[:, owner[self.order]]

    @cached_property
    def order(self) -> IntArray:
        """The rows in an order in which equal ones are neighbours.

        A coalition has the same training data, to the order, whichever of two equal rows it holds:
        models that look at the order, or at the first of several nearest neighbours, cannot tell
        identical players apart.
        """
        return np.argsort(self._first, kind="stable")

    @cached_property
    def _first(self) -> IntArray:
        return representatives(self.rows)

    def identical(self) -> tuple[tuple[int, int], ...]:
        """Return the pairs of players with the same rows."""
        content: list[list[int]] = [[] for _ in range(self.n_players)]
        for player, first in zip(self.owner.tolist(), self._first.tolist(), strict=False):
            content[player].append(first)
        alike = equal_places(tuple(sorted(firsts)) for firsts in content)
        if sum(len(same) * (len(same) - 1) // 2 for same in alike) > MAX_PAIRS:
            return tuple(pair for same in alike for pair in pairwise(same))
        return tuple(pair for same in alike for pair in combinations(same, 2))


def read_players(train: Any, groups: Any, base: Any) -> tuple[PlayerRows, tuple[str, ...] | None]:
    """Return the players of a data game, rows, groups of rows or whole data sets, and their names.

    Examples
    --------
    >>> read_players(([[1.0], [2.0], [3.0]], [0, 1, 0]), ["b", "a", "b"], None)[1]
    ('a', 'b')
    """
    names: tuple[str, ...] | None
    if isinstance(train, Mapping):
        if groups is not None:
            raise InputError("train has the data sets by name already: leave groups out")
        rows, owner, names = _data_sets(train)
    else:
        rows = read_rows(train, "train")
        owner, names = np.arange(len(rows)), index_of(rows.X)
        if groups is not None:
            owner, names = _groups(groups, len(rows))
    n_players = int(owner.max()) + 1
    if base is not None:
        always = read_rows(base, "base")
        check_alike(rows, always, ("train", "base"))
        rows = stack([rows, always])
    return PlayerRows(rows, owner, n_players), names


def _groups(groups: Any, n_rows: int) -> tuple[IntArray, tuple[str, ...]]:
    """Return one player for each label."""
    labels = as_labels(groups, "groups")
    if labels.shape != (n_rows,):
        raise InputError(
            f"groups must be one label for each of the {n_rows} training rows, not an array of "
            f"shape {labels.shape}"
        )
    missing = missing_objects(labels.astype(object))
    if missing.any():
        raise InputError(f"row {int(np.flatnonzero(missing)[0])} has no group: give it a label")
    try:
        names, owner = np.unique(labels, return_inverse=True)
    except TypeError:
        raise InputError("groups must be texts alone, or numbers alone") from None
    return owner.astype(np.int64), tuple(str(name) for name in names.tolist())


def _data_sets(parts: Mapping[Any, Any]) -> tuple[Rows, IntArray, tuple[str, ...]]:
    """Return one player for each dataset, in the order given."""
    if not parts:
        raise InputError("train has no data sets: give at least one, {name: (X, y), …}")
    names = [str(name) for name in parts]
    read = [read_rows(pair, f"train[{name!r}]") for name, pair in parts.items()]
    for name, part in zip(names[1:], read[1:], strict=True):
        check_alike(read[0], part, (f"train[{names[0]!r}]", f"train[{name!r}]"))
    owner = np.repeat(np.arange(len(read)), [len(part) for part in read])
    return stack(read), owner, tuple(names)


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of the training rows."""

    labels: NDArray[Any]
    """Sorted"""
    counts: FloatArray
    """How many rows of each class each player has, shape (players, classes)"""
    base: FloatArray
    """How many of each are always there"""

    def of(self, coalitions: BoolArray) -> FloatArray:
        """How many rows of each class the coalitions have; whole numbers, so that it is exact."""
        return coalitions @ self.counts + self.base


def read_classes(players: PlayerRows, test: Rows) -> tuple[Classes, IntArray]:
    """Return the classes of the training rows, and for each test row the index of its class.

    Classes that only test rows have get the numbers behind.

    Examples
    --------
    >>> players, _ = read_players(([[1.0], [2.0]], ["no", "yes"]), None, None)
    >>> read_classes(players, read_rows(([[1.0]], ["yes"]), "test"))[1]
    array([1])
    """
    for y, what in ((players.rows.y, "train"), (test.y, "test")):
        check_classes(y, what, "give classes, or use a regressor")
    labels, codes = np.unique(players.rows.y, return_inverse=True)
    if len(labels) < 2:
        raise InputError(
            f"all training rows have the class {labels.tolist()[0]!r}, so that there is nothing to "
            "learn: give rows of two classes at least"
        )
    known = np.isin(test.y, labels)
    if not known.any():
        raise InputError(
            f"no test row has a class of the training rows ({_few(labels)}); theirs are "
            f"{_few(np.unique(test.y))}: encode both in the same way, and give "
            "several rows of each class"
        )
    unseen = np.unique(test.y[~known], return_inverse=True)[1]
    test_codes = np.searchsorted(labels, test.y)
    test_codes[~known] = len(labels) + unseen
    counts = np.zeros((players.n_players, len(labels)))
    owned = len(players.owner)
    np.add.at(counts, (players.owner, codes[:owned]), 1.0)
    base = np.bincount(codes[owned:], minlength=len(labels)).astype(np.float64)
    return Classes(labels, counts, base), test_codes.astype(np.int64)


def _few(labels: NDArray[Any]) -> str:
    shown = ", ".join(repr(label) for label in labels[:5].tolist())
    return f"{shown}, …" if len(labels) > 5 else shown


def real_targets(rows: Rows, what: str) -> Rows:
    """Return rows with targets as floats; raise InputError when they are texts.

    Examples
    --------
    >>> real_targets(read_rows(([[1.0]], [2]), "train"), "train").y
    array([2.])
    """
    if rows.y.dtype.kind == "U":
        raise InputError(
            f"y of {what} holds texts such as {rows.y[0]!r}, and the model predicts numbers: give "
            "numbers, or use a classifier"
        )
    return replace(rows, y=rows.y.astype(np.float64))


def first_missing(features: Any) -> tuple[int, Any] | None:
    """Return the row and the column of the first value that is missing or infinite.

    Examples
    --------
    >>> first_missing(np.array([[1.0, 2.0], [np.nan, 0.0]]))
    (1, 0)
    """
    if is_sparse(features):
        entries = features.tocoo()
        bad = np.flatnonzero(~np.isfinite(entries.data))
        return (int(entries.row[bad[0]]), int(entries.col[bad[0]])) if len(bad) else None
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
    """Return for each row the number of the first row with the same content.

    Examples
    --------
    >>> from fairshapley.games.data.rows import read_rows
    >>> representatives(read_rows(([[1.0], [2.0], [1.0]], [0, 0, 0]), "train"))
    array([0, 1, 0])
    """
    weights = [None] * len(rows) if rows.weights is None else rows.weights.tolist()
    keys = zip(_contents(rows.X), rows.y.tolist(), weights, strict=True)
    firsts: dict[Any, int] = {}
    try:
        return np.array([firsts.setdefault(key, at) for at, key in enumerate(keys)], dtype=np.int64)
    except TypeError:  # a list, for example, cannot be hashed: no row is known to equal another
        return np.arange(len(rows))


def _contents(features: Any) -> list[Any]:
    """Return for each row what is equal where the features are."""
    if is_frame(features):
        features = np.array(features)
    if is_sparse(features):
        features = features.copy()
        features.eliminate_zeros()
        features.sort_indices()
        bounds = zip(features.indptr[:-1].tolist(), features.indptr[1:].tolist(), strict=True)
        return [
            (features.indices[a:b].tobytes(), (features.data[a:b] + 0).tobytes()) for a, b in bounds
        ]
    if features.dtype.kind in "OUT":
        if features.dtype.kind == "O":
            features = np.where(missing_objects(features), None, features)
        return [tuple(row) if features.ndim > 1 else row for row in features.tolist()]
    if features.dtype.kind == "f":
        features = np.where(np.isnan(features), np.nan, features) + 0.0  # one NaN, and no −0.0
    return [row.tobytes() for row in features]
