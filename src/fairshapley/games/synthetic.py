"""Synthetic games whose Shapley values are known in closed form, for any number of players.

Every game evaluates a batch row by row: the utility of a coalition has the same bits whatever
the rows beside it, so an engine may cut a batch where it likes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import InputError
from fairshapley.games.game import check_coalitions, check_n_players, real_numbers
from fairshapley.randomness import root_seed, side_generator

# Entries of a temporary array: 2**20 doubles are 8 MiB, about what a core keeps in its cache.
_CHUNK = 1 << 20


class SumOfUnanimity:
    """A weighted sum of unanimity games: v(S) = Σ_T w_T·[T ⊆ S].

    Its Shapley values are φ_i = Σ_{T ∋ i} w_T / |T|.

    Parameters
    ----------
    n_players
        The number of players.
    coalitions, weights
        The coalitions T as sequences of player indices, and one weight w_T for each. Without
        them both are drawn: sizes and members uniformly, weights uniform on [0, 1).
    n_terms
        How many coalitions to draw; twice the number of players unless given.
    sizes
        The smallest and the largest coalition to draw; cut off at the number of players.
    seed
        The seed of the draw, None for a fresh one; not used when the coalitions are given.

    Examples
    --------
    >>> game = SumOfUnanimity(3, coalitions=[(0,), (0, 1)], weights=[1.0, 4.0])
    >>> game(np.array([[True, False, True], [True, True, False]]))
    array([1., 5.])
    >>> game.shapley_values
    array([3., 2., 0.])
    >>> SumOfUnanimity(50, n_terms=80, seed=7).shapley_values.shape
    (50,)
    """

    def __init__(
        self,
        n_players: int,
        *,
        coalitions: Sequence[Sequence[int]] | None = None,
        weights: ArrayLike | None = None,
        n_terms: int | None = None,
        sizes: tuple[int, int] = (1, 7),
        seed: int | None = 0,
    ) -> None:
        self.n_players = check_n_players(n_players)
        if coalitions is None:
            if weights is not None:
                raise InputError("weights without coalitions: give the coalitions they belong to")
            terms = 2 * self.n_players if n_terms is None else n_terms
            coalitions, weights = _draw_terms(self.n_players, terms, sizes, seed)
        elif weights is None or n_terms is not None:
            raise InputError("coalitions need their weights, and no n_terms, which is for drawing")
        self.coalitions = tuple(_check_coalition(term, self.n_players) for term in coalitions)
        self.weights = _finite_vector(weights, "weights")
        if len(self.coalitions) != len(self.weights):
            raise InputError(
                f"{len(self.coalitions)} coalitions have {len(self.weights)} weights: "
                "give one weight per coalition"
            )
        # All members one after the other, and where each coalition starts among them.
        term_sizes = np.array([len(term) for term in self.coalitions])
        self._members = np.fromiter(itertools.chain.from_iterable(self.coalitions), dtype=np.int64)
        self._starts = np.cumsum(term_sizes) - term_sizes
        # With weights of both signs the extremes are a hard problem of their own.
        one_sign = (self.weights >= 0).all() or (self.weights <= 0).all()
        self.value_range = _signed_sums(self.weights) if one_sign else None

    @property
    def shapley_values(self) -> FloatArray:
        """The Shapley values, in closed form."""
        sizes = np.diff(self._starts, append=len(self._members))
        shares = np.repeat(self.weights / sizes, sizes)
        values = np.bincount(self._members, weights=shares, minlength=self.n_players)
        return values.astype(np.float64)

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row of `coalitions`."""
        rows = check_coalitions(coalitions, self.n_players)
        values = np.empty(len(rows))
        for part in _row_chunks(len(rows), len(self._members)):
            contained = np.logical_and.reduceat(rows[part][:, self._members], self._starts, axis=1)
            values[part] = _masked_sum(contained, self.weights)
        return values


class Additive:
    """An additive game, v(S) = Σ_{i∈S} w_i: each player's Shapley value is its weight.

    Examples
    --------
    >>> game = Additive([1.0, 2.0, -0.5])
    >>> game(np.array([[True, False, True]]))
    array([0.5])
    >>> game.shapley_values
    array([ 1. ,  2. , -0.5])
    """

    def __init__(self, weights: ArrayLike) -> None:
        self.weights = _finite_vector(weights, "weights")
        self.n_players = len(self.weights)
        self.value_range = _signed_sums(self.weights)

    @property
    def shapley_values(self) -> FloatArray:
        """The Shapley values, in closed form."""
        return self.weights.copy()

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row of `coalitions`."""
        rows = check_coalitions(coalitions, self.n_players)
        values = np.empty(len(rows))
        for part in _row_chunks(len(rows), self.n_players):
            values[part] = _masked_sum(rows[part], self.weights)
        return values


class Airport:
    """The airport game: a runway costs what its most demanding user needs, v(S) = max_{i∈S} c_i.

    Each segment of the runway is paid equally by all who need it (Littlechild & Owen, 1973).

    Examples
    --------
    >>> game = Airport([1.0, 2.0, 4.0])
    >>> game(np.array([[True, True, False]]))
    array([2.])
    >>> np.round(game.shapley_values, 4)
    array([0.3333, 0.8333, 2.8333])
    """

    def __init__(self, costs: ArrayLike) -> None:
        self.costs = _finite_vector(costs, "costs")
        if (self.costs < 0).any():
            raise InputError("costs must be at least 0: the closed form needs v(∅) = 0 the lowest")
        self.n_players = len(self.costs)
        self.value_range = (0.0, float(self.costs.max()))

    @property
    def shapley_values(self) -> FloatArray:
        """The Shapley values, in closed form."""
        order = np.argsort(self.costs, kind="stable")
        segments = np.diff(self.costs[order], prepend=0.0)
        values = np.empty(self.n_players)
        values[order] = np.cumsum(segments / np.arange(self.n_players, 0, -1))
        return values

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row of `coalitions`."""
        rows = check_coalitions(coalitions, self.n_players)
        costs = np.broadcast_to(self.costs, rows.shape)
        return np.max(costs, axis=1, where=rows, initial=0.0)


def _draw_terms(
    n_players: int, n_terms: int, sizes: tuple[int, int], seed: int | None
) -> tuple[list[list[int]], FloatArray]:
    """Draw coalitions and weights for a sum of unanimity games."""
    smallest, largest = sizes
    if not 1 <= smallest <= largest or smallest > n_players:
        raise InputError(
            f"sizes is {sizes}: give (smallest, largest), from 1 up to the {n_players} players"
        )
    rng = side_generator(root_seed(seed), "SumOfUnanimity")
    drawn = rng.integers(
        smallest, min(largest, n_players) + 1, size=checks.whole("n_terms", n_terms)
    )
    coalitions = [
        rng.choice(n_players, size=size, replace=False, shuffle=False).tolist() for size in drawn
    ]
    return coalitions, rng.random(n_terms)


def _row_chunks(n_rows: int, width: int) -> Iterator[slice]:
    """Return slices of rows that hold about `_CHUNK` entries each."""
    step = max(1, _CHUNK // width)
    return (slice(start, start + step) for start in range(0, n_rows, step))


def _masked_sum(mask: BoolArray, weights: FloatArray) -> FloatArray:
    """Return the sum of the weights that each row of `mask` selects.

    A product with BLAS would be faster, but its last bits depend on the number of rows.
    """
    return np.where(mask, weights, 0.0).sum(axis=1)


def _signed_sums(weights: FloatArray) -> tuple[float, float]:
    """Return the sum of the negative and the sum of the positive weights.

    Summed as utilities are: rounding is monotone, so that no utility is outside by a last bit.
    """
    lowest, highest = _masked_sum(np.stack([weights < 0, weights > 0]), weights).tolist()
    return lowest, highest


def _finite_vector(values: ArrayLike | None, what: str) -> FloatArray:
    """Return a read-only copy as a vector of finite floats; raise InputError otherwise."""
    vector = real_numbers(values, what)
    if vector.ndim != 1 or vector.size == 0 or not np.isfinite(vector).all():
        raise InputError(f"{what} must be a vector of finite numbers with at least one entry")
    vector.flags.writeable = False
    return vector


def _check_coalition(term: Sequence[int], n_players: int) -> tuple[int, ...]:
    """Return the members of one coalition in increasing order; raise InputError otherwise."""
    players: tuple[int, ...] = tuple(checks.players(term, n_players).tolist())
    if not players or len(players) < len(term):
        raise InputError(f"coalition {term!r} must have members, each of them once")
    return players
