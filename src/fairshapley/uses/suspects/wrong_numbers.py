"""How probable it is that a target of numbers is wrong: from residuals of held-out predictions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.stats import gaussian_kde, t

from fairshapley._basics.types import FloatArray
from fairshapley.uses.suspects.held_out import (
    NEIGHBOURS,
    HeldOut,
    cross_fitted,
    fold_numbers,
    forests,
    nearest,
)
from fairshapley.uses.suspects.wrong_labels import MOST_WRONG, Mistakes

PENALTIES = (1.0, 100.0)
# Residuals of good rows have longer tails than a normal distribution.
FREEDOM = 4.0
STEPS = 200
# Points of the density of all targets; a smooth curve needs no more.
MOST_POINTS = 2000


def predicted_numbers(points: FloatArray, targets: FloatArray, rng: np.random.Generator) -> HeldOut:
    """Held-out predictions by a mixture of models, with weights of least squares."""
    from sklearn.linear_model import Ridge

    distances, neighbours = nearest(points, min(max(NEIGHBOURS), len(targets) - 1))
    found: dict[str, FloatArray] = {}
    folds = fold_numbers(np.zeros(len(targets), dtype=np.int64), rng)
    for penalty in PENALTIES:
        ridge = partial(Ridge, alpha=penalty)
        found[f"ridge alpha={penalty:g}"] = cross_fitted(ridge, points, targets, folds)
    for name, forest in forests(len(targets), rng, numbers=True):
        found[name] = forest.fit(points, targets).oob_prediction_
    for k in NEIGHBOURS:
        found[f"{k} neighbours"] = targets[neighbours[:, :k]].mean(axis=1)
    middle = float(np.median(targets))
    stacked = np.stack(list(found.values()), axis=1)
    weights, _ = nnls(stacked - middle, targets - middle)
    total = weights.sum()
    weights = weights / total if total > 0 else np.full(len(weights), 1 / len(weights))
    named = dict(zip(found, weights.tolist(), strict=True))
    return HeldOut(stacked @ weights, named, neighbours, distances)


def wrong_numbers(
    targets: FloatArray, predicted: FloatArray, share: float | None = None
) -> tuple[FloatArray, Mistakes, float]:
    """The probability that each target is wrong; how many are; the scale of right residuals.

    A wrong target is as if it belonged to any other row: it has the distribution of all targets.
    A right one differs from its prediction by a residual of Student's distribution. Its scale and
    the share of wrong ones are those under which the targets are most likely.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> predicted = np.linspace(0, 100, 200)
    >>> targets = predicted + rng.normal(size=200)
    >>> targets[7] = 80.0
    >>> wrong, mistakes, _ = wrong_numbers(targets, predicted)
    >>> int(wrong.argmax()), bool(wrong[7] > 0.9), bool(np.delete(wrong, 7).max() < 0.5)
    (7, True, True)
    """
    residuals = targets - predicted
    some = targets[:: -(-len(targets) // MOST_POINTS)]
    density: Any = gaussian_kde(some)
    anywhere = density(targets)
    # The median of |t| with 4 degrees of freedom is 0.741; a tiny scale would be a certainty.
    least = 1e-6 * float(np.std(targets))
    scale = max(float(np.median(np.abs(residuals))) / 0.741, least)
    rate = 0.05 if share is None else share
    wrong = np.zeros(len(targets))
    for _ in range(STEPS):
        right = (1 - rate) * t.pdf(residuals / scale, FREEDOM) / scale
        wrong = rate * anywhere / (rate * anywhere + right)
        # The weights of maximum likelihood under Student's distribution.
        pull = (1 - wrong) * (FREEDOM + 1) / (FREEDOM + (residuals / scale) ** 2)
        scale = max(float(np.sqrt((pull * residuals**2).sum() / (1 - wrong).sum())), least)
        if share is None:
            rate = min(max(float(wrong.mean()), 1e-4), MOST_WRONG)
    spread = 1.645 * float(np.sqrt((wrong * (1 - wrong)).sum() + wrong.sum())) / len(wrong)
    mean = float(wrong.mean())
    return wrong, Mistakes(mean, max(mean - spread, 0.0), min(mean + spread, 1.0), "any"), scale
