"""Values from the coalitions that a run knows, whatever method asked for them.

They tell what copies of data earn and cost, and what values change by without a group of test rows:
values are linear in the utilities. Exact from all 2ⁿ coalitions, else by the regression whose
coefficients are the values (Charnes et al. 1988 for Shapley values, Hammer and Holzman 1992 for
Banzhaf values). Coalitions of one size must be drawn alike, as all methods do but those that choose
players.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from fairshapley._basics import bits
from fairshapley._basics.threads import one_thread
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.estimators.exact import exact_values, owen_values
from fairshapley.evaluation.cache import Cache, Replicates
from fairshapley.fairness.evidence import Evidence
from fairshapley.games.game import MAX_TABLE_PLAYERS
from fairshapley.games.player_data import group_numbers
from fairshapley.randomness import root_seed, side_generator
from fairshapley.results.records import Copies
from fairshapley.semivalues import Banzhaf, Semivalue, Shapley, log_binomial
from fairshapley.unions import OwenValue

# A regression on fewer coalitions for each player mostly shows its own noise.
LEAST_PER_PLAYER = 4
# The products of a regression take a second; with more players there would be too few coalitions.
MOST_PRODUCTS = 2e10
# Keeps the system solvable when two players were hardly ever apart.
RIDGE = 1e-9
# What becomes an error needs no more, and rounding hides in which order sums were taken.
DIGITS = 6
# More groups of copies are named without what they cost.
MOST_GROUPS = 10


def most_coalitions(n_players: int) -> int:
    """Return how many coalitions a regression may have."""
    return int(MOST_PRODUCTS / n_players**2)


def values_from(masks: BoolArray, utilities: FloatArray, semivalue: Semivalue) -> FloatArray | None:
    """Return the values of games whose utilities are known for some coalitions.

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
    if isinstance(semivalue, OwenValue):
        return _owen_values(masks, utilities, semivalue)
    if _all_known(masks):
        order = np.argsort(masks @ (1 << np.arange(n_players)))
        return np.stack([exact_values(one, semivalue) for one in utilities[order].T], axis=1)
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


def _owen_values(masks: BoolArray, utilities: FloatArray, owen: OwenValue) -> FloatArray | None:
    """Return Owen values, where all coalitions that they need are known."""
    if owen.n_coalitions > len(masks):
        return None
    places = {key: place for place, key in enumerate(bits.keys(masks))}
    found = [places.get(key, -1) for key in bits.keys(owen.coalitions())]
    if min(found) < 0:
        return None
    return np.stack([owen_values(one, owen) for one in utilities[found].T], axis=1)


def _all_known(masks: BoolArray) -> bool:
    n_players = masks.shape[1]
    return n_players <= MAX_TABLE_PLAYERS and len(masks) == 1 << n_players


def _weighted(masks: BoolArray, semivalue: Semivalue) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Return which coalitions are neither ∅ nor N, their weights, and their members as numbers.

    Each size has the weight that the values give it, up to a factor.
    """
    n_players, sizes = masks.shape[1], masks.sum(axis=1)
    each, mass = np.arange(1, n_players, dtype=np.float64), np.zeros(n_players + 1)
    if isinstance(semivalue, Shapley):
        mass[1:-1] = 1 / (each * (n_players - each))
    else:
        logs = log_binomial(n_players, each)
        mass[1:-1] = np.exp(logs - logs.max())
    inner = (sizes > 0) & (sizes < n_players)
    counts = np.bincount(sizes[inner], minlength=n_players + 1)
    weights = mass[sizes[inner]] / counts[sizes[inner]]
    members = masks[inner].astype(np.float64)
    if isinstance(semivalue, Banzhaf):
        members -= np.average(members, axis=0, weights=weights)
    return inner, weights, members


def _regressed(masks: BoolArray, utilities: FloatArray, semivalue: Semivalue) -> FloatArray | None:
    """Return the coefficients of weighted least squares, for each column of utilities."""
    n_players, sizes = masks.shape[1], masks.sum(axis=1)
    empty, full = utilities[sizes == 0], utilities[sizes == n_players]
    if len(empty) != 1:
        return None
    inner, weights, members = _weighted(masks, semivalue)
    weighted = members * weights[:, None]
    gram = members.T @ weighted
    gram[np.diag_indices_from(gram)] += RIDGE * float(np.trace(gram)) / len(gram)
    sides = np.column_stack([weighted.T @ (utilities[inner] - empty), np.ones(len(gram))])
    solution: FloatArray = cho_solve(cho_factor(gram), sides)
    free, ones = solution[:, :-1], solution[:, -1]
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
    n_players = masks.shape[1]
    if _all_known(masks) or isinstance(semivalue, OwenValue):
        return np.zeros(n_players)
    inner, weights, members = _weighted(masks, semivalue)
    empty = utilities[~masks.any(axis=1)][0]
    residuals = utilities[inner] - empty - masks[inner] @ values
    if isinstance(semivalue, Banzhaf):
        residuals -= np.average(residuals, weights=weights)
    inverse = np.linalg.pinv(members.T @ (members * weights[:, None]), hermitian=True)
    if isinstance(semivalue, Shapley):  # the sum of the values is known
        ones = inverse.sum(axis=0)
        inverse -= np.outer(ones, ones) / ones.sum()
    moved = (members @ inverse) * (weights * residuals)[:, None]
    freedom = max(len(members) - n_players, 1)
    return np.sqrt(np.square(moved).sum(axis=0) * len(members) / freedom)


def replicated_values(
    replicates: Replicates,
    semivalue: Semivalue,
    n_players: int,
    identical: tuple[tuple[int, int], ...] = (),
) -> FloatArray | None:
    """Return what each value changes by without each group of test rows, (players, groups).

    None where too few coalitions are known, where the utility is not defined without some group,
    or a semivalue has no regression of its own.

    Parameters
    ----------
    replicates
        Of the run.
    semivalue
        What is estimated.
    n_players
        The number of players; with some declared null there is no answer.
    identical
        Pairs of players that share one value.
    """
    keys, changes = replicates.sorted()
    # Without the only test row of a class there is no AUC.
    if replicates.n_players < n_players or not keys or not np.isfinite(changes).all():
        return None
    most, chosen = most_coalitions(n_players), np.arange(len(keys))
    if len(keys) > max(most, 1 << min(n_players, 20)):
        sizes = bits.sizes(np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), -1))
        ends = (sizes == 0) | (sizes == n_players)
        generator = side_generator(root_seed(0), "coalitions of a regression")
        drawn = generator.permutation(np.flatnonzero(~ends))[:most]
        chosen = np.sort(np.concatenate([np.flatnonzero(ends), drawn]))
    masks = bits.from_keys([keys[at] for at in chosen.tolist()], n_players)
    found = values_from(masks, changes[chosen].astype(np.float64), semivalue)
    if found is None:
        return None
    groups = group_numbers(identical, n_players)
    means = np.stack([np.bincount(groups, weights=one) for one in found.T], axis=1)
    shared: FloatArray = (means / np.bincount(groups)[:, None])[groups]
    return np.array([float(f"{one:.{DIGITS}g}") for one in shared.flat]).reshape(shared.shape)


def copies_with_costs(
    found: Sequence[Copies], cache: Cache, semivalue: Semivalue, evidence: Evidence
) -> tuple[Copies, ...]:
    """Return groups of copies with what they earn and what the others lose.

    The game without the copies is the game on the coalitions that hold none of them.

    Parameters
    ----------
    found
        The groups.
    cache
        The utilities that the run knows.
    semivalue, evidence
        What was estimated, and the values with the copies.
    """
    n_players = evidence.n_players
    if cache.n_players != n_players or np.isnan(evidence.values).any():
        return tuple(found)
    keys, utilities = cache.entries()
    step = -(-len(keys) // max(1, most_coalitions(n_players)))
    masks, known = bits.from_keys(keys[::step], n_players), utilities[::step]
    costs = [_with_costs(one, masks, known, semivalue, evidence) for one in found[:MOST_GROUPS]]
    return (*costs, *found[MOST_GROUPS:])


def _with_costs(
    copies: Copies, masks: BoolArray, known: FloatArray, semivalue: Semivalue, evidence: Evidence
) -> Copies:
    first, *others = copies.players
    together, values = list(copies.players), evidence.values
    kept = np.delete(np.arange(len(values)), others)
    rows = ~masks[:, others].any(axis=1) & ~np.isnan(known)
    if isinstance(semivalue, OwenValue):
        semivalue = semivalue.among(kept)
    without, utilities = masks[rows][:, kept], known[rows]
    alone = values_from(without, utilities[:, None], semivalue) if len(kept) > 1 else None
    if alone is None:
        return copies
    original = kept == first
    errors = value_errors(without, utilities, alone[:, 0], semivalue)
    lost = (alone[:, 0] - values[kept])[~original].sum()
    earned = values[together].sum() - alone[original, 0][0]
    # Errors of the copies may have one cause, and then they add up.
    error = math.hypot(evidence.standard_errors[together].sum(), errors[original][0])
    return copies._replace(earned=float(earned), lost=float(lost), error=error)
