"""Values from the utilities of coalitions that are known, whatever method asked for them.

Exact from all 2ⁿ, else by the regression whose coefficients are the values (Charnes et al. 1988 for
Shapley values, Hammer and Holzman 1992 for Banzhaf values). Coalitions of one size must be drawn
alike, as all methods do but those that choose players.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from fairshapley._basics.threads import one_thread
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.estimators.exact import exact_values
from fairshapley.games.game import MAX_TABLE_PLAYERS
from fairshapley.semivalues import Banzhaf, Semivalue, Shapley, log_binomial

# A regression on fewer coalitions for each player mostly shows its own noise.
LEAST_PER_PLAYER = 4
# The products of a regression take a second; with more players there would be too few coalitions.
MOST_PRODUCTS = 2e10
# Keeps the system solvable when two players were hardly ever apart.
RIDGE = 1e-9


def most_coalitions(n_players: int) -> int:
    """How many coalitions a regression may have."""
    return int(MOST_PRODUCTS / n_players**2)


def values_from(masks: BoolArray, utilities: FloatArray, semivalue: Semivalue) -> FloatArray | None:
    """The values of games whose utilities are known for some coalitions.

    Parameters
    ----------
    masks
        The coalitions, each once, shape (m, n).
    utilities
        A column for each game, shape (m, games).
    semivalue
        Which values; None is the answer for Beta semivalues unless all coalitions are known.

    Returns
    -------
    FloatArray or None
        Shape (n, games); None where too few coalitions are known.

    Examples
    --------
    >>> masks = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=bool)
    >>> values_from(masks, np.array([[0.0], [1.0], [2.0], [5.0]]), Shapley()).T
    array([[2., 3.]])
    """
    n_players = masks.shape[1]
    if n_players <= MAX_TABLE_PLAYERS and len(masks) == 1 << n_players:
        place = masks @ (1 << np.arange(n_players))
        table = np.empty(len(masks))
        columns = []
        for column in utilities.T:
            table[place] = column
            columns.append(exact_values(table, semivalue))
        return np.stack(columns, axis=1)
    least = LEAST_PER_PLAYER * n_players
    known = isinstance(semivalue, Shapley | Banzhaf)
    if not known or len(masks) < least or most_coalitions(n_players) < least:
        return None
    try:
        with one_thread():
            found = _regressed(masks, utilities, semivalue)
    except LinAlgError:
        return None
    return None if found is None or not np.isfinite(found).all() else found


def _regressed(masks: BoolArray, utilities: FloatArray, semivalue: Semivalue) -> FloatArray | None:
    """Least squares; each size has the weight that the values give it."""
    n_players, sizes = masks.shape[1], masks.sum(axis=1)
    empty, full = utilities[sizes == 0], utilities[sizes == n_players]
    inner = np.flatnonzero((sizes > 0) & (sizes < n_players))
    if len(empty) != 1:
        return None
    counts = np.bincount(sizes[inner], minlength=n_players + 1)
    weights = _size_mass(semivalue, n_players)[sizes[inner]] / counts[sizes[inner]]
    members, targets = masks[inner].astype(np.float64), utilities[inner] - empty
    if isinstance(semivalue, Banzhaf):
        members -= np.average(members, axis=0, weights=weights)
    free, ones = _solved(members, weights, targets)
    if isinstance(semivalue, Banzhaf) or len(full) != 1:
        return free
    # Shapley values add up to what all players together gain.
    return free - np.outer(ones / ones.sum(), free.sum(axis=0) - (full - empty)[0])


def value_errors(
    masks: BoolArray, utilities: FloatArray, values: FloatArray, semivalue: Semivalue
) -> FloatArray:
    """Return the standard errors of `values_from` for one game, from the residuals of its fit.

    They are 0 where all coalitions are known.

    Examples
    --------
    >>> masks = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=bool)
    >>> value_errors(masks, np.array([0.0, 1.0, 2.0, 5.0]), np.array([2.0, 3.0]), Shapley())
    array([0., 0.])
    """
    n_players, sizes = masks.shape[1], masks.sum(axis=1)
    inner = (sizes > 0) & (sizes < n_players)
    if n_players <= MAX_TABLE_PLAYERS and len(masks) == 1 << n_players:
        return np.zeros(n_players)
    members = masks[inner].astype(np.float64)
    targets = utilities[inner] - utilities[sizes == 0][0]
    counts = np.bincount(sizes[inner], minlength=n_players + 1)
    weights = _size_mass(semivalue, n_players)[sizes[inner]] / counts[sizes[inner]]
    residuals = targets - members @ values
    if isinstance(semivalue, Banzhaf):
        members -= np.average(members, axis=0, weights=weights)
        residuals -= np.average(residuals, weights=weights)
    inverse = np.linalg.pinv(members.T @ (members * weights[:, None]), hermitian=True)
    if isinstance(semivalue, Shapley):  # the sum of the values is known
        ones = inverse.sum(axis=0)
        inverse -= np.outer(ones, ones) / ones.sum()
    moved = (members @ inverse) * (weights * residuals)[:, None]
    freedom = max(len(members) - n_players, 1)
    return np.sqrt(np.square(moved).sum(axis=0) * len(members) / freedom)


def _size_mass(semivalue: Semivalue, n_players: int) -> FloatArray:
    """The weight of all coalitions of each size together, up to a factor."""
    sizes = np.arange(1, n_players, dtype=np.float64)
    mass = np.zeros(n_players + 1)
    if isinstance(semivalue, Shapley):
        mass[1:-1] = 1 / (sizes * (n_players - sizes))
    else:
        logs = log_binomial(n_players, sizes)
        mass[1:-1] = np.exp(logs - logs.max())
    return mass


def _solved(
    members: FloatArray, weights: FloatArray, targets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The coefficients of each column of targets, and the inverse applied to ones."""
    weighted = members * weights[:, None]
    gram = members.T @ weighted
    gram[np.diag_indices_from(gram)] += RIDGE * float(np.trace(gram)) / len(gram)
    sides = np.column_stack([weighted.T @ targets, np.ones(len(gram))])
    solution: FloatArray = cho_solve(cho_factor(gram), sides)
    return solution[:, :-1], solution[:, -1]
