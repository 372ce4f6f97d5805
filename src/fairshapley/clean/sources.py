"""Categories whose labels follow the features in another way than in all other rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.clean.mistakes import (
    TOLERANCE,
    UNLIKELY,
    best_power,
    label_cost,
    posterior,
    sharpened,
)

LEAST_ROWS = 10
"""Rows of a category that say something of it"""
# How much of the labels of a source is turned round, or drawn from all labels.
TURNED = (0.6, 0.7, 0.8, 0.9, 0.97)
RANDOM = (0.4, 0.6, 0.8, 1.0)
# Rates of blind labels that all rows may have.
EVERYWHERE = (0.01, 0.05, 0.1, 0.2, 0.3)
# Of a category that is merely harder, features say half as much as elsewhere, in log-odds.
FLATTEST = 0.5
MOST_SHIFT = 3.0


@dataclass(frozen=True, eq=False)
class Source:
    """A category of a column whose labels look turned round, or drawn at random."""

    column: str
    category: str
    rows: BoolArray
    probability: float
    """That this is so, and the category not merely a harder one"""
    pattern: str
    """ "turned round" or "random" """
    share: float
    """The share of its labels that is wrong, if it is so"""
    most: float
    """The largest share that its labels allow"""
    classes: FloatArray
    """(rows of it, classes): the probability of each class being the true one, if it is so"""


def odd_sources(
    column: str, names: list[str], categories: IntArray, chances: FloatArray, codes: IntArray
) -> list[Source]:
    """Compare the labels of each category with what the features say.

    `chances` are held-out probabilities of labels by models that do not know the column. For each
    category three kinds of explanation compete: its labels are turned round, they are drawn at
    random, or it has other frequencies of the classes and features that say less, at least half as
    much as elsewhere. Labels that are turned round or random pay for having been searched for.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> truths = draw.integers(2, size=400)
    >>> chances = np.where(truths[:, None] == [0, 1], 0.9, 0.1)
    >>> sources = draw.integers(4, size=400)
    >>> labels = np.where(sources == 2, 1 - truths, truths)
    >>> found = odd_sources("source", ["a", "b", "c", "d"], sources, chances, labels)
    >>> [(each.category, each.pattern) for each in found if each.probability > 0.5]
    [('c', 'turned round')]
    """
    n_classes = chances.shape[1]
    sizes = np.bincount(codes, minlength=n_classes) / len(codes)
    blind = [_mixed(np.eye(n_classes), sizes, rate) for rate in EVERYWHERE]
    fits = [best_power(chances, codes, rates) for rates in blind]
    usual, (_, power) = min(zip(blind, fits, strict=True), key=lambda fit: fit[1][0])
    sharp = sharpened(chances, power)
    found = []
    for category in np.flatnonzero(np.bincount(categories) >= LEAST_ROWS):
        rows = categories == category
        of_source, labels = sharp[rows], codes[rows]
        seen = np.eye(n_classes) / 2
        np.add.at(seen, (of_source.argmax(axis=1), labels), 1)
        turned = np.eye(n_classes)[seen.argmax(axis=1)]
        forms = [("random", _mixed(np.eye(n_classes), sizes, rate)) for rate in RANDOM]
        if (turned != np.eye(n_classes)).any():
            forms += [("turned round", _mixed(turned, sizes, 1 - rate)) for rate in TURNED]
        fits = [best_power(of_source, labels, rates, FLATTEST) for _, rates in forms]
        costs = np.array([cost for cost, _ in fits]) + np.log(len(forms) * len(names))
        if costs.min() > label_cost(of_source, labels, usual):
            continue
        odds = np.exp(min(_harder(of_source, labels, usual) - costs.min(), 700.0))
        weights = np.exp(costs.min() - costs)
        weights /= weights.sum()
        if odds < UNLIKELY:
            continue
        each = [
            posterior(sharpened(of_source, power), rates, labels)
            for (_, rates), (_, power) in zip(forms, fits, strict=True)
        ]
        wrong = np.array([1 - chosen[np.arange(len(labels)), labels].mean() for chosen in each])
        found.append(
            Source(
                column,
                names[category],
                rows,
                float(odds / (1 + odds)),
                forms[int(costs.argmin())][0],
                float(weights @ wrong),
                float(wrong[costs <= costs.min() + TOLERANCE].max()),
                np.einsum("f,frc->rc", weights, each),
            )
        )
    return found


def _mixed(rates: FloatArray, sizes: FloatArray, blind: float) -> FloatArray:
    """Return rates of labels, a part of which is drawn blindly."""
    return (1 - blind) * rates + blind * sizes


def _harder(clean: FloatArray, codes: IntArray, usual: FloatArray) -> float:
    """Return the cost of other frequencies of classes and weaker features, with its price."""
    logs, n_classes = np.log(clean), clean.shape[1]
    limits = [(FLATTEST, 8.0)] + [(-MOST_SHIFT, MOST_SHIFT)] * n_classes
    start = np.concatenate([[1.0], np.zeros(n_classes)])

    def cost(free: FloatArray) -> float:
        return label_cost(np.exp(free[0] * logs + free[1:]), codes, usual)

    return float(minimize(cost, start, method="L-BFGS-B", bounds=limits).fun)
