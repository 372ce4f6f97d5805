"""Features made ready for least squares and Newton steps, and their products."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.games.learners.arrays import Array, Backend
from fairshapley.games.learners.learner import NotVectorisedError

# The products of all pairs of columns are kept for every training row, and their making takes
# three times as much for a moment.
MAX_PRODUCT_BYTES = 256 * 1024**2


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
    """Features centred, turned into fewer columns where their rank is lower, and scaled.

    A penalised or shortest solution lies in the space of the rows, so that coordinates in that
    space lose nothing; the rotation keeps lengths, and `penalty` corrects for the scales. Centring
    needs an intercept that is not penalised.

    Examples
    --------
    >>> wide = np.array([[3.0, 4.0, 0.0]])
    >>> design(wide, wide, centre=False).penalty.shape
    (1,)
    """
    # Before the decomposition, which takes long where this fails.
    _check_size(X.shape[0], min(X.shape))
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
    """The sums Σ w_i x_i x_iᵀ for many weights at once: one product with all x_i x_iᵀ.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> Products(X, Backend()).sums(np.array([[1.0], [0.0]]))[:, :, 0]
    array([[1., 2.],
           [2., 4.]])
    """

    def __init__(self, X: FloatArray, where: Backend) -> None:  # noqa: N803
        _check_size(*X.shape)
        width = X.shape[1]
        rows, columns = np.triu_indices(width)
        place: IntArray = np.zeros((width, width), dtype=np.int64)
        place[rows, columns] = place[columns, rows] = np.arange(rows.size)
        self.width = width
        self._where = where
        self._place = where.integers(place.ravel())
        self._diagonal = where.integers(np.diag(place))
        self._products = where.reals((X[:, rows] * X[:, columns]).T)

    def of_rows(self, rows: Array) -> Products:
        """The products of some of the rows."""
        part = object.__new__(Products)
        part.__dict__.update(self.__dict__)
        part._products = self._where.xp.take(self._products, rows, axis=1)
        return part

    def sums(self, weights: Array, diagonal: Array | None = None, *, coarse: bool = False) -> Array:
        """For weights (rows, sets), the matrices (width, width, sets).

        `diagonal`, of a shape that broadcasts to (width, sets), is added to their diagonals;
        `coarse` sums decide on the speed of an iteration alone.
        """
        xp = self._where.xp
        with self._where.coarse if coarse else nullcontext():
            sums = self._products @ weights
        if diagonal is not None:
            sums[self._diagonal, :] += diagonal
        return xp.reshape(xp.take(sums, self._place, axis=0), (self.width, self.width, -1))


def _check_size(n_rows: int, width: int) -> None:
    size = 8 * n_rows * width * (width + 1) // 2
    if size > MAX_PRODUCT_BYTES:
        raise NotVectorisedError(
            f"{n_rows} rows of {width} columns: their products would take {size / 1e9:.1f} GB; "
            "reduce the features, or fit one coalition at a time"
        )
