"""Two readings of the same units, the model's and the corrected one, as one estimate.

The corrected reading is unbiased, with the errors that the units show. The model's is far better
while units are few, as far as the game is like the model, which its own variances take for granted.
What the two differ by shows how far it is: it is normal with the variance of the one plus κ times
that of the other. κ is fitted to the differences of all players, and weights follow from the
variances. As units grow the corrected reading takes over by itself.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.estimators.estimator import Estimate

# Log κ before the two are compared: its mean and its deviation. A model is hardly ever better than
# it says, so that κ is at least 1.
LOG_KAPPA, DEVIATION = np.log(2.0), 1.0
LEAST_TOP, STEPS = np.log(1e4), 161
# Both are read from the same units: the correlation of their errors that is allowed for.
CORRELATION = 0.8
# Where a model explains everything it says that it cannot err: it does, by this share at least.
LEAST_SHARE = 1e-8
# Few units may all look alike: so many further ones of the same spread are taken as not known.
UNKNOWN_UNITS = 20.0


def blended(model: Estimate, sampled: Estimate) -> Estimate:
    """The mean of both, weighted by their variances over all players together.

    Examples
    --------
    >>> counts = np.full(8, 1000)
    >>> model = Estimate(np.zeros(8), np.full(8, 1.0), counts)
    >>> sampled = Estimate(np.full(8, 1.0), np.full(8, 4.0), counts)
    >>> bool(0.1 < blended(model, sampled).values[0] < 0.4)
    True
    """
    spread = sampled.variances * (1.0 + UNKNOWN_UNITS / np.maximum(sampled.counts, 1))
    if not np.isfinite(spread).all() or not np.isfinite(model.variances).all():
        return replace(model, counts=sampled.counts, sampled=sampled)
    said = model.variances * _kappa(np.square(model.values - sampled.values), spread, model)
    said = np.maximum(said, LEAST_SHARE * spread)
    own = float(spread.mean())
    weight = own / max(own + float(said.mean()), 1e-300)
    values = weight * model.values + (1.0 - weight) * sampled.values
    errors = weight * np.sqrt(said), (1.0 - weight) * np.sqrt(spread)
    variances = np.square(errors[0]) + np.square(errors[1])
    variances += 2.0 * CORRELATION * errors[0] * errors[1]
    return Estimate(values, variances, sampled.counts, sampled=sampled)


def _kappa(squares: FloatArray, spread: FloatArray, model: Estimate) -> float:
    """The most probable κ."""
    farthest = 10.0 * float(squares.max()) / max(float(model.variances.mean()), 1e-300)
    steps = np.linspace(0.0, max(LEAST_TOP, np.log(max(farthest, 1.0))), STEPS)
    variances = np.maximum(spread + np.exp(steps)[:, None] * model.variances, 1e-300)
    misfit = 0.5 * (np.log(variances) + squares / variances).sum(axis=1)
    misfit += 0.5 * np.square((steps - LOG_KAPPA) / DEVIATION)
    return float(np.exp(steps[np.argmin(misfit)]))
