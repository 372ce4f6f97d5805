"""P2: datasets valued by the volume they span (Xu et al. 2021), without labels or a test set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.game import check_coalitions
from fairshapley.games.player_data import Datasets, equal_datasets, read_datasets

# Added to the determinant, as Xu et al. do, so that too few rows have a small volume, not none.
_FLOOR = 1e-8
# exp(709) is the largest double; the rest is for the sums on the way.
_LARGEST_LOG = 700.0
# Whole numbers up to here are exact as doubles, so that neighbouring cubes stay apart.
_MAX_CUBES = 2.0**53


class VolumeGame:
    """The robust volume of the pooled rows of a coalition; v(∅) = 0.

    The rows of S are put into cubes of edge ω counted from the coalition's own minimum of every
    feature. With X̃ the means of the rows of each cube, and α = 1/(10·rows of X̃),

        v(S) = √(det(X̃ᵀX̃) + 1e−8) · Π over cubes (1 − α^(rows in the cube + 1)) / (1 − α)

    (Xu et al. 2021, Definition 3, with the parameters of the paper's P2). Copies of rows fall into
    the cubes that are there already, so that replication does not pay. Features must be on one
    scale, as ω is: standardise them over all players first.

    Coalitions are computed in one sweep of sorts and sums. A utility has the same bits whatever
    the batch around it.

    Parameters
    ----------
    datasets
        One matrix (rows, features) per player: a list, or a dict by name. Data frames are matched
        by column, sparse matrices are made dense.
    omega
        ω, the edge of the cubes, in the unit of the features. None gives the plain volume
        √(det(XᵀX) + 1e−8) of all rows.
    player_names
        Names for the players; by default the keys of a dict.

    Attributes
    ----------
    identical_players
        Pairs of players that hold the same rows.

    Examples
    --------
    >>> game = VolumeGame({"a": [[2.0, 0.0]], "b": [[0.0, 3.0]]}, omega=None)
    >>> game(np.array([[False, False], [True, False], [True, True]])).round(6)
    array([0.e+00, 1.e-04, 6.e+00])
    >>> import fairshapley as fs
    >>> fs.exact(game).values.round(3)
    array([3., 3.])
    """

    # Entries of a temporary array: 2**20 doubles are 8 MiB.
    _chunk: ClassVar[int] = 1 << 20

    def __init__(
        self,
        datasets: Datasets,
        omega: float | None = 0.1,
        *,
        player_names: Sequence[str] | None = None,
    ) -> None:
        self.datasets, self.player_names = read_datasets(datasets, player_names)
        self.n_players = len(self.datasets)
        self.omega = None if omega is None else checks.real("omega", omega, above=0)
        self.identical_players = equal_datasets(self.datasets)
        # Division by a power of two loses no digit, and keeps squares within range.
        largest = np.max([np.abs(rows).max(axis=0) for rows in self.datasets], axis=0)
        self._scale = np.where(largest > 0, np.ldexp(1.0, np.frexp(largest)[1] - 1), 1.0)
        self._check_size()
        # Without cubes, rows matter by XᵀX alone, and the factor R of X = QR has the same.
        parts = self.datasets if self.omega is not None else tuple(map(_triangle, self.datasets))
        self._rows = np.concatenate(parts)
        self._owners = np.repeat(np.arange(self.n_players), [len(part) for part in parts])
        self._lows = np.stack([rows.min(axis=0) for rows in self.datasets])

    def __fingerprint_state__(self) -> object:
        return self.datasets, self.omega, None  # where α once was, as journals have it

    def _check_size(self) -> None:
        """An InputError where a volume could overflow, or cubes could not be told apart."""
        pooled = np.concatenate(self.datasets)
        norms = np.sqrt(np.square(pooled / self._scale).sum(axis=0))
        # Hadamard: no determinant exceeds the product of the columns' squared lengths.
        with np.errstate(divide="ignore"):
            largest = float(np.log(norms).sum() + np.log(self._scale).sum())
        largest += 1 / 9  # the factor of the cubes, at most (`_log_rho`)
        if largest > _LARGEST_LOG:
            raise InputError(
                f"volumes could reach exp({largest:.0f}), more than a float holds: divide all "
                "features (and omega) by one constant c, which divides every volume by "
                f"c**{pooled.shape[1]}"
            )
        if self.omega is None:
            return
        with np.errstate(over="ignore"):
            cubes = (np.ptp(pooled / self._scale, axis=0) / self.omega * self._scale).max()
        if not cubes < _MAX_CUBES:
            raise InputError(
                f"omega = {self.omega:g} is too small for features that range over "
                f"{cubes:.1e} cubes: standardise the features, or give a larger omega"
            )

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """The utility of each row of `coalitions`."""
        masks = check_coalitions(coalitions, self.n_players)
        values = np.zeros(len(masks))
        inhabited = np.flatnonzero(masks.any(axis=1))
        step = max(1, self._chunk // self._rows.size)
        for start in range(0, len(inhabited), step):
            part = inhabited[start : start + step]
            values[part] = self._volumes(masks[part])
        return values

    def _volumes(self, masks: BoolArray) -> FloatArray:
        """The volumes of coalitions that have members."""
        coalition, row = np.nonzero(masks[:, self._owners])
        rows = self._rows[row]
        starts = np.searchsorted(coalition, np.arange(len(masks)))
        if self.omega is None:
            log_determinants = _log_determinants(rows / self._scale, starts)
            factor = np.zeros(len(masks))
        else:
            lows = np.where(masks[:, :, None], self._lows, math.inf).min(axis=1)
            cubes = np.floor((rows - lows[coalition]) / self.omega).astype(np.int64)
            order, first = _groups(coalition, cubes)
            counts = np.diff(first, append=len(order))
            means = np.add.reduceat(rows[order], first, axis=0) / counts[:, None]
            starts = np.searchsorted(coalition[order[first]], np.arange(len(masks)))
            log_determinants = _log_determinants(means / self._scale, starts)
            factor = _log_rho(counts, starts)
        log_determinants += 2 * np.log(self._scale).sum()
        return np.exp(np.logaddexp(log_determinants, math.log(_FLOOR)) / 2 + factor)


def _groups(coalition: NDArray[np.intp], cubes: IntArray) -> tuple[IntArray, IntArray]:
    """An order that puts the rows of each coalition's cube together, and where each cube starts.

    Coalitions come in order, and rows keep theirs within a cube, so that sums have the same bits
    in any batch.
    """
    key: IntArray = coalition.astype(np.int64)
    for column in cubes.T:
        width = int(column.max()) + 1
        if (int(key.max()) + 1) * width >= 1 << 62:
            # Ranks instead of numbers: fewer than there are rows.
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            column = np.unique(column, return_inverse=True)[1]
            width = int(column.max()) + 1
        key = key * width + column
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return order.astype(np.int64), first.astype(np.int64)


def _log_rho(counts: IntArray, starts: NDArray[np.intp]) -> FloatArray:
    """The log of Π over cubes of 1 + α + … + α^count, for each coalition.

    With the default α = 1/(10c) of c cubes it is below −c·log(1 − α) ≤ c·α/(1 − α) ≤ 1/9.
    """
    n_cubes = np.diff(starts, append=len(counts))
    each = np.repeat(1 / (10.0 * n_cubes), n_cubes)
    logs = np.log1p(-(each ** (counts + 1))) - np.log1p(-each)
    return np.add.reduceat(logs, starts)


def _log_determinants(rows: FloatArray, starts: NDArray[np.intp]) -> FloatArray:
    """The log of det(ZᵀZ) for each matrix Z in a stack of matrices that begin at `starts`.

    Modified Gram–Schmidt, column by column over all matrices at once: the lengths that remain are
    the diagonal of R in Z = QR. XᵀX is never formed, which would lose half of the digits. −inf
    where columns depend on each other, as they do with fewer rows than columns.
    """
    columns = np.array(rows.T, order="C")
    lengths = np.diff(starts, append=len(rows))
    dependent = lengths < len(columns)
    total = np.zeros(len(starts))
    for column in columns:
        norms = np.sqrt(np.add.reduceat(column * column, starts))
        dependent |= norms == 0
        norms[norms == 0] = 1.0
        total += np.log(norms)
        column /= np.repeat(norms, lengths)
    # Columns have length 1 now; what rounding leaves of one that depends on those before it.
    tolerance = np.finfo(np.float64).eps * np.maximum(lengths, len(columns))
    for index, column in enumerate(columns):
        norms = np.sqrt(np.add.reduceat(column * column, starts))
        dependent |= norms <= tolerance
        norms[dependent] = 1.0
        total += np.log(norms)
        column /= np.repeat(norms, lengths)
        for other in columns[index + 1 :]:
            other -= np.repeat(np.add.reduceat(column * other, starts), lengths) * column
    total[dependent] = -math.inf
    return 2 * total


def _triangle(rows: FloatArray) -> FloatArray:
    """A matrix of at most d rows with the same XᵀX."""
    triangle: FloatArray = np.linalg.qr(rows).R
    return triangle if len(triangle) < len(rows) else rows
