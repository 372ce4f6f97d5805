"""Values from the coalitions that a run knows, whatever method asked for them.

They tell what copies of data earn and cost, and what values change by without a group of test rows:
values are linear in the utilities. Exact from all 2ⁿ coalitions, else by the regression whose
coefficients are the values (Charnes et al. 1988 for Shapley values, Hammer and Holzman 1992 for
Banzhaf values). Coalitions of one size must be drawn alike, as all methods do but those that choose
players.
"""

from __future__ import annotations

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
    if n_players <= MAX_TABLE_PLAYERS and len(masks) == 1 << n_players:
        order = np.argsort(masks @ (1 << np.arange(n_players)))
        return np.stack([exact_values(column, semivalue) for column in utilities[order].T], axis=1)
    least = LEAST_PER_PLAYER * n_players
    known = isinstance(semivalue, Shapley | Banzhaf)
    if not known or len(masks) < least or int(MOST_PRODUCTS / n_players**2) < least:
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
    return np.stack([owen_values(column, owen) for column in utilities[found].T], axis=1)


def _regressed(masks: BoolArray, utilities: FloatArray, semivalue: Semivalue) -> FloatArray | None:
    """Return the coefficients of weighted least squares, for each column of utilities."""
    n_players, sizes = masks.shape[1], masks.sum(axis=1)
    empty, full = utilities[sizes == 0], utilities[sizes == n_players]
    if len(empty) != 1:
        return None
    # Each size has the weight that the values give it, up to a factor.
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
    most, chosen = int(MOST_PRODUCTS / n_players**2), np.arange(len(keys))
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
    means = np.stack([np.bincount(groups, weights=column) for column in found.T], axis=1)
    shared: FloatArray = (means / np.bincount(groups)[:, None])[groups]
    return np.array([float(f"{change:.{DIGITS}g}") for change in shared.flat]).reshape(shared.shape)


def copies_with_costs(
    found: Sequence[Copies], cache: Cache, semivalue: Semivalue, evidence: Evidence
) -> tuple[Copies, ...]:
    """Return groups of copies with what they earn and what the others lose, if values are exact.

    The game without the copies is the game on the coalitions that hold none of them. Estimates of
    both games would differ by more than most copies earn.

    Parameters
    ----------
    found
        The groups.
    cache
        The utilities that the run knows.
    semivalue, evidence
        What was valued, and the values with the copies.
    """
    n_players, values = evidence.n_players, evidence.values
    known = evidence.exact and cache.complete and cache.n_players == n_players
    if not known or isinstance(semivalue, OwenValue):
        return tuple(found)
    table, numbers = cache.table(), np.arange(1 << n_players)

    def with_cost(copies: Copies) -> Copies:
        first, *others = copies.players
        none = (numbers & sum(1 << player for player in others)) == 0
        alone = exact_values(table[none], semivalue)
        kept = np.delete(np.arange(n_players), others)
        earned = values[list(copies.players)].sum() - alone[kept == first][0]
        lost = (alone - values[kept])[kept != first].sum()
        return copies._replace(earned=float(earned), lost=float(lost), error=0.0)

    return (*map(with_cost, found[:MOST_GROUPS]), *found[MOST_GROUPS:])
