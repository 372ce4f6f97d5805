"""Values without each group of test rows, from the coalitions of a run and their replicates.

A value is linear in the utilities, so that what it changes by without a group of test rows is the
value of the changes. They are computed from all coalitions that were evaluated, whatever method
asked for them: exactly from all 2ⁿ, else by the regression whose coefficients are the values
(Charnes et al. 1988 for Shapley values; Hammer and Holzman 1992 for Banzhaf values).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from fairshapley._basics import bits
from fairshapley._basics.threads import one_thread
from fairshapley._basics.types import FloatArray
from fairshapley.estimators.exact import exact_values
from fairshapley.evaluation.replicates import Replicates
from fairshapley.games.identical import group_numbers
from fairshapley.randomness import root_seed, side_generator
from fairshapley.semivalues import Banzhaf, Semivalue, Shapley, log_binomial

# A regression on fewer coalitions for each player mostly shows its own noise.
LEAST_PER_PLAYER = 4
# The products of a regression take a second; with more players there would be too few coalitions.
MOST_PRODUCTS = 2e10
# Keeps the system solvable when two players were hardly ever apart.
RIDGE = 1e-9
DIGITS = 6


def replicated_values(
    replicates: Replicates,
    semivalue: Semivalue,
    n_players: int,
    identical: tuple[tuple[int, int], ...] = (),
) -> FloatArray | None:
    """What each value changes by without each group of test rows, shape (players, groups).

    None where too few coalitions are known, or a semivalue has no regression of its own.

    Parameters
    ----------
    replicates
        Of the run.
    semivalue
        What is estimated.
    n_players
        The number of players, those declared null too, which have no changes.
    identical
        Pairs of players that share one value.
    """
    keys, changes = replicates.sorted()
    active = replicates.n_players
    found: FloatArray | None
    if len(keys) == 1 << min(active, 62):
        found = _exact(keys, changes, semivalue, n_players - active)
    else:
        found = _regressed(keys, changes, semivalue, active)
    if found is None or not np.isfinite(found).all():
        return None
    found = np.vstack([found, np.zeros((n_players - len(found), found.shape[1]))])
    groups = group_numbers(identical, n_players)
    means = np.stack([np.bincount(groups, weights=one) for one in found.T], axis=1)
    shared: FloatArray = (means / np.bincount(groups)[:, None])[groups]
    # What becomes an error needs no more digits, and rounding hides in which order sums were taken.
    return np.array([float(f"{one:.{DIGITS}g}") for one in shared.flat]).reshape(shared.shape)


def _exact(
    keys: list[bytes], changes: NDArray[np.float32], semivalue: Semivalue, nulls: int
) -> FloatArray:
    place = np.array([int.from_bytes(key, "little") for key in keys])
    table = np.empty(len(keys))
    columns = []
    for column in changes.T:
        table[place] = column
        columns.append(exact_values(table, semivalue, nulls))
    return np.stack(columns, axis=1)


def _regressed(
    keys: list[bytes], changes: NDArray[np.float32], semivalue: Semivalue, n_players: int
) -> FloatArray | None:
    """Least squares over the coalitions; each size has the weight that the values give it.

    Coalitions of a size must be drawn alike, as all methods do but those that choose players.
    """
    if not isinstance(semivalue, Shapley | Banzhaf) or len(keys) < LEAST_PER_PLAYER * n_players:
        return None
    most = int(MOST_PRODUCTS / n_players**2)
    if most < LEAST_PER_PLAYER * n_players:
        return None
    packed = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), -1)
    sizes = bits.sizes(packed).astype(np.int64)
    empty, full = changes[sizes == 0], changes[sizes == n_players]
    inner = np.flatnonzero((sizes > 0) & (sizes < n_players))
    if len(empty) != 1 or len(full) != 1:
        return None
    if len(inner) > most:
        inner = side_generator(root_seed(0), "coalitions of a regression").permutation(inner)[:most]
        inner.sort()
    masks = bits.unpack(packed[inner], n_players).astype(np.float64)
    mass = _size_mass(semivalue, n_players)
    counts = np.bincount(sizes[inner], minlength=n_players + 1)
    weights = mass[sizes[inner]] / counts[sizes[inner]]
    targets = changes[inner].astype(np.float64) - empty
    with one_thread():
        if isinstance(semivalue, Shapley):
            return _summing_to(masks, weights, targets, (full - empty)[0].astype(np.float64))
        centred = masks - np.average(masks, axis=0, weights=weights)
        return _solved(centred, weights, targets)[0]


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
    masks: FloatArray, weights: FloatArray, targets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The coefficients of each column of targets, and the inverse applied to ones."""
    weighted = masks * weights[:, None]
    gram = masks.T @ weighted
    gram[np.diag_indices_from(gram)] += RIDGE * float(np.trace(gram)) / len(gram)
    sides = np.column_stack([weighted.T @ targets, np.ones(len(gram))])
    solution: FloatArray = cho_solve(cho_factor(gram), sides)
    return solution[:, :-1], solution[:, -1]


def _summing_to(
    masks: FloatArray, weights: FloatArray, targets: FloatArray, sums: FloatArray
) -> FloatArray:
    """The same with coefficients that add up to what all players together change."""
    free, ones = _solved(masks, weights, targets)
    return free - np.outer(ones / ones.sum(), free.sum(axis=0) - sums)
