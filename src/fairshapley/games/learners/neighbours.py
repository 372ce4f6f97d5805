"""Nearest neighbours: one sort of all training rows for each test row serves every set.

The first k members of a set in that order are its k nearest; a set with fewer rows uses them all.
Rows at equal distance come in the order of the training rows. scikit-learn leaves their order to
its search structure, so that its answer may differ where two rows are equally far.
"""

from __future__ import annotations

from collections.abc import Collection
from numbers import Real
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from fairshapley._basics.checks import whole
from fairshapley._basics.types import FloatArray
from fairshapley.games.learners.arrays import Array, Backend, label
from fairshapley.games.learners.learner import (
    Data,
    Learner,
    NotVectorisedError,
    Predicted,
    refuse_unless,
)
from fairshapley.games.player_data import within_reach

# scikit-learn's names of the distances, with the powers of those that are named for one.
_POWERS = {
    "minkowski": None,
    "euclidean": 2.0,
    "l2": 2.0,
    "manhattan": 1.0,
    "cityblock": 1.0,
    "l1": 1.0,
    "chebyshev": np.inf,
}
# The sorted rows and what they contribute are kept for every pair of a test and a training row.
MAX_TABLE_BYTES = 1024**3
# The ranks between two checks that all sets have their neighbours: a check waits for the device.
RANKS_PER_LOOK = 8


class _Neighbours(Learner):
    """The sums, over the k nearest rows of a set, of what each row contributes."""

    # A chunk stops at the rank at which all its sets have their neighbours.
    _by_size = True

    def __init__(
        self,
        model: Any,
        given: Data,
        where: Backend,
        kinds: Collection[Predicted],
        contributions: FloatArray,
    ) -> None:
        n_test, n_rows = len(given.X_test), len(given.X)
        size = 8 * n_test * n_rows * (len(contributions) + 2)
        if size > MAX_TABLE_BYTES:
            raise NotVectorisedError(
                f"{n_test} test and {n_rows} training rows: the sorted neighbours would take "
                f"{size / 1e9:.1f} GB; use fewer test rows, or fit one coalition at a time"
            )
        n_neighbors, distances = _n_neighbors(model), _distances(model, given)
        super().__init__(where, kinds, n_rows, given.largest_array(len(contributions), 0))
        order = np.argsort(distances, axis=1, kind="stable")
        sums = contributions[:, order]
        self._n_neighbors = n_neighbors
        self._order = where.integers(order.T)
        sums = np.ascontiguousarray(sums.transpose(2, 0, 1))[..., None]
        # Votes are counted in bytes, which are eight times as many per cache line as floats.
        votes = n_neighbors < 256 and bool(np.isin(sums, (0.0, 1.0)).all())
        self._sums = where.xp.astype(where.reals(sums), where.xp.uint8 if votes else where.real)

    def _summed(self, sets: Array) -> tuple[Array, Array]:
        """Return the sums (contributions, test rows, sets) and the number of neighbours."""
        xp = self.where.xp
        n_ranks, n_test = self._order.shape
        small = xp.uint8 if self._n_neighbors < 256 else xp.int32
        wanted = xp.astype(xp.sum(xp.astype(sets, xp.int32), axis=0), xp.int32)
        wanted = xp.astype(xp.clip(wanted, 0, self._n_neighbors), small)
        found = xp.zeros((n_test, sets.shape[1]), dtype=small, device=sets.device)
        shape = (self._sums.shape[1], *found.shape)
        sums = xp.zeros(shape, dtype=self._sums.dtype, device=sets.device)
        for rank in range(n_ranks):
            here = xp.take(sets, self._order[rank, :], axis=0) & (found < self._n_neighbors)
            found += here
            sums += here * self._sums[rank, ...]
            if rank % RANKS_PER_LOOK == RANKS_PER_LOOK - 1 and bool(xp.all(found == wanted)):
                break
        return xp.astype(sums, self.where.real), xp.astype(found, self.where.real)


class NeighboursClassifierLearner(_Neighbours):
    """`sklearn.neighbors.KNeighborsClassifier` with equal votes.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from fairshapley.games.learners.learner import data
    >>> given = data([[0.0], [1.0], [2.0]], ["a", "b", "b"], [[0.2]])
    >>> learner = NeighboursClassifierLearner(KNeighborsClassifier(1), given, Backend())
    >>> learner.predict(np.array([[True, True, False], [False, True, True]]), "label")
    array([[0],
           [1]])
    """

    def __init__(self, model: Any, given: Data, where: Backend) -> None:
        classes, codes = given.classes
        votes = np.eye(len(classes))[:, codes]
        super().__init__(model, given, where, ["label", "probability"], votes)

    def _predict(self, sets: Array, kind: Predicted) -> Array:
        xp = self.where.xp
        votes, _ = self._summed(sets)
        votes = xp.permute_dims(votes, (2, 1, 0))
        total = xp.sum(votes, axis=2)
        if kind == "label":
            return label(self.where, votes, total[:, :, None])
        return votes / total[:, :, None]


class NeighboursRegressorLearner(_Neighbours):
    """`sklearn.neighbors.KNeighborsRegressor` with plain means.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from fairshapley.games.learners.learner import data
    >>> given = data([[0.0], [1.0], [2.0]], [3.0, 4.0, 8.0], [[0.2]])
    >>> learner = NeighboursRegressorLearner(KNeighborsRegressor(2), given, Backend())
    >>> learner.predict(np.array([[True, True, True], [False, True, False]]), "value")
    array([[3.5],
           [4. ]])
    """

    def __init__(self, model: Any, given: Data, where: Backend) -> None:
        super().__init__(model, given, where, ["value"], given.targets[None, :])

    def _predict(self, sets: Array, kind: Predicted) -> Array:
        sums, found = self._summed(sets)
        return self.where.xp.permute_dims(sums[0, ...] / found, (1, 0))


def _n_neighbors(model: Any) -> int:
    """Return the k of a model whose other parameters are vectorised."""
    refuse_unless(model, "weights", ("uniform", None))
    refuse_unless(model, "metric_params", (None,))
    remedy = "others are not vectorised"
    return whole("n_neighbors", model.n_neighbors, remedy=remedy, error=NotVectorisedError)


def _distances(model: Any, given: Data) -> FloatArray:
    """Return the distances (test rows, training rows)."""
    metric = model.metric
    if not isinstance(metric, str) or metric not in _POWERS:
        known = ", ".join(_POWERS)
        raise NotVectorisedError(f"metric={metric!r}: only {known} are vectorised")
    power = model.p if metric == "minkowski" else _POWERS[metric]
    if not isinstance(power, Real) or not float(power) >= 1.0:
        raise NotVectorisedError(f"p={power!r}: only Minkowski distances with p ≥ 1 are vectorised")
    tests, rows = within_reach(given.X_test, given.X, power=float(power))
    return cdist(tests, rows, "minkowski", p=float(power))
