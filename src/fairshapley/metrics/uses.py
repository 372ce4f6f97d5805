"""What values are used for: finding noisy labels, adding and removing players."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import GameError, InputError
from fairshapley.games.game import Game, members


def noisy_label_f1(
    values: ArrayLike,
    noisy_mask: ArrayLike,
    *,
    rule: Literal["cluster", "below_centre"] = "cluster",
) -> float:
    """The F1 score of finding noisy labels by a low value.

    The values are split in two by k-means; F1 = 2·TP / (2·TP + FP + FN) of calling the lower
    cluster noisy. Appendix "Noisy Label Detection" of the paper.

    Parameters
    ----------
    values
        The value of each training point.
    noisy_mask
        Which labels are noisy, as a boolean array or as indices.
    rule
        "cluster" calls the whole lower cluster noisy; "below_centre" only the points below the
        lower cluster's centre, as the authors' code does.

    Examples
    --------
    >>> noisy_label_f1([-1.0, -0.8, 0.9, 1.0, 1.1], [True, True, False, False, False])
    1.0
    >>> round(noisy_label_f1([-1.0, -0.8, 0.9, 1.0, 1.1], [0, 1], rule="below_centre"), 4)
    0.6667
    """
    from sklearn.cluster import KMeans  # takes a second to import

    checks.choice("rule", rule, ("cluster", "below_centre"))
    phi = checks.vector(values, "the values")
    noisy = np.zeros(phi.size, dtype=np.bool_)
    noisy[checks.players(noisy_mask, phi.size)] = True
    if not noisy.any():
        raise InputError("no label is noisy, so there is nothing to find: mark the flipped labels")
    # Scale and origin do not matter to k-means; values in [0, 1] neither overflow nor underflow.
    low, span = float(phi.min()), float(np.ptp(phi))
    if span == 0:
        raise InputError("all values are equal, so they do not fall into two clusters: run longer")
    points = ((phi - low) / span)[:, None]
    fit = KMeans(n_clusters=2, n_init=10, random_state=0).fit(points)
    lower = int(np.argmin(fit.cluster_centers_[:, 0]))
    if rule == "cluster":
        called: BoolArray = fit.labels_ == lower
    else:
        called = points[:, 0] < fit.cluster_centers_[lower, 0]
    hits = int((called & noisy).sum())
    return 2 * hits / (int(called.sum()) + int(noisy.sum()))


def add_remove_curve(
    game: Game | Callable[[BoolArray], ArrayLike],
    order: ArrayLike,
    *,
    mode: Literal["add", "remove"] = "add",
    steps: int | None = None,
) -> tuple[IntArray, FloatArray]:
    """The utility as players join an empty coalition, or leave the full one, in a given order.

    Figure `fig:add-remove` and the appendix "Training Example Addition and Removal" of the paper:
    adding those of the highest value first should raise the utility early, ``order =
    np.argsort(-values)``.

    Parameters
    ----------
    game
        A game, or any callable that maps a boolean array (m, n) to m utilities. It is called
        once; for an expensive one, put an evaluator with a journal in its place.
    order
        Who joins or leaves, first to last. All players, or some where the game has `n_players`.
    mode
        "add" or "remove".
    steps
        Into how many steps to divide the order; by default one player a step.

    Returns
    -------
    counts, utilities
        How many players have joined or left, from 0 on, and the utility then.

    Examples
    --------
    >>> def squares(coalitions):
    ...     return coalitions.sum(axis=1) ** 2
    >>> add_remove_curve(squares, [2, 0, 1])
    (array([0, 1, 2, 3]), array([0., 1., 4., 9.]))
    >>> add_remove_curve(squares, [2, 0, 1], mode="remove", steps=1)
    (array([0, 3]), array([9., 0.]))
    """
    checks.choice("mode", mode, ("add", "remove"))
    sequence = np.asarray(order)
    n_players = int(getattr(game, "n_players", sequence.size))
    if sequence.ndim != 1 or sequence.dtype == np.bool_:
        raise InputError(f"give the order as a vector of player indices, not {order!r}")
    if checks.players(sequence, n_players).size != sequence.size or sequence.size == 0:
        raise InputError("the order must name at least one player, and each player only once")
    counts = _step_counts(sequence.size, steps)
    turn = np.full(n_players, sequence.size)  # those who are not in the order never have a turn
    turn[sequence] = np.arange(sequence.size)
    moved = turn < counts[:, None]
    coalitions = moved if mode == "add" else ~moved
    utilities = np.asarray(game(coalitions), dtype=np.float64)
    if utilities.shape != counts.shape:
        raise GameError(
            f"the utility answered with shape {utilities.shape} to {counts.size} coalitions: "
            "return one number for each row"
        )
    wrong = np.flatnonzero(~np.isfinite(utilities))
    if wrong.size:
        value, coalition = utilities[wrong[0]], members(coalitions[wrong[0]])
        raise GameError(
            f"the utility of coalition {coalition} is {value}: return a finite number", coalition
        )
    return counts, utilities


def _step_counts(n_moves: int, steps: int | None) -> IntArray:
    if steps is None:
        return np.arange(n_moves + 1)
    number = checks.whole("steps", steps, hint="; None takes every step")
    return np.unique(np.linspace(0, n_moves, min(number, n_moves) + 1).round().astype(np.int64))
