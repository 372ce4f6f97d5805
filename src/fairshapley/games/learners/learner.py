"""What a vectorised learner is: one model fitted to many sets of rows at once.

Learners are written over the array API, so that the same code runs on numpy and on torch, there
also on a GPU. They know nothing of players, metrics or games.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.checks import is_real
from fairshapley._basics.threads import allowed_threads, one_thread
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.game import real_numbers
from fairshapley.games.learners.arrays import MEMORY_BYTES, Array, Backend

Predicted: TypeAlias = Literal["label", "probability", "decision", "value"]
"""What is predicted of a test row: the index of a class, a probability for each class, a score
that grows with the second of two classes, or a number"""

# A matrix product rounds the last few columns of an odd width in another way. Widths are made a
# multiple of this, so that with OpenBLAS a set's prediction does not depend on its neighbours.
QUANTUM = 32
# On a CPU each array of a chunk should stay in the second-level cache; on a GPU chunks are as
# large as memory allows, for about as many arrays as a step of Newton's method holds at a time.
CACHE_BYTES = 512 * 1024
ARRAYS = 8
# glibc hands the memory of arrays to the system and takes it anew, page by page, for every
# temporary: that was half of the time of a fit. It keeps blocks up to the size of the largest that
# it has handed back so far, at most 32 MB. So one of this size is taken and handed back, untouched.
KEPT_BYTES = 16 * 1024**2


class NotVectorisedError(InputError):
    """The model, its parameters or its data have no vectorised learner; the message says why."""


class Learner(ABC):
    """Fits a model to many sets of training rows and predicts the test rows with each.

    It is made for a model and fixed training and test rows, or raises a NotVectorisedError that
    says why there is none. Inside, sets of rows are columns: arrays of shape (…, sets), so that
    every step is one large matrix product or runs along contiguous memory.

    Parameters
    ----------
    where
        Where its arrays live.
    kinds
        What it can predict.
    n_rows
        The number of training rows.
    largest
        The size of the largest array that one set takes.
    """

    # Whether sets of one size take about as many steps: then they are computed together.
    _by_size = False

    def __init__(
        self, where: Backend, kinds: Collection[Predicted], n_rows: int, largest: int
    ) -> None:
        self.where, self.kinds = where, frozenset(kinds)
        self._n_rows = n_rows
        on_device = where.device is not None and not where.device.startswith("cpu")
        budget = where.free_bytes // ARRAYS if on_device else CACHE_BYTES
        # Narrower products are slow: with 2,000 rows 64 columns took 0.85 of the time of 32.
        self._chunk = max(budget // (8 * largest * QUANTUM), 2) * QUANTUM
        self._chunk_bytes = 8 * largest * self._chunk * ARRAYS

    @abstractmethod
    def _predict(self, sets: Array, kind: Predicted) -> Array:
        """The predictions for sets of rows, boolean (rows, sets), with the sets as first axis."""

    def predict(self, rows: BoolArray, kind: Predicted) -> Array:
        """The predictions for the test rows of the models fitted to each set of training rows.

        On numpy, with its own OpenBLAS, a set gets the same bits in whatever company it comes; on
        torch they may differ from batch to batch by rounding, about 1e−10 of the value in float64.

        Parameters
        ----------
        rows
            Boolean, shape (m, training rows). Every set can be fitted: it is not empty and, for
            classifiers, holds at least two classes.
        kind
            What to predict.

        Returns
        -------
        Array
            In the learner's own namespace, on its device. "label": integers (m, test rows), an
            index into the sorted classes of all training rows; "probability":
            (m, test rows, classes), 0 for classes that are not in the set; "decision" and
            "value": (m, test rows).
        """
        count, order = len(rows), np.arange(len(rows))
        if self._by_size:
            order = np.argsort(rows.sum(axis=1), kind="stable")
            rows = rows[order]
        # The set of all rows is one that can be fitted: it fills the last width.
        padding = -count % QUANTUM or (QUANTUM if count == 0 else 0)
        full = np.ones((padding, self._n_rows), dtype=np.bool_)
        np.empty(KEPT_BYTES, dtype=np.uint8)
        sets = self.where.columns(np.concatenate([rows, full]))
        with self.where.quiet:
            found = self._by_threads(sets, kind)[:count, ...]
        if not self._by_size:
            return found
        return self.where.xp.take(found, self.where.integers(np.argsort(order)), axis=0)

    def predict_sets(self, sets: Array, kind: Predicted) -> Array:
        """The same for sets that are columns on the learner's device, boolean (rows, sets)."""
        return self._joined([self._predict(part, kind) for part in self._chunks(sets, self._chunk)])

    def _by_threads(self, sets: Array, kind: Predicted) -> Array:
        """The same; on numpy each thread computes a chunk, so that bits do not depend on them."""
        if self.where.device is not None:
            return self.predict_sets(sets, kind)
        # Every thread has a part, also where a chunk would hold all sets.
        threads = max(1, min(allowed_threads(), MEMORY_BYTES // self._chunk_bytes))
        even = -(-sets.shape[1] // (QUANTUM * threads)) * QUANTUM
        chunks = self._chunks(sets, min(even, self._chunk))

        def predicted(part: Array) -> Array:
            with self.where.quiet:  # a setting of the thread
                return self._predict(part, kind)

        n_threads = min(threads, len(chunks))
        with one_thread():
            if n_threads == 1:
                return self._joined([predicted(part) for part in chunks])
            with ThreadPoolExecutor(n_threads) as pool:
                return self._joined(list(pool.map(predicted, chunks)))

    def _chunks(self, sets: Array, width: int) -> list[Array]:
        return [sets[:, start : start + width] for start in range(0, sets.shape[1], width)]

    def _joined(self, parts: list[Array]) -> Array:
        return parts[0] if len(parts) == 1 else self.where.xp.concat(parts, axis=0)


@dataclass(frozen=True)
class Data:
    """Training rows, their targets, and test rows.

    Attributes
    ----------
    X, y, X_test
        The features of the training rows, their targets as given, the features of the test rows.
    """

    X: FloatArray
    y: NDArray[Any]
    X_test: FloatArray

    @property
    def classes(self) -> tuple[NDArray[Any], IntArray]:
        """The sorted classes, and for each training row the index of its class."""
        classes, codes = np.unique(self.y, return_inverse=True)
        return classes, codes.astype(np.int64)

    @property
    def targets(self) -> FloatArray:
        """The targets as numbers: for regressors."""
        return self.y.astype(np.float64)

    def largest_array(self, n_classes: int, statistics: int) -> int:
        """Return what a `Learner` with classes takes as the largest array of one set.

        The rows, the statistics, or a quarter of the scores of all test rows for all classes.
        """
        return max(len(self.X), len(self.X_test) * max(n_classes // 4, 1), statistics)


def data(X: object, y: object, X_test: object) -> Data:  # noqa: N803
    """Return the data as arrays; whoever asks has checked that they fit together.

    Examples
    --------
    >>> data([[0.0], [1.0]], ["a", "b"], [[2.0]]).classes
    (array(['a', 'b'], dtype='<U1'), array([0, 1]))
    """
    return Data(_features(X, "X"), np.asarray(y), _features(X_test, "X_test"))


def _features(X: object, name: str) -> FloatArray:  # noqa: N803
    if hasattr(X, "tocoo"):
        raise NotVectorisedError(f"{name} is a sparse matrix: give a dense one, X.toarray()")
    features = real_numbers(X, name, NotVectorisedError)
    if features.ndim != 2:
        raise InputError(f"{name} must have two axes, rows and features, not {features.ndim}")
    if not np.isfinite(features).all():
        raise NotVectorisedError(f"{name} holds NaN or infinite values")
    return features


def refuse_unless(model: object, name: str, allowed: Collection[object]) -> None:
    """Raise NotVectorisedError when a parameter has none of the allowed values.

    A parameter that this version of scikit-learn does not have is no obstacle.
    """
    if not hasattr(model, name):
        return
    value = getattr(model, name)
    # Not `in`: an array has no single truth, and 0 is not False here.
    if not any(value is choice for choice in allowed) and not (
        isinstance(value, str) and value in allowed
    ):
        known = " or ".join(repr(choice) for choice in allowed)
        raise NotVectorisedError(
            f"{type(model).__name__}({name}={value!r}): only {known} is vectorised"
        )


def number(model: object, name: str, *, positive: bool = False) -> float:
    """A parameter that is a finite number of at least 0, or above, or a NotVectorisedError."""
    value = getattr(model, name)
    if is_real(value) and 0 <= value < np.inf and not (positive and value == 0):
        return float(value)
    limit = "above 0" if positive else "of at least 0"
    raise NotVectorisedError(
        f"{type(model).__name__}({name}={value!r}): only a finite number {limit} is vectorised"
    )


def switch(model: object, name: str) -> bool:
    """Return a parameter that is True or False; raise NotVectorisedError otherwise."""
    refuse_unless(model, name, (True, False))
    return bool(getattr(model, name))


# The products of all pairs of columns are kept up to this size; larger ones are made anew for every
# sum, column by column.
MAX_PRODUCT_BYTES = 256 * 1024**2
# The matrices of a batch of wider problems would not fit the memory.
MAX_WIDTH = 400


@dataclass(frozen=True)
class Design:
    """Columns that carry the same linear models as the features, but are kinder to solvers.

    Attributes
    ----------
    train, test
        The columns for the training and the test rows.
    penalty
        What the square of each coefficient weighs in the sum of squares of the original ones.
    """

    train: FloatArray
    test: FloatArray
    penalty: FloatArray


def design(X: FloatArray, X_test: FloatArray, *, centre: bool) -> Design:  # noqa: N803
    """Centre the features, turn them into fewer columns if their rank is lower, and scale them.

    A penalised or shortest solution lies in the space of the rows, so that coordinates in that
    space lose nothing; the rotation keeps lengths, and `penalty` corrects for the scales. Centring
    needs an intercept that is not penalised.

    Examples
    --------
    >>> wide = np.array([[3.0, 4.0, 0.0]])
    >>> design(wide, wide, centre=False).penalty.shape
    (1,)
    """
    middle = X.mean(axis=0) if centre else np.zeros(X.shape[1])
    train, test = X - middle, X_test - middle
    left, lengths, axes = np.linalg.svd(train, full_matrices=False)
    # As numpy.linalg.matrix_rank: smaller ones are rounding.
    cutoff = lengths.max(initial=0.0) * max(train.shape) * np.finfo(np.float64).eps
    rank = max(int(np.sum(lengths > cutoff)), 1)
    if rank < train.shape[1]:
        train, test = left[:, :rank] * lengths[:rank], test @ axes[:rank].T
    scales = np.sqrt(np.mean(train**2, axis=0))
    scales[scales == 0.0] = 1.0
    return Design(train / scales, test / scales, 1.0 / scales**2)


class Products:
    """The sums Σ w_i x_i x_iᵀ for many weights at once: products with all x_i x_iᵀ.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> Products(X, Backend()).sums(np.array([[1.0], [0.0]]))[:, :, 0]
    array([[1., 2.],
           [2., 4.]])
    """

    def __init__(self, X: FloatArray, where: Backend) -> None:  # noqa: N803
        _check_width(X.shape[1])
        width = X.shape[1]
        rows, columns = np.triu_indices(width)
        place: IntArray = np.zeros((width, width), dtype=np.int64)
        place[rows, columns] = place[columns, rows] = np.arange(rows.size)
        self.width = width
        self._where = where
        self._place = where.integers(place.ravel())
        self._diagonal = where.integers(np.diag(place))
        self._columns = where.reals(X.T)
        self._kept = None
        if 8 * len(X) * rows.size <= MAX_PRODUCT_BYTES:
            self._kept = where.reals((X[:, rows] * X[:, columns]).T)

    def sums(self, weights: Array, diagonal: Array | None = None) -> Array:
        """Return the matrices (width, width, sets) for weights (rows, sets).

        `diagonal`, of a shape that broadcasts to (width, sets), is added to their diagonals.
        """
        xp, columns = self._where.xp, self._columns
        if self._kept is not None:
            sums = self._kept @ weights
        else:
            parts = [columns[at:, :] * columns[at, :] @ weights for at in range(self.width)]
            sums = xp.concat(parts, axis=0)
        if diagonal is not None:
            sums[self._diagonal, :] += diagonal
        return xp.reshape(xp.take(sums, self._place, axis=0), (self.width, self.width, -1))


def _check_width(width: int) -> None:
    if width > MAX_WIDTH:
        raise NotVectorisedError(
            f"{width} columns that depend on no others: at most {MAX_WIDTH} are fitted together; "
            "reduce the features, or fit one coalition at a time"
        )
