"""The nearest-neighbour utility of Jia et al. (2019), whose Shapley values have a closed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.game import check_coalitions, check_names
from fairshapley.games.player_data import (
    equal_content,
    feature_matrix,
    label_codes,
    target_vector,
    within_reach,
)

Task: TypeAlias = Literal["classification", "regression"]
DistanceMetric: TypeAlias = Literal["euclidean", "manhattan", "chebyshev", "cosine"]

# What scipy calls them.
_DISTANCES: dict[str, Any] = {
    "manhattan": "cityblock",
    "chebyshev": "chebyshev",
    "cosine": "cosine",
}
# Whole numbers below this are exact as doubles.
_EXACT = 2.0**53


class KNNUtilityGame:
    """How well the k nearest points of a coalition predict the test points, without weights.

    With α₁(S), α₂(S), … the points of S by their distance to a test point (x, y), and h =
    min(k, |S|), the utility of the test point is

    - classification: (1/k)·Σ_{j≤h} 1[y_{αj} = y], the share of neighbours with the right label;
      v(∅) = 0. For k = 1 and S ≠ ∅ it is the accuracy of 1-NN.
    - regression: −((1/k)·Σ_{j≤h} y_{αj} − y)²; v(∅) = −y². A coalition of fewer than k points
      predicts too small a number, as its sum is divided by k all the same: centre the targets.

    v(S) is the mean over the test points. Equal distances are ordered by row, with equal points
    side by side. `knn_shapley` has the exact Shapley values for any number of points.

    Parameters
    ----------
    X, y
        The training points, the players: a matrix (rows, features), and labels or targets. Data
        frames are taken by position, sparse matrices are made dense.
    X_test, y_test
        The test points. A label that no training point has is never predicted.
    k
        The number of neighbours.
    task
        "classification" or "regression".
    metric
        "euclidean", "manhattan", "chebyshev" or "cosine".
    player_names
        Names for the training points.

    Examples
    --------
    >>> game = KNNUtilityGame([[0.0], [1.0], [3.0]], ["a", "b", "a"], [[0.2]], ["a"], k=2)
    >>> game(np.array([[True, True, False], [True, False, True], [False, True, False]]))
    array([0.5, 1. , 0. ])
    """

    # Entries of a temporary array: 2**21 doubles are 16 MiB, a few of which live at a time.
    _block: ClassVar[int] = 1 << 21

    def __init__(
        self,
        X: ArrayLike,  # noqa: N803 - as everywhere in the field
        y: ArrayLike,
        X_test: ArrayLike,  # noqa: N803
        y_test: ArrayLike,
        *,
        k: int = 5,
        task: Task = "classification",
        metric: DistanceMetric = "euclidean",
        player_names: Sequence[str] | None = None,
    ) -> None:
        self.features = feature_matrix(X, "X")
        self.test_features = feature_matrix(X_test, "X_test")
        n_columns, n_others = self.features.shape[1], self.test_features.shape[1]
        if n_columns != n_others:
            raise InputError(f"X has {n_columns} columns and X_test {n_others}: give the same ones")
        self.n_players, self.n_tests = len(self.features), len(self.test_features)
        self.task = cast("Task", checks.choice("task", task, get_args(Task)))
        self.targets: NDArray[Any]
        self.test_targets: NDArray[Any]
        if task == "classification":
            self.targets, self.test_targets = label_codes(y, y_test, self.n_players, self.n_tests)
        else:
            self.targets = target_vector(y, self.n_players, "y", "X")
            self.test_targets = target_vector(y_test, self.n_tests, "y_test", "X_test")
        self.k = checks.whole("k", k, most=(1 << 31) - 1)
        self.metric = checks.choice("metric", metric, get_args(DistanceMetric))
        self.player_names = check_names(player_names, self.n_players)
        self.value_range = self._value_range()
        # Adding 0 makes −0 and 0 the same bytes.
        content = zip(self.features + 0.0, self.targets + 0.0, strict=True)
        self.identical_players = equal_content(x.tobytes() + y.tobytes() for x, y in content)

    def __fingerprint_state__(self) -> object:
        data = self.features, self.targets, self.test_features, self.test_targets
        return *data, self.k, self.task, self.metric

    def __getstate__(self) -> dict[str, Any]:
        # Workers sort again: the order of all neighbours can be larger than the data.
        computed = ("_neighbours", "_squares", "_ties")
        return {name: value for name, value in vars(self).items() if name not in computed}

    @property
    def unit(self) -> str:
        """What a utility measures."""
        kind = "share of correct neighbours"
        if self.task == "regression":
            kind = "negative mean squared error"
        return f"{kind} on {self.n_tests:,} test rows"

    def _value_range(self) -> tuple[float, float]:
        if self.task == "classification":
            return 0.0, 1.0
        low, high = min(self.targets.min(), 0.0), max(self.targets.max(), 0.0)
        worst = np.maximum(self.test_targets - low, high - self.test_targets)
        with np.errstate(over="ignore"):
            error = float(np.square(worst).mean())
        if not np.isfinite(error):
            raise InputError("the targets are too large for squared errors: divide y and y_test")
        # Rounding may pass the bound by a last bit.
        return -error * (1 + 1e-12), 0.0

    @cached_property
    def _ties(self) -> IntArray:
        """The order of points at one distance: no other stands between two equal ones."""
        first = np.arange(self.n_players)
        for one, other in self.identical_players:
            first[other] = first[one]
        return np.argsort(first, kind="stable")

    def sorted_blocks(self) -> Iterator[tuple[slice, IntArray]]:
        """Yield blocks of test points, with the training points in order of their distance."""
        step = max(1, self._block // self.n_players)
        for start in range(0, self.n_tests, step):
            part = slice(start, min(start + step, self.n_tests))
            distances = self._distances(part)
            if self.identical_players:
                yield part, self._ties[_stable_order(distances[:, self._ties])]
            else:
                yield part, _stable_order(distances).astype(np.int64, copy=False)

    def _distances(self, part: slice) -> FloatArray:
        """Return distances, or their squares, of some test points to all training points.

        The usual ‖x‖² − 2x·x′ + ‖x′‖² is fast but loses digits, so that equal distances come out
        different. It is used where it is exact: for whole numbers, such as pixels.
        """
        tests, points = self.test_features[part], self.features
        if self.metric != "euclidean":
            distances = cdist(tests, points, _DISTANCES[self.metric])
        elif self._squares is not None:
            distances = tests @ points.T
            distances *= -2.0
            distances += self._squares
        else:
            tests, points = within_reach(tests, points)
            distances = cdist(tests, points, "sqeuclidean")
        if not np.isfinite(distances).all():
            test, point = np.argwhere(~np.isfinite(distances))[0].tolist()
            raise InputError(
                f"metric {self.metric!r} gives {distances[test, point]} between test point "
                f"{part.start + test} and training point {point}: scale the features, or use "
                "another metric"
            )
        return distances

    @cached_property
    def _squares(self) -> FloatArray | None:
        """‖x‖² of the training points, where all coordinates are small whole numbers."""
        both = self.test_features, self.features
        largest = sum(float(np.abs(matrix).max()) for matrix in both)
        if not self.features.shape[1] * largest * largest < _EXACT:
            return None
        if not all((matrix == np.rint(matrix)).all() for matrix in both):
            return None
        return np.einsum("ij,ij->i", self.features, self.features)

    @cached_property
    def _neighbours(self) -> IntArray:
        return np.concatenate([order for _, order in self.sorted_blocks()])

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row of `coalitions`."""
        masks = check_coalitions(coalitions, self.n_players)
        values = np.empty(len(masks))
        step = max(1, self._block // (self.n_players * self.n_tests))
        for start in range(0, len(masks), step):
            values[start : start + step] = self._utilities(masks[start : start + step])
        return values

    def _utilities(self, masks: BoolArray) -> FloatArray:
        per_test = np.empty((len(masks), self.n_tests))
        step = max(1, self._block // (self.n_players * len(masks)))
        for start in range(0, self.n_tests, step):
            part = slice(start, start + step)
            order = self._neighbours[part]
            present = masks[:, order]
            used = present & (np.cumsum(present, axis=2, dtype=np.int32) <= self.k)
            per_test[:, part] = self._scores(used, order, self.test_targets[part])
        # Right neighbours are whole numbers, so that their sum has no rounding errors.
        unit = self.n_tests * (self.k if self.task == "classification" else 1)
        return per_test.sum(axis=1) / unit

    def _scores(self, used: BoolArray, order: IntArray, tests: NDArray[Any]) -> NDArray[Any]:
        """The right neighbours, or the negative squared error, of each coalition and test."""
        targets = self.targets[order]
        if self.task == "classification":
            return (used & (targets == tests[:, None])).sum(axis=2)
        predictions = np.where(used, targets, 0.0).sum(axis=2) / self.k
        return -np.square(predictions - tests)


def _stable_order(distances: FloatArray) -> NDArray[np.intp]:
    """The columns of each row in increasing order of their entries, equal ones in their order."""
    # A sort that may exchange equal entries takes half the time, and most rows have none.
    order = np.argsort(distances, axis=1)
    ordered = np.take_along_axis(distances, order, axis=1)
    tied = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if tied.any():
        order[tied] = np.argsort(distances[tied], axis=1, kind="stable")
    return order
