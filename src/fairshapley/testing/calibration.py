"""Whether errors are as large as a method says, over their whole distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtr

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray
from fairshapley.errors import ContractError, InputError
from fairshapley.estimators.estimator import Estimator
from fairshapley.fairness.levels import check_delta
from fairshapley.games.game import Game
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate, exact
from fairshapley.testing.laws import BUDGET, law_games

# Shares of the distribution at which it is compared: 5 %, 10 %, … 95 %.
SHARES = np.arange(1, 20) / 20
# Errors of means of finitely many contributions are not quite Student's t: a share may be off by
# this much. Errors that are 0.8 times what they should be are off by 0.1.
SLACK = 0.03


def check_calibration(
    estimator: Estimator[Any, Any],
    game: Game | None = None,
    *,
    repeats: int = 200,
    budget: int = BUDGET,
    false_alarm: float = 1e-3,
) -> None:
    """Check that (φ̂ − φ)/se is distributed as Student's t says, at every level.

    Its rank in that distribution must be uniform, and so must that of its size. The shares of
    players below each of 19 levels are averaged over runs, whose spread allows for the dependence
    of players, and may differ from the level by 0.03 and by chance.

    Parameters
    ----------
    estimator
        The configuration to check.
    game
        A game of few players, whose exact values are computed; by default a sum of unanimity games.
        Contributions that are few and very skewed, as in an airport game, are refused: means of
        them are not distributed as stated.
    repeats, budget
        Runs, and evaluations of each.
    false_alarm
        The probability, for all levels together, of refusing errors that are right.

    Examples
    --------
    >>> import fairshapley as fs
    >>> check_calibration(fs.MonteCarlo(), repeats=40)
    """
    alarm = check_delta(false_alarm)
    count = checks.whole("repeats", repeats)
    if count < 20:
        raise InputError(f"ranks of {count} runs say too little: give repeats of at least 20")
    played = law_games()["unanimity"] if game is None else game
    runs = [
        estimate(played, estimator, budget=budget, seed=seed, progress=False)
        for seed in range(count)
    ]
    ranks = error_ranks(runs, exact(played).values)
    for kind, shown in (("ranks", ranks), ("sizes", np.abs(2.0 * ranks - 1.0))):
        _require_uniform(shown, kind, alarm / (2 * len(SHARES)))


def error_ranks(runs: Sequence[Result], truth: FloatArray) -> FloatArray:
    """The rank of every error in the distribution stated for it, (runs, players); NaN if proven.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.SumOfUnanimity(12, seed=1)
    >>> runs = [fs.estimate(game, "mc", budget=200, seed=seed) for seed in range(3)]
    >>> error_ranks(runs, fs.exact(game).values).shape
    (3, 12)
    """
    values, errors = (np.array([getattr(run, name) for run in runs]) for name in _STATED)
    degrees = np.maximum(np.array([run.counts for run in runs]) - 1, 1)
    # A null player that got exactly 0 has no rank, nor has an error below rounding.
    rounding = 1e-9 * np.abs(truth).max()
    known = (errors > rounding) & (np.abs(values - truth) > rounding)
    scaled = np.where(known, values - truth, np.nan) / np.where(known, errors, 1.0)
    return stdtr(degrees, scaled)


_STATED = ("values", "standard_errors")


def _require_uniform(ranks: FloatArray, kind: str, alarm: float) -> None:
    """Raise ContractError when the shares of ranks differ from a uniform distribution."""
    used = ~np.isnan(ranks).all(axis=1)
    if used.sum() < 20:
        return
    below = np.where(np.isnan(ranks[used])[:, :, None], np.nan, ranks[used][:, :, None] <= SHARES)
    each = np.nanmean(below, axis=1)
    mean, spread = each.mean(axis=0), each.std(axis=0, ddof=1) / np.sqrt(len(each))
    excess = np.abs(mean - SHARES) - SLACK - float(-ndtri(alarm / 2)) * spread
    worst = int(np.argmax(excess))
    if excess[worst] > 0:
        raise ContractError(
            f"standard errors are not calibrated: of the {kind} of errors {mean[worst]:.1%} lie "
            f"in the first {SHARES[worst]:.0%} of the distribution stated for them"
        )
