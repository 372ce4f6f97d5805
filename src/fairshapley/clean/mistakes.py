"""How probable it is that a label is wrong: from held-out probabilities and a model of mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import poisson

from fairshapley._basics.types import BoolArray, FloatArray, IntArray

# Shares of wrong labels that are weighed against each other, finer where they are small.
SHARES = np.concatenate(
    [[0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06], np.arange(0.075, 0.46, 0.015)]
)
# Beyond one half, the wrong label of a class would be its right one.
MOST_WRONG = 0.48
# Rows that count for a rate of their own as much as what is known of all classes.
PRIOR_ROWS = 5.0
ROUNDS = 8
# More classes have too few rows each to show a pattern.
MOST_CLASSES = 20
# Rows times classes that the shares are weighed by: seconds, and more change little.
MOST_CELLS = 60_000
# A clean probability is at least this before it is sharpened.
LEAST = 1e-3
# The logarithms of the exponents that are tried.
SHARPNESS = (-1.0, 2.0)
UNLIKELY = 1e-4


@dataclass(frozen=True)
class Mistakes:
    """How many labels are wrong, by all signs."""

    share: float
    """The share of labels that are wrong"""
    lower: float
    """With a probability of 0.9 the share is from here"""
    upper: float
    """to here"""
    pattern: str
    """Which mistakes explain the labels best: "any", "by class" or "by pair\""""


def true_classes(
    chances: FloatArray, codes: IntArray, share: float | None = None
) -> tuple[FloatArray, Mistakes]:
    """The probability of each class being the true one, given the label; and how many are wrong.

    A label is the true class, or by mistake another one: T[i, j] is the probability that a row of
    class i is labelled j. Held-out probabilities q are those of labels, mistakes included, so that
    the true classes have p = q·T⁻¹, up to a power that makes them sharper or flatter; by Bayes'
    rule a row labelled j has the true class i with a probability in proportion to p[i]·T[i, j].

    Three patterns of T are tried: mistakes of any kind, with one rate, for all other labels alike
    or for frequent ones more often; a rate for each class; and for each class one other that it is
    mistaken for. The rate and the power are those under
    which the labels are likely. Probabilities are averages over all rates, weighed by likelihood,
    since a flat likelihood means that nobody knows the rate.

    Parameters
    ----------
    chances
        (rows, classes): held-out probabilities of the labels.
    codes
        The labels, numbered.
    share
        The share of wrong labels, where it is known.

    Examples
    --------
    >>> chances = np.tile([[0.95, 0.05], [0.05, 0.95]], (100, 1))
    >>> labels = np.tile([0, 1], 100)
    >>> labels[:2] = [1, 0]
    >>> found, mistakes = true_classes(chances, labels)
    >>> wrong = 1 - found[np.arange(200), labels]
    >>> (wrong[:4] > 0.5).tolist()
    [True, True, False, False]
    """
    n_rows = len(chances)
    some = np.arange(n_rows)[:: -(-chances.size // MOST_CELLS)]
    sizes = chances.mean(axis=0)
    shares = SHARES if share is None else np.array([share])
    widths = np.gradient(shares) if len(shares) > 1 else np.ones(1)
    found = []
    for pattern, rates, free in _patterns(chances[some], codes[some]):
        for one, width in zip(shares, widths, strict=True):
            scaled = _scaled(rates, sizes, one)
            cost, power = _sharpened(chances[some], codes[some], scaled)
            # A rate that must be learnt has to pay for itself (Schwarz 1978).
            cost += free / 2 * np.log(len(some)) - np.log(width)
            found.append((cost, pattern, scaled, power))
    costs = np.array([cost for cost, *_ in found])
    weights = np.exp(costs.min() - costs)
    weights /= weights.sum()
    total, wrong = np.zeros_like(chances), np.zeros(len(found))
    for place in np.flatnonzero(weights > UNLIKELY):
        _, _, rates, power = found[place]
        classes = _posterior(_clean(chances, rates, power), rates, codes)
        total += weights[place] * classes
        wrong[place] = 1 - classes[np.arange(n_rows), codes].mean()
    total /= total.sum(axis=1, keepdims=True)
    lower, upper = _range(n_rows, n_rows * wrong, weights)
    return total, Mistakes(float(weights @ wrong), lower, upper, found[int(costs.argmin())][1])


def _range(n_rows: int, means: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """From and to which share of wrong labels, with a probability of 0.9.

    Whatever the rate, how many of these rows are wrong is a matter of chance: taken for Poisson,
    which is wider than sums of the probabilities of single rows are when the model is right.
    """
    likely = weights > UNLIKELY
    below = weights[likely] @ poisson.cdf(np.arange(n_rows + 1), means[likely, None])
    lower, upper = np.searchsorted(below / below[-1], (0.05, 0.95)).tolist()
    return lower / n_rows, upper / n_rows


def _patterns(chances: FloatArray, codes: IntArray) -> Iterator[tuple[str, FloatArray, int]]:
    """The forms that mistakes may have: a name, rates, and how many of these are learnt."""
    n_classes = chances.shape[1]
    others = ~np.eye(n_classes, dtype=bool)
    yield "any", others / (n_classes - 1), 0
    # Somebody who labels blindly gives frequent labels more often.
    yield "any", others * chances.mean(axis=0), 0
    if n_classes <= MOST_CLASSES:
        yield "by class", _learnt(chances, codes, others, single=False), n_classes - 1
        if n_classes > 2:
            yield "by pair", _learnt(chances, codes, others, single=True), n_classes - 1


def _learnt(chances: FloatArray, codes: IntArray, others: BoolArray, *, single: bool) -> FloatArray:
    """Rates of mistakes, class by class, that make the labels likely.

    The first rates are those of the surer half of the rows of each predicted class.
    """
    n_classes = len(others)
    sure, predicted = chances.max(axis=1), chances.argmax(axis=1)
    counts = np.zeros((n_classes, n_classes))
    for one in range(n_classes):
        rows = np.flatnonzero(predicted == one)
        rows = rows[np.argsort(-sure[rows], kind="stable")[: max(20, len(rows) // 2)]]
        counts[one] = np.bincount(codes[rows], minlength=n_classes)
    rates, sizes = np.zeros((n_classes, n_classes)), chances.mean(axis=0)
    for _ in range(ROUNDS):
        wrong = counts * others
        typical = min(max(wrong.sum() / counts.sum(), 0.01), 0.4)
        totals = (wrong.sum(axis=1) + PRIOR_ROWS * typical) / (counts.sum(axis=1) + PRIOR_ROWS)
        rates = np.repeat(totals[:, None] / (n_classes - 1), n_classes, axis=1) * others
        if single:
            # The likeliest mistake, and a tenth for all others: nothing is impossible.
            top = wrong.argmax(axis=1)
            rates *= 0.1
            rates[np.arange(n_classes), top] += 0.9 * totals
        scaled = _scaled(rates, sizes, float(sizes @ totals))
        _, power = _sharpened(chances, codes, scaled)
        classes = _posterior(_clean(chances, scaled, power), scaled, codes)
        counts = np.stack(
            [np.bincount(codes, weights=one, minlength=n_classes) for one in classes.T]
        )
    return rates


def _scaled(rates: FloatArray, sizes: FloatArray, share: float) -> FloatArray:
    """Rates of mistakes with a given mean over all rows, and the rest on the diagonal."""
    wrong = rates * (share / (sizes @ rates.sum(axis=1)))
    totals = wrong.sum(axis=1, keepdims=True)
    wrong = wrong * np.minimum(1.0, MOST_WRONG / np.maximum(totals, UNLIKELY))
    return wrong + np.diag(1 - wrong.sum(axis=1))


def _clean(chances: FloatArray, rates: FloatArray, power: float) -> FloatArray:
    """The probabilities of true classes before the label is seen."""
    clean = np.maximum(chances @ np.linalg.inv(rates), LEAST) ** power
    return clean / clean.sum(axis=1, keepdims=True)


def _sharpened(chances: FloatArray, codes: IntArray, rates: FloatArray) -> tuple[float, float]:
    """The power under which the labels are most likely, with their negative log-likelihood."""
    logs = np.log(np.maximum(chances @ np.linalg.inv(rates), LEAST))
    logs -= logs.max(axis=1, keepdims=True)
    of_label = rates[:, codes].T

    def cost(sharpness: float) -> float:
        clean = np.exp(np.exp(sharpness) * logs)
        return -float(np.log((clean * of_label).sum(axis=1) / clean.sum(axis=1)).sum())

    best = minimize_scalar(cost, bounds=SHARPNESS, method="bounded", options={"xatol": 0.05})
    return float(best.fun), float(np.exp(best.x))


def _posterior(clean: FloatArray, rates: FloatArray, codes: IntArray) -> FloatArray:
    joint = clean * rates[:, codes].T
    return joint / joint.sum(axis=1, keepdims=True)
