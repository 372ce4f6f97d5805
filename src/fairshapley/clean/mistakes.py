"""How probable it is that a label is wrong: from held-out probabilities and a model of mistakes."""

from __future__ import annotations

import math
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
# Rates at which one class is taken for one other.
RATES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.48)
# Beyond one half, the wrong label of a class would be its right one.
MOST_WRONG = 0.48
# Rows that count for a rate of their own as much as what is known of all classes.
PRIOR_ROWS = 5.0
ROUNDS = 8
# More classes have too few rows each to show a pattern.
MOST_CLASSES = 20
# Pairs of classes that are tried: those that models and labels disagree on most.
MOST_PAIRS = 12
# Rows times classes that the shares are weighed by: seconds, and more change little.
MOST_CELLS = 60_000
# A clean probability is at least this before it is sharpened.
LEAST = 1e-3
# The powers that are tried.
LEAST_POWER, MOST_POWER = 0.37, 7.4
UNLIKELY = 1e-4
# That no label is wrong is one case among many: what it costs, as a logarithm.
PRICE_OF_NONE = 2.0
# Mistakes are possible that explain the labels worse than the best by a factor of e⁶ at most.
# On tables with planted mistakes, the range then holds their share in 9 of 10 cases.
TOLERANCE = 6.0


@dataclass(frozen=True)
class Mistakes:
    """How many labels are wrong, by all signs."""

    share: float
    """The share of labels that are wrong"""
    lower: float
    """The smallest share that the labels allow"""
    upper: float
    """The largest share that the labels allow"""
    pattern: str
    """Which mistakes explain the labels best, such as "any" or "one pair\""""
    pair: tuple[int, int] | None = None
    """The class that is taken for another one, and that one, if the pattern is "one pair\""""


@dataclass(frozen=True, eq=False)
class _Explanation:
    """Rates of mistakes, and how well they explain the labels."""

    pattern: str
    rates: FloatArray
    price: float
    """What the choice of these rates costs"""
    cost: float
    """The negative log-likelihood of the labels"""
    power: float
    wrong: float
    """The share of labels that is wrong"""


def true_classes(
    chances: FloatArray, codes: IntArray, share: float | None = None
) -> tuple[FloatArray, Mistakes]:
    """Return the probability of each class being the true one, and how many labels are wrong.

    A label is the true class, or by mistake another one: T[i, j] is the probability that a row of
    class i is labelled j. Held-out probabilities q are those of labels, mistakes included, so that
    the true classes have p = q·T⁻¹, up to a power that makes them sharper or flatter; by Bayes'
    rule a row labelled j has the true class i with a probability in proportion to p[i]·T[i, j].

    Many T are tried: no mistakes; mistakes of any kind, with one rate, for all other labels alike
    or for frequent ones more often; a rate for each class; for each class one other that it is
    mistaken for; and one single class that is mistaken for one other. Probabilities are averages
    over all T, weighed by likelihood. The range of the share of wrong labels goes from the smallest
    to the largest share of all T that explain the labels nearly as well as the best one.

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
    >>> chances = np.tile([[0.99, 0.01], [0.01, 0.99]], (100, 1))
    >>> labels = np.tile([0, 1], 100)
    >>> labels[:10] = 1 - labels[:10]
    >>> found, mistakes = true_classes(chances, labels)
    >>> wrong = 1 - found[np.arange(200), labels]
    >>> bool(wrong[:10].mean() > 10 * wrong[10:].mean())
    True
    """
    n_rows = len(chances)
    some = np.arange(n_rows)[:: -(-chances.size // MOST_CELLS)]
    tried = [
        _explained(chances[some], codes[some], *pattern)
        for pattern in _patterns(chances[some], codes[some], share)
    ]
    costs = np.array([one.cost + one.price for one in tried])
    weights = np.exp(costs.min() - costs)
    weights /= weights.sum()
    total = np.zeros_like(chances)
    for weight, one in zip(weights, tried, strict=True):
        if weight > UNLIKELY:
            total += weight * posterior(_clean(chances, one.rates, one.power), one.rates, codes)
    total /= total.sum(axis=1, keepdims=True)
    possible = [tried[place].wrong for place in np.flatnonzero(costs <= costs.min() + TOLERANCE)]
    lower, upper = chance_range(n_rows, min(possible), max(possible))
    best = tried[int(costs.argmin())]
    one_pair = np.argwhere(np.triu(best.rates, 1) + np.tril(best.rates, -1))
    return total, Mistakes(
        float(np.average([one.wrong for one in tried], weights=weights)),
        lower,
        upper,
        best.pattern,
        (int(one_pair[0, 0]), int(one_pair[0, 1])) if best.pattern == "one pair" else None,
    )


def chance_range(n_rows: int, least: float, most: float) -> tuple[float, float]:
    """Return from and to which share of some rows is wrong, for rates from `least` to `most`.

    Whatever the rate, how many of these rows are wrong is a matter of chance, taken for Poisson.
    """
    lower, upper = poisson.ppf(0.05, n_rows * least), poisson.ppf(0.95, n_rows * most)
    return float(lower) / n_rows, min(1.0, float(upper) / n_rows)


def label_cost(logs: FloatArray, codes: IntArray, rates: FloatArray) -> float:
    """Return the negative log-likelihood of labels.

    `logs` are logarithms of the probabilities of true classes, up to a constant in each row.
    """
    clean = np.exp(logs - logs.max(axis=1, keepdims=True))
    return -float(np.log((clean * rates[:, codes].T).sum(axis=1) / clean.sum(axis=1)).sum())


def best_power(
    logs: FloatArray, codes: IntArray, rates: FloatArray, least: float = LEAST_POWER
) -> tuple[float, float]:
    """Return the least cost of labels, and the power of the probabilities that it takes."""
    best = minimize_scalar(
        lambda sharpness: label_cost(np.exp(sharpness) * logs, codes, rates),
        bounds=(math.log(least), math.log(MOST_POWER)),
        method="bounded",
        options={"xatol": 0.05},
    )
    return float(best.fun), float(np.exp(best.x))


def posterior(clean: FloatArray, rates: FloatArray, codes: IntArray) -> FloatArray:
    """Return the probability of each class being the true one, given the labels."""
    joint = clean * rates[:, codes].T
    return joint / joint.sum(axis=1, keepdims=True)


def _explained(
    chances: FloatArray, codes: IntArray, pattern: str, rates: FloatArray, price: float
) -> _Explanation:
    cost, power = _sharpened(chances, codes, rates)
    classes = posterior(_clean(chances, rates, power), rates, codes)
    wrong = 1 - float(classes[np.arange(len(codes)), codes].mean())
    return _Explanation(pattern, rates, price, cost, power, wrong)


def _patterns(
    chances: FloatArray, codes: IntArray, share: float | None
) -> Iterator[tuple[str, FloatArray, float]]:
    """Yield the forms that mistakes may have: a name, rates, and what their choice costs."""
    n_rows, n_classes = chances.shape
    sizes = chances.mean(axis=0)
    others = ~np.eye(n_classes, dtype=bool)
    # Somebody who labels blindly gives frequent labels more often.
    shapes = [("any", others / (n_classes - 1), 0), ("any", others * sizes, 0)]
    if n_classes <= MOST_CLASSES:
        shapes.append(("by class", _learnt(chances, codes, others, single=False), n_classes - 1))
        if n_classes > 2:
            shapes.append(("by pair", _learnt(chances, codes, others, single=True), n_classes - 1))
    shares = SHARES if share is None else np.array([share])
    widths = np.gradient(shares) if len(shares) > 1 else np.ones(1)
    for name, rates, free in shapes:
        for one, width in zip(shares, widths, strict=True):
            # A rate that must be learnt has to pay for itself (Schwarz 1978).
            yield name, _scaled(rates, sizes, one), free / 2 * np.log(n_rows) - np.log(width)
    if share is None:
        yield "none", np.eye(n_classes), PRICE_OF_NONE
    disagree = np.stack([chances[codes == one].sum(axis=0) for one in range(n_classes)], axis=1)
    disagree *= others
    for place in np.argsort(-disagree, axis=None, kind="stable")[:MOST_PAIRS]:
        one, other = np.unravel_index(place, disagree.shape)
        if one != other:
            tried = RATES if share is None else [min(share / sizes[one], MOST_WRONG)]
            for rate in tried:
                rates = np.eye(n_classes)
                rates[one, [one, other]] = 1 - rate, rate
                yield "one pair", rates, np.log(others.sum() * len(tried))


def _learnt(chances: FloatArray, codes: IntArray, others: BoolArray, *, single: bool) -> FloatArray:
    """Return rates of mistakes, class by class, that make the labels likely.

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
        classes = posterior(_clean(chances, scaled, power), scaled, codes)
        counts = np.stack(
            [np.bincount(codes, weights=one, minlength=n_classes) for one in classes.T]
        )
    return rates


def _scaled(rates: FloatArray, sizes: FloatArray, share: float) -> FloatArray:
    """Return rates of mistakes with a given mean over all rows, and the rest on the diagonal."""
    wrong = rates * (share / (sizes @ rates.sum(axis=1)))
    totals = wrong.sum(axis=1, keepdims=True)
    wrong = wrong * np.minimum(1.0, MOST_WRONG / np.maximum(totals, UNLIKELY))
    return wrong + np.diag(1 - wrong.sum(axis=1))


def _clean(chances: FloatArray, rates: FloatArray, power: float) -> FloatArray:
    """Return the probabilities of true classes before the label is seen, up to a factor."""
    return np.maximum(chances @ np.linalg.inv(rates), LEAST) ** power


def _sharpened(chances: FloatArray, codes: IntArray, rates: FloatArray) -> tuple[float, float]:
    return best_power(np.log(_clean(chances, rates, 1.0)), codes, rates)
