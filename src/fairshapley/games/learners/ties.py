"""Which class the scores of a test row stand for; ties go to the lower class.

Two classes that are equally likely get scores that differ by rounding alone, and rounding differs
between processors: the order of a sum depends on the width of their vector units. So a class wins
only when its score is higher by more than rounding can explain, and else the lower class does, as
in scikit-learn, whose classifiers take the first of equal scores.
"""

from __future__ import annotations

from typing import Any

from fairshapley.games.learners.arrays import Array, Backend


def tolerance(where: Backend) -> float:
    """How far apart two scores may be, over the size of their terms, and still be a tie.

    ε^(3/4) is 1.8e−12 in double and 6e−6 in single precision: the error that `newton.minimise`
    leaves, and about ε^(−1/4) times that of one rounding, which is more than what sums over
    thousands of rows gather in double precision. A score is that close to a tie by chance about
    as often: once in 10^11 predictions, or in 10^5.
    """
    return float(where.epsilon**0.75)


def label(where: Backend, scores: Array, size: Array) -> Array:
    """The class of each test row: the lowest of those whose score is the highest.

    Parameters
    ----------
    where
        Where the arrays live.
    scores
        One per class, on the last axis; −∞ for a class that is not there.
    size
        The size of the terms that the scores are sums of, of a shape that broadcasts to theirs.

    Examples
    --------
    >>> import numpy as np
    >>> label(Backend(), np.array([[0.3, 0.1 + 0.2], [0.2, 0.3]]), np.array(0.2))
    array([0, 1])
    """
    xp = where.xp
    error = tolerance(where) * size
    highest = scores + error >= xp.max(scores - error, axis=-1, keepdims=True)
    # The first of several maxima is the lowest class.
    return xp.argmax(xp.astype(highest, xp.uint8), axis=-1)


def label_of_two(where: Backend, scores: Array, size: Array) -> Array:
    """The same for two classes, from the score of the second less that of the first.

    Examples
    --------
    >>> import numpy as np
    >>> label_of_two(Backend(), np.array([-1.0, 0.3 - (0.1 + 0.2), 1e-17, 0.1]), np.array(0.2))
    array([0, 0, 0, 1])
    """
    return where.xp.astype(scores > tolerance(where) * size, where.xp.int64)


def chances(xp: Any, scores: Array) -> Array:
    """The probabilities of the classes, on the last axis, from the logarithms of their odds.

    Examples
    --------
    >>> import numpy as np
    >>> chances(np, np.array([[0.0, 0.0, -np.inf]]))
    array([[0.5, 0.5, 0. ]])
    """
    odds = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return odds / xp.sum(odds, axis=-1, keepdims=True)


def lengths(xp: Any, vectors: Array, axis: int) -> Array:
    """The lengths ‖w‖ of vectors: ‖w‖·‖x‖ is the size of the terms of w·x, or more.

    It is also how an error of the coefficients shows in a score: δw·x is at most ‖δw‖·‖x‖.
    """
    return xp.sqrt(xp.sum(vectors**2, axis=axis))
