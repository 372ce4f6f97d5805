"""Many games on the same coalitions: one draw, one process, and matrices in place of loops.

The rows of a dataset, explained by one model, are games of the same players. All are asked for
the same coalitions. What depends on the coalitions alone is then computed once for all games: the
covariance of a Gaussian process, its inverse, the values of its kernel functions. The parameters of
the process are learnt from all games together.

The values are unbiased, as with the regression-adjusted estimator. With u(S) = (v(S) −
v(N ∖ S))/2, a unit S_t drawn with probability p_t contributes

    y_t = φ(g₋ₜ) + x_t·(u(S_t) − g₋ₜ(S_t))/p_t,

g₋ₜ the process that saw all units but this one, x_t the weights of S_t in the values. Leaving out
one unit moves the process by a column of the inverse covariance times the residual e_t, so that
y_t = φ(g) + c_t·e_t with one c_t for all games: means and variances are two products of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.threads import one_thread
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.draws import random_ranks, random_sizes
from fairshapley.estimators.adjusted.process import (
    PRIOR_MEANS,
    REST,
    STARTS,
    Observations,
    Prior,
    Process,
    search,
    start_at,
)
from fairshapley.estimators.adjusted.size_plan import SizeWeights, borders
from fairshapley.estimators.moments import ROUNDING
from fairshapley.semivalues import Shapley

# The process learns from this many units, whose covariance is inverted: 0.5 s on a core. Later
# ones are judged by it.
MAX_TRAINED = 2048
# Its parameters are searched on this many units and games: more of either hardly move them.
SEARCH_UNITS, SEARCH_GAMES, PASSES = 192, 32, 40
# Above this many players a smooth part explains next to nothing (2 % of the variance at n = 100).
MAX_SMOOTH = 64
# Single players come first where they take no more than a third of the units.
SINGLES_SHARE = 3
# The share of the units' influence on each other that squared deviations miss, and the most that
# it may add (see `Adjustment`).
MISSED, MAX_DEPENDENCE = 0.25, 2.0
# The logarithm of the least variance of ε: with less, rounding in the inverse of the covariance is
# larger than the errors of a game that is nearly additive. And what rounding is left, as a share.
MIN_REST, ROUNDED = -12.0, 1e-8
# Coalitions that were met before cost nothing: so often are they replaced by others.
REDRAWS = 3
# With few games the process must not have too many parameters: one game of 34 units for 14 players
# had errors twice as large as stated.
FEW_GAMES = 8
FEW_PRIOR, MANY_PRIOR = Prior(0.5), Prior(1.5, slopes=True)


@dataclass(frozen=True, eq=False)
class ManyEstimates:
    """Values and variances, (games, players), and the draws behind each."""

    values: FloatArray
    variances: FloatArray
    count: int


@dataclass(eq=False)
class _Fit:
    """A process fitted to the units, and what it says of all games; arrays are (players, games)."""

    process: Process
    values: FloatArray
    """The values by the enumerated sizes, and by the process for the other sizes"""
    sums: FloatArray
    squares: FloatArray
    """Sums of c_t·e_t and of its square over the draws"""
    factors: FloatArray
    """What the variance of each game is multiplied by"""
    count: int
    """Draws of sizes that are not enumerated"""


class ManyGames:
    """Estimates the Shapley values of many games from the same coalitions.

    Parameters
    ----------
    n_players
        The players, at least 4.
    spans
        v(N) − v(∅) of each game.
    rng
        Where draws come from.

    Examples
    --------
    >>> worth = np.random.default_rng(1).normal(size=(12, 3))
    >>> games = ManyGames(12, worth.sum(axis=0), np.random.default_rng(0))
    >>> masks = games.ask(60)
    >>> games.tell(masks @ worth, ~masks @ worth)
    >>> bool(np.allclose(games.estimate().values, worth.T, atol=1e-6))
    True
    """

    def __init__(self, n_players: int, spans: FloatArray, rng: np.random.Generator) -> None:
        self.n_players, self._spans, self._rng = n_players, spans, rng
        self._weights = SizeWeights.of(Shapley(), n_players)
        self._prior = replace(
            FEW_PRIOR if len(spans) < FEW_GAMES else MANY_PRIOR, smooth=n_players <= MAX_SMOOTH
        )
        self._interior = np.ones(n_players - 1, dtype=bool)
        self._masks: BoolArray = np.zeros((0, n_players), dtype=bool)
        self._gains: FloatArray = np.zeros((0, len(spans)))
        self._places: dict[bytes, int] = {}
        self._draws: IntArray = np.zeros(0, dtype=np.int64)
        """The place among the units of each draw"""
        self._asked, self._next = self._masks, (self._interior, self._draws)
        """What is to be told: units, then the sizes that are sampled and all draws"""
        self._worth: FloatArray | None = None
        self._fit: _Fit | None = None
        self._at: FloatArray | None = None
        self._later = 0
        """Draws after the process was settled"""

    def __len__(self) -> int:
        """Return the number of units told."""
        return len(self._masks) + self._later

    @property
    def _full(self) -> bool:
        return len(self._masks) >= MAX_TRAINED

    def ask(self, units: int, most: float = np.inf) -> BoolArray:
        """Return coalitions to be told with their complements, so that `units` are told in all.

        `most` is what the run may have at its end: too few are not spent on single players.
        """
        if self._full:
            self._asked = self._draw(units - len(self), self._interior)
            return self._asked
        units = min(units, MAX_TRAINED)
        if len(self) == 0 and SINGLES_SHARE * self.n_players <= most:
            units = max(units, min(self.n_players, MAX_TRAINED))
        new: list[BoolArray] = []
        interior, draws = self._interior.copy(), [self._draws]
        for border in borders(self._weights):
            first = border.size == 1 and len(self) == 0 and SINGLES_SHARE * border.units <= most
            if not interior[border.size - 1] or not (first or border.due <= units):
                continue
            if border.units <= units - len(self._places):
                interior[[border.size - 1, self.n_players - border.size - 1]] = False
                self._place(bits.unrank(np.arange(border.units), self.n_players, border.size), new)
        for _ in range(REDRAWS):
            missing = units - len(self._places) if interior.any() else 0
            draws.append(self._place(self._draw(missing, interior), new))
        self._asked = np.concatenate(new) if new else self._masks[:0]
        self._next = interior, np.concatenate(draws)
        return self._asked

    def _draw(self, count: int, interior: BoolArray) -> BoolArray:
        sizes = 1 + random_sizes(self._rng, max(count, 0), self._probabilities(interior))
        masks: BoolArray = random_ranks(self._rng, len(sizes), self.n_players) < sizes[:, None]
        return masks ^ ~masks[:, :1]  # of a pair, the coalition with player 0

    def _probabilities(self, interior: BoolArray) -> FloatArray:
        """Return the probabilities of the sizes 1 … n − 1, of which some are sampled."""
        plan = np.where(interior, self._weights.base, 0.0)
        return plan / max(float(plan.sum()), 1e-300)

    def _place(self, masks: BoolArray, new: list[BoolArray]) -> IntArray:
        """Return the places of units; add units that were not met before to `new`."""
        masks = masks ^ ~masks[:, :1]
        before = len(self._places)
        keys = bits.keys(masks)
        found = [self._places.setdefault(key, len(self._places)) for key in keys]
        places = np.array(found, dtype=np.int64)
        fresh = np.zeros(len(self._places) - before, dtype=np.int64)
        fresh[places[places >= before] - before] = np.flatnonzero(places >= before)
        new.append(masks[fresh])
        return places

    def tell(self, values: FloatArray, others: FloatArray) -> None:
        """Fold in the utilities of what was asked for and of the complements, (units, games)."""
        gains = 0.5 * (values - others)
        if not self._full:
            self._interior, self._draws = self._next
            if len(self) == 0 and not self._interior[0]:
                self._worth = self._additive(gains)
            self._masks = np.concatenate([self._masks, self._asked])
            self._gains = np.concatenate([self._gains, gains - self._part(self._asked)])
            self._fit = None
            return
        fit = self._settled()
        rest = gains - self._part(self._asked) - fit.process.predict(self._asked.astype(np.float64))
        factors = self._factors(self._asked)
        fit.sums += factors.T @ rest
        fit.squares += np.square(factors).T @ np.square(rest)
        self._later += len(gains)

    def _additive(self, gains: FloatArray) -> FloatArray:
        """Return the additive game with the gains of single players, which come first.

        Its shape is (players, games). It is taken off beforehand: an additive game then has no
        residuals at all, not only small ones.
        """
        alone = np.empty((self.n_players, gains.shape[1]))
        alone[0] = gains[0]
        # Behind the first, the coalition with player 0 is that of all others.
        alone[1:] = -gains[1 : self.n_players]
        alone += (self._spans - alone.sum(axis=0)) / self.n_players
        return alone

    @property
    def _largest(self) -> FloatArray | float:
        return 0.0 if self._worth is None else np.abs(self._worth).max(axis=0)

    def _part(self, masks: BoolArray) -> FloatArray:
        """Return what the additive game adds to the gains."""
        if self._worth is None:
            return np.zeros((len(masks), len(self._spans)))
        return (masks - 0.5) @ self._worth

    def keep(self, games: BoolArray) -> None:
        """Keep some of the games."""
        self._spans, self._gains = self._spans[games], self._gains[:, games]
        self._worth = None if self._worth is None else self._worth[:, games]
        if self._fit is not None:
            fit = self._fit
            fit.process.coefficients = fit.process.coefficients[:, games]
            fit.values, fit.sums, fit.squares = (
                part[:, games] for part in (fit.values, fit.sums, fit.squares)
            )
            fit.factors = fit.factors[games]

    @one_thread()
    def estimate(self) -> ManyEstimates:
        """Return the values, and variances that are NaN below two draws."""
        fit = self._settled()
        count = fit.count + self._later
        means = fit.sums / max(count, 1)
        shared = self._spans / self.n_players
        values = fit.values + means + (shared if self._worth is None else self._worth)
        squares = np.maximum(fit.squares - count * np.square(means), 0.0) * fit.factors
        if not self._interior.any():
            return ManyEstimates(values.T, np.zeros_like(values.T), count)
        if count < 2:
            return ManyEstimates(values.T, np.full_like(values.T, np.nan), count)
        # Residuals that vanish do not prove that all others would: see `floor_variances`.
        scale = np.square(values).mean(axis=0)
        least = np.where(squares / count <= ROUNDING**2 * scale, scale / (count * (count + 1.0)), 0)
        variances = squares / (count * (count - 1.0)) + ROUNDED**2 * scale
        variances = np.maximum(variances, least)
        return ManyEstimates(values.T, variances.T, count)

    def _factors(self, masks: BoolArray) -> FloatArray:
        """Return x_t/p_t of each coalition and player; 0 at sizes that are not sampled."""
        sizes = masks.sum(axis=1)
        chances = np.where(self._interior, self._probabilities(self._interior), np.inf)[
            sizes - 1, None
        ]
        return self._alone(masks, sizes) / chances

    def _alone(self, masks: BoolArray, sizes: IntArray) -> FloatArray:
        inside, outside = self._weights.inside[sizes - 1], self._weights.outside[sizes - 1]
        return np.where(masks, inside[:, None], -outside[:, None])

    def _settled(self) -> _Fit:
        if self._fit is None:
            units = np.sqrt(np.square(self._gains).mean(axis=0))
            seen = Observations(self._masks.astype(np.float64), self._gains)
            # An additive game leaves nothing but rounding.
            varied = units > ROUNDING * self._largest
            at = self._at
            if at is None or len(self._masks) <= 2 * SEARCH_UNITS:
                self._at = at = self._search(self._gains[:, varied] / units[varied])
            with np.errstate(all="ignore"):
                self._fit = self._judged(Process(seen, self._prior, at))
        return self._fit

    def _search(self, gains: FloatArray) -> FloatArray:
        """Return the parameters, from some of the units and of the games."""
        n_players, drawn = self.n_players, np.zeros(len(self._masks), dtype=bool)
        drawn[self._draws] = True
        border = np.flatnonzero(~drawn)[: SEARCH_UNITS // 3]
        rows = np.concatenate([border, np.flatnonzero(drawn)[: SEARCH_UNITS - len(border)]])
        some = gains[rows][:, :: max(1, gains.shape[1] // SEARCH_GAMES)][:, :SEARCH_GAMES]
        starts = [start_at(rate) for rate in STARTS] if self._at is None else [self._at]
        if not some.any():
            return np.concatenate([starts[0], np.zeros(n_players)])[: len(PRIOR_MEANS) + n_players]
        with np.errstate(all="ignore"):
            seen = Observations(self._masks[rows].astype(np.float64), some)
            at = search(seen, self._prior, starts, PASSES)
        at[REST] = max(at[REST], MIN_REST)
        return at

    def _judged(self, process: Process) -> _Fit:
        """Return a fit, from the residuals of units left out in turn."""
        seen, inverse = process.seen, process.inverse
        sizes, masks, n_units = seen.sizes, self._masks, len(self._masks)
        times: FloatArray = np.bincount(self._draws, minlength=n_units).astype(np.float64)
        times *= self._interior[sizes - 1]
        alone = self._alone(masks, sizes)
        # What enumerated sizes add: means over their units, each for its size and the complement's.
        at_size = np.bincount(np.minimum(sizes, self.n_players - sizes))
        small = np.minimum(sizes, self.n_players - sizes)
        known = alone * np.where(2 * small == self.n_players, 1.0, 2.0)[:, None]
        known *= (~self._interior[sizes - 1] / at_size[small])[:, None]
        rest = process.part.rest(seen.single)
        kernel = process.part.matrix.copy()
        kernel[np.diag_indices(n_units)] -= rest
        model = process.cross()
        model -= model.mean(axis=1, keepdims=True)
        model -= kernel @ known  # values of the process at the sizes that are sampled
        shifts = inverse @ model
        # A unit drawn several times is left out once: its noise is then that of one draw less.
        own = rest * np.diagonal(inverse)
        scales = rest * np.maximum(times, 1) / (times * np.maximum(times - 1, 0) + own)
        residuals = scales[:, None] * process.coefficients
        drawn = self._factors(masks)
        factors = drawn - shifts / np.maximum(times, 1)[:, None]
        count = int(times.sum())
        sums = (times[:, None] * factors).T @ residuals
        squared, used = np.square(residuals), times[:, None] > 0
        squares = (times[:, None] * np.square(factors)).T @ squared
        # Units train each other's process: the sum of squares misses a part of that.
        influences = count * shifts + inverse @ (times[:, None] * factors * scales[:, None])
        both = np.where(used, factors + influences - drawn, 0.0)
        missed = (
            np.square(both).T @ squared
            - np.square(both.T @ residuals) / max(count, 1)
            - squares
            + np.square(sums) / max(count, 1)
        ).sum(axis=0)
        centred = (squares - np.square(sums) / max(count, 1)).sum(axis=0)
        dependence = MISSED * missed / np.maximum(centred, 1e-300)
        values = known.T @ seen.gains + model.T @ process.coefficients
        factor = np.clip(1.0 + dependence, 1.0, MAX_DEPENDENCE)
        return _Fit(process, values, sums, squares, factor, count)
