"""How probable it is that a label is wrong: from held-out probabilities and a model of mistakes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from scipy.stats import poisson

from fairshapley._basics.types import FloatArray, IntArray

# Shares of wrong labels that are weighed against each other, finer where they are small.
SHARES = np.concatenate(
    [[0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06], np.arange(0.075, 0.46, 0.015)]
)
# Rates at which one class is taken for one other.
RATES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.48)
# Beyond one half, the wrong label of a class would be its right one.
MOST_WRONG = 0.48
# More classes have too few rows each to show a pattern.
MOST_CLASSES = 20
# Pairs of classes that are tried: those that models and labels disagree on most.
MOST_PAIRS = 12
# Two classes that look alike, such as cats and dogs: the log-odds between them count so much of
# what they count elsewhere. Without this, hard rows of one are taken for mistakes.
FLATNESS = (0.3, 0.45, 0.6)
# More than the choice of a pair and an exponent: that one class is taken for the other is likelier.
PRICE_OF_ALIKE = 3.0 + math.log(MOST_PAIRS * len(FLATNESS))
# Rows times classes that the shares are weighed by: seconds, and more change little.
MOST_CELLS = 60_000
# A clean probability is at least this before it is sharpened.
LEAST = 1e-3
# The powers that are tried.
LEAST_POWER, MOST_POWER = 0.37, 7.4
UNLIKELY = 1e-4
# That no label is wrong is one case among many: what it costs, as a logarithm. With 1, mistakes in
# five of the 150 labels of iris were found half as often.
PRICE_OF_NONE = 1.5
# Held-out probabilities are estimates, whose errors a model of mistakes may fit, the more the more
# rows there are: this share of the log-likelihood counts, and that of this many rows in full. With
# all of it, 6 % of the rows of a clean table of cars were suspected; two of its three classes are
# much alike.
TRUST, TRUSTED_ROWS = 0.6, 60
# Mistakes are possible that explain the labels worse than the best by a factor of e⁶ at most.
# On tables with planted mistakes, the range then holds their share in 9 of 10 cases.
TOLERANCE = 6.0

Alike: TypeAlias = tuple[tuple[int, int, float], ...]
"""Pairs of classes that look alike, each with the exponent of the odds between them"""


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
    """What it costs to have chosen it, as a logarithm"""
    alike: Alike
    misfit: float
    """The negative log-likelihood of the labels"""
    power: float
    wrong: float
    """The share of labels that is wrong"""

    @property
    def cost(self) -> float:
        """The misfit and the price."""
        return self.misfit + self.price

    def classes(self, chances: FloatArray, codes: IntArray) -> FloatArray:
        """Return the probability of each class being the true one."""
        clean = _clean(softened(chances, self.alike), self.rates)
        return posterior(sharpened(clean, self.power), self.rates, codes)


def true_classes(
    chances: FloatArray, codes: IntArray, share: float | None = None, *, ordered: bool = False
) -> tuple[FloatArray, Mistakes]:
    """Return the probability of each class being the true one, and how many labels are wrong.

    A label is the true class, or by mistake another one: T[i, j] is the probability that a row of
    class i is labelled j. Held-out probabilities q are those of labels, mistakes included, so that
    the true classes have p = q·T⁻¹, up to a power that makes them sharper or flatter; by Bayes'
    rule a row labelled j has the true class i with a probability in proportion to p[i]·T[i, j].

    Many T are tried: no mistakes; mistakes of any kind, with one rate, for all other labels alike
    or for frequent ones more often; each class for one certain other; one single class for any
    other; and one for one other. All are tried again with flatter odds between classes that look
    alike, if the labels ask for that. Probabilities are averages over all T, weighed by likelihood.
    The range of the share of wrong labels goes from the smallest to the largest share of all T that
    explain the labels nearly as well as the best one.

    Parameters
    ----------
    chances
        (rows, classes): held-out probabilities of the labels.
    codes
        The labels, numbered.
    share
        The share of wrong labels, where it is known.
    ordered
        Whether the classes are ranges of a number: then mistakes are of any kind.

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
    alike = () if ordered else _look_alikes(chances[some], codes[some])
    tried = [
        _explained(softened(chances[some], pairs), codes[some], *pattern, pairs)
        for pairs in ((), alike)[: 1 + bool(alike)]
        for pattern in _patterns(softened(chances[some], pairs), codes[some], share, ordered)
    ]
    trust = min(1.0, TRUST + TRUSTED_ROWS / n_rows)
    weights = softmax([-trust * each.misfit - each.price for each in tried])
    total = np.zeros_like(chances)
    for weight, explanation in zip(weights, tried, strict=True):
        if weight > UNLIKELY:
            total += weight * explanation.classes(chances, codes)
    total /= total.sum(axis=1, keepdims=True)
    costs, wrong = np.array([(each.cost, each.wrong) for each in tried]).T
    # Whether two classes are alike or mistaken for each other is left open here.
    soft = np.array([bool(each.alike) for each in tried])
    least = np.where(soft, costs[soft].min(initial=np.inf), costs[~soft].min())
    possible = wrong[costs <= least + TOLERANCE]
    best = tried[int(weights.argmax())]
    return total, Mistakes(
        float(weights @ wrong),
        *chance_range(n_rows, float(possible.min()), float(possible.max())),
        best.pattern,
        _off_diagonal(best.rates)[0] if best.pattern == "one pair" else None,
    )


def softened(chances: FloatArray, alike: Alike) -> FloatArray:
    """Return probabilities with flatter odds between classes that look alike.

    Odds become flatter around how frequent the two classes are.

    Examples
    --------
    >>> softened(np.array([[0.8, 0.2], [0.2, 0.8]]), ((0, 1, 0.5),)).round(3)
    array([[0.667, 0.333],
           [0.333, 0.667]])
    """
    flat = chances.copy()
    for *pair, exponent in alike:
        both = flat[:, pair]
        flatter = sharpened(both, exponent)
        flat[:, pair] = flatter * (both.sum(axis=1) / flatter.sum(axis=1))[:, None]
    return flat


def sharpened(clean: FloatArray, power: float) -> FloatArray:
    """Return probabilities, up to a factor, to a power: sharper around the classes' frequencies."""
    usual = clean.mean(axis=0)
    sharp: FloatArray = usual * np.exp(power * np.log(clean / usual))
    return sharp


def chance_range(n_rows: int, least: float, most: float) -> tuple[float, float]:
    """Return from and to which share of some rows is wrong, for rates from `least` to `most`.

    Whatever the rate, how many of these rows are wrong is a matter of chance, taken for Poisson.
    """
    lower, upper = poisson.ppf(0.05, n_rows * least), poisson.ppf(0.95, n_rows * most)
    return float(lower) / n_rows, min(1.0, float(upper) / n_rows)


def label_cost(clean: FloatArray, codes: IntArray, rates: FloatArray) -> float:
    """Return the negative log-likelihood of labels.

    `clean` are the probabilities of true classes, up to a factor in each row.
    """
    return -float(np.log((clean * rates[:, codes].T).sum(axis=1) / clean.sum(axis=1)).sum())


def best_power(
    clean: FloatArray, codes: IntArray, rates: FloatArray, least: float = LEAST_POWER
) -> tuple[float, float]:
    """Return the least cost of labels, and the power of the probabilities that it takes."""
    best = minimize_scalar(
        lambda sharpness: label_cost(sharpened(clean, np.exp(sharpness)), codes, rates),
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
    chances: FloatArray,
    codes: IntArray,
    pattern: str,
    rates: FloatArray,
    price: float,
    alike: Alike,
) -> _Explanation:
    clean = _clean(chances, rates)
    misfit, power = best_power(clean, codes, rates)
    classes = posterior(sharpened(clean, power), rates, codes)
    wrong = 1 - float(classes[np.arange(len(codes)), codes].mean())
    price += len(alike) * PRICE_OF_ALIKE
    return _Explanation(pattern, rates, price, alike, misfit, power, wrong)


def _patterns(
    chances: FloatArray, codes: IntArray, share: float | None, ordered: bool
) -> Iterator[tuple[str, FloatArray, float]]:
    """Yield the forms that mistakes may have: a name, rates, and what their choice costs."""
    n_classes, known = chances.shape[1], np.eye(chances.shape[1])
    sizes, others = chances.mean(axis=0), 1 - known
    shares = SHARES if share is None else np.array([share])
    widths = np.gradient(shares) if share is None else np.ones(1)
    # Somebody who labels blindly gives frequent labels more often.
    shapes = [("any", others, 0), ("any", others * sizes, 0)]
    if 2 < n_classes <= MOST_CLASSES and not ordered:
        shapes.append(("by pair", _usual_mistakes(chances, codes), n_classes - 1))
    for name, shape, free in shapes:
        for level, width in zip(shares, widths, strict=True):
            # A rate that must be learnt has to pay for itself (Schwarz 1978).
            price = free / 2 * np.log(len(codes)) - np.log(width)
            yield name, _scaled(shape * level / (sizes @ shape.sum(axis=1))), price
    if share is None:
        yield "none", known, PRICE_OF_NONE
    if ordered:
        return
    classes = range(n_classes if 2 < n_classes <= MOST_CLASSES else 0)
    pairs = _confused(chances, codes)
    # One class mistaken for all others is rarer than for one.
    rare = np.log(len(codes)) / 2
    single = [("by class", known[[taken]].T * others, rare) for taken in classes]
    single += [("one pair", np.outer(known[taken], known[label]), 0.0) for taken, label in pairs]
    for name, shape, price in single:
        rates = RATES if share is None else [share / (sizes @ shape.sum(axis=1))]
        for rate in rates:
            scaled = _scaled(shape * rate / shape.sum(axis=1).max())
            yield name, scaled, price + np.log(others.sum() * len(rates))


def _usual_mistakes(chances: FloatArray, codes: IntArray) -> FloatArray:
    """Return the rates at which the surest predictions of a class have each other label.

    Mostly that is one label; a tenth is left for all others, since nothing is impossible.
    """
    known = np.eye(chances.shape[1])
    sure = known[chances.argmax(axis=1)] * chances.max(axis=1, keepdims=True) ** 2
    counts = sure.T @ known[codes]
    wrong = counts * (1 - known) + UNLIKELY
    shares = wrong.sum(axis=1, keepdims=True) / (counts.sum(axis=1, keepdims=True) + 1)
    return shares * (0.9 * known[wrong.argmax(axis=1)] + 0.1 / len(known)) * (1 - known)


def _confused(chances: FloatArray, codes: IntArray) -> list[tuple[int, int]]:
    """Return the pairs of a class and a label that disagree most, those first that do it more."""
    counts = _off_diagonal(np.eye(chances.shape[1])[codes].T @ chances)
    return [(taken, label) for label, taken in counts[:MOST_PAIRS]]


def _off_diagonal(matrix: FloatArray) -> list[tuple[int, int]]:
    """Return the places of a matrix beside its diagonal, those of large entries first."""
    order = np.argsort(-matrix, axis=None, kind="stable")
    places = zip(*(part.tolist() for part in np.unravel_index(order, matrix.shape)), strict=True)
    return [(row, column) for row, column in places if row != column]


def _look_alikes(chances: FloatArray, codes: IntArray) -> Alike:
    """Return the pairs of classes between which the features say less than elsewhere."""
    if (n_classes := chances.shape[1]) < 3:
        return ()  # a power for all does the same
    known = np.eye(n_classes)
    _, power = best_power(chances, codes, known)
    found: Alike = ()
    for pair in dict.fromkeys((min(pair), max(pair)) for pair in _confused(chances, codes)):
        tried = [(*found, (*pair, flatness / power)) for flatness in FLATNESS]
        before, *costs = (
            label_cost(sharpened(softened(chances, alike), power), codes, known)
            for alike in (found, *tried)
        )
        if min(costs) + PRICE_OF_ALIKE < before:
            found = tried[int(np.argmin(costs))]
    return found


def _scaled(rates: FloatArray) -> FloatArray:
    """Return rates of mistakes that are not too large, and the rest on the diagonal."""
    totals = rates.sum(axis=1, keepdims=True)
    rates = rates * np.minimum(1.0, MOST_WRONG / np.maximum(totals, UNLIKELY))
    return rates + np.diag(1 - rates.sum(axis=1))


def _clean(chances: FloatArray, rates: FloatArray) -> FloatArray:
    """Return the probabilities of true classes before the label is seen, up to a factor."""
    return np.maximum(chances @ np.linalg.inv(rates), LEAST)
