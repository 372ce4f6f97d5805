"""P2: datasets valued by the volume they span (Xu et al. 2021), without labels or a test set."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray
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
        self._check_size()

    def __fingerprint_state__(self) -> object:
        return self.datasets, self.omega, None  # where α once was, as journals have it

    def _check_size(self) -> None:
        """Raise InputError where a volume could overflow, or cubes could not be told apart."""
        pooled = np.concatenate(self.datasets)
        largest = np.abs(pooled).max(axis=0)
        pooled, largest = pooled[:, largest > 0], largest[largest > 0]
        # Hadamard: no determinant exceeds the product of the columns' squared lengths.
        lengths = np.linalg.norm(pooled / largest, axis=0)
        most = float(np.log(lengths).sum() + np.log(largest).sum())
        if most > _LARGEST_LOG:
            raise InputError(
                f"volumes could reach exp({most:.0f}), more than a float holds: divide all "
                "features (and omega) by one constant c, which divides every volume by "
                f"c**{self.datasets[0].shape[1]}"
            )
        with np.errstate(over="ignore"):
            cubes = (
                0.0 if self.omega is None else np.ptp(pooled / self.omega, axis=0).max(initial=0)
            )
        if not cubes < _MAX_CUBES:
            raise InputError(
                f"omega = {self.omega:g} is too small for features that range over "
                f"{cubes:.1e} cubes: standardise the features, or give a larger omega"
            )

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row of `coalitions`."""
        masks = check_coalitions(coalitions, self.n_players)
        return np.array([self._volume(mask) if mask.any() else 0.0 for mask in masks], dtype=float)

    def _volume(self, mask: BoolArray) -> float:
        """Return the volume of a coalition that has members."""
        parts = [rows for rows, inside in zip(self.datasets, mask, strict=True) if inside]
        rows, factor = np.concatenate(parts), 0.0
        if self.omega is not None:
            cubes = np.floor((rows - rows.min(axis=0)) / self.omega)
            order = np.lexsort(cubes.T)
            new = (np.diff(cubes[order], axis=0) != 0).any(axis=1)
            first = np.flatnonzero(np.concatenate([[True], new]))
            counts = np.diff(first, append=len(order))
            rows = np.add.reduceat(rows[order], first, axis=0) / counts[:, None]
            alpha = 1 / (10.0 * len(counts))
            factor = float((np.log1p(-(alpha ** (counts + 1))) - math.log1p(-alpha)).sum())
        return math.exp(np.logaddexp(_log_determinant(rows), math.log(_FLOOR)) / 2 + factor)


def _log_determinant(rows: FloatArray) -> float:
    """Return the log of det(ZᵀZ) of a matrix Z, from the factor R of Z = QR.

    ZᵀZ is never formed, which would lose half of the digits. −inf where columns depend on each
    other, as they do with fewer rows than columns.
    """
    largest = np.abs(rows).max(axis=0)
    if len(rows) < rows.shape[1] or not largest.all():
        return -math.inf
    lengths = np.linalg.norm(rows / largest, axis=0)
    diagonal = np.abs(np.diag(np.linalg.qr(rows / largest / lengths, mode="r")))
    # What rounding leaves of a column that depends on those before it.
    if diagonal.min() <= np.finfo(np.float64).eps * max(rows.shape):
        return -math.inf
    return 2 * float(np.log(largest).sum() + np.log(lengths).sum() + np.log(diagonal).sum())
