"""The rules by which benchmarks decide; nothing here knows a method or a game.

An error is the mean squared error of one run over its players, divided by the mean φ². Families and
methods are compared by geometric means, so that each game and each run counts alike, and two
methods by the same games and the same seeds: of the differences of their logarithms, the means and
what varies between the seeds of a game. Games are the games; only seeds are luck.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

Floats = NDArray[np.float64]
LEVEL = 0.05
RESAMPLES = 2000
# An exact run has no logarithm. Values that are right to six digits are as good as exact: without
# a limit a few games that are solved to the last bit would decide every geometric mean.
SMALLEST = 1e-12


@dataclass(frozen=True)
class Mean:
    """A mean over games, and what seeds make it vary by."""

    mean: float
    error: float
    degrees: float

    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval."""
        reach = float(student.ppf(1 - LEVEL / 2, self.degrees)) * self.error if self.error else 0.0
        return self.mean - reach, self.mean + reach

    @property
    def p_value(self) -> float:
        """The two-sided p-value of no difference."""
        if self.error == 0:
            return float(self.mean == 0)
        return float(2 * student.sf(abs(self.mean) / self.error, self.degrees))


def mean_over_games(games: Sequence[Floats]) -> Mean:
    """Return the mean of the games' means over seeds; its error from the spread within games.

    Each item holds one number for each seed. Games with a single seed add nothing to what is known
    of the spread; with one seed everywhere there is no error to give, and p is 1.

    Examples
    --------
    >>> found = mean_over_games([np.array([1.0, 3.0]), np.array([5.0, 7.0])])
    >>> found.mean, found.error, found.degrees
    (4.0, 0.7071067811865476, 2)
    """
    mean = float(np.mean([one.mean() for one in games]))
    degrees = sum(len(one) - 1 for one in games)
    if degrees == 0:
        return Mean(mean, np.inf, 1)
    spread = sum(float(np.square(one - one.mean()).sum()) for one in games) / degrees
    error = float(np.sqrt(sum(spread / len(one) for one in games))) / len(games)
    return Mean(mean, error, degrees)


def mean_of_means(parts: Sequence[Mean]) -> Mean:
    """Return the mean over families of what `mean_over_games` says of each."""
    known = [one for one in parts if np.isfinite(one.error)]
    if len(known) < len(parts):
        return Mean(float(np.mean([one.mean for one in parts])), np.inf, 1)
    variances = np.square([one.error for one in known])
    error = float(np.sqrt(variances.sum())) / len(known)
    # Satterthwaite.
    weights = float(sum(v**2 / one.degrees for v, one in zip(variances, known, strict=True)))
    degrees = float(variances.sum() ** 2 / weights) if weights else 1.0
    return Mean(float(np.mean([one.mean for one in known])), error, degrees)


def log_ratios(own: Mapping[str, Floats], other: Mapping[str, Floats]) -> list[Floats]:
    """Logarithms of `own` over `other`, game by game and seed by seed, of what both have.

    The values are errors of runs by seed, NaN where there is none.
    """
    found = []
    for game in own.keys() & other.keys():
        length = min(len(own[game]), len(other[game]))
        pair = np.stack([own[game][:length], other[game][:length]])
        pair = pair[:, np.isfinite(pair).all(axis=0)]
        if pair.size:
            logs = np.log(np.maximum(pair, SMALLEST))
            found.append(logs[0] - logs[1])
    return found


def holm(p_values: Sequence[float]) -> Floats:
    """Return the p-values, corrected for their number by Holm's rule.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def fidelities(mse: Floats, truth: Floats, xi: float) -> Floats:
    """(|φ_i| + ξ)²/MSE_i, as `fairshapley.audit` has it."""
    return np.square(np.abs(truth) + xi) / np.maximum(mse, np.finfo(float).tiny)


def bootstrap_weights(repeats: int) -> Floats:
    """Weights of the repeats in bootstrap samples; the same for all of one length, so in pairs."""
    draw = np.random.default_rng(0).multinomial
    return draw(repeats, np.full(repeats, 1 / repeats), size=RESAMPLES) / repeats


def _minima(squares: Floats, truth: Floats, xi: float) -> Floats:
    weights = bootstrap_weights(len(squares))
    minima: Floats = fidelities(weights @ squares, truth, xi).min(axis=1)
    return minima


def audited(squares: Floats, truth: Floats, xi: float) -> Mean:
    """Return the logarithm of the minimum fidelity, (repeats, n_players) squared errors given.

    Its error is the spread of bootstrap samples. Their minima lie lower than that of the runs,
    as it lies lower than the true one: the smallest of noisy numbers does.
    """
    minimum = fidelities(squares.mean(axis=0), truth, xi).min()
    spread = np.log(_minima(squares, truth, xi)).std(ddof=1)
    return Mean(float(np.log(minimum)), float(spread), np.inf)


def compare_audited(own: Floats, other: Floats, truth: Floats, xi: float) -> Mean:
    """Return the logarithm of `own`'s minimum fidelity over `other`'s, seeds in pairs."""
    spread = np.log(_minima(own, truth, xi) / _minima(other, truth, xi))
    minima = [fidelities(one.mean(axis=0), truth, xi).min() for one in (own, other)]
    return Mean(float(np.log(minima[0] / minima[1])), float(spread.std(ddof=1)), np.inf)
