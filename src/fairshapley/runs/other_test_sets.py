"""Values without each group of test rows, from the coalitions of a run and their replicates.

A value is linear in the utilities, so that what it changes by without a group of test rows is the
value of the changes.
"""

from __future__ import annotations

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import FloatArray
from fairshapley.evaluation.replicates import Replicates
from fairshapley.games.player_data import group_numbers
from fairshapley.randomness import root_seed, side_generator
from fairshapley.runs.known_coalitions import most_coalitions, values_from
from fairshapley.semivalues import Semivalue

# What becomes an error needs no more, and rounding hides in which order sums were taken.
DIGITS = 6


def replicated_values(
    replicates: Replicates,
    semivalue: Semivalue,
    n_players: int,
    identical: tuple[tuple[int, int], ...] = (),
) -> FloatArray | None:
    """What each value changes by without each group of test rows, shape (players, groups).

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
    packed = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), -1)
    chosen, most = np.arange(len(keys)), most_coalitions(n_players)
    if len(keys) > max(most, 1 << min(n_players, 20)):
        sizes = bits.sizes(packed)
        ends = (sizes == 0) | (sizes == n_players)
        generator = side_generator(root_seed(0), "coalitions of a regression")
        drawn = generator.permutation(np.flatnonzero(~ends))[:most]
        chosen = np.sort(np.concatenate([np.flatnonzero(ends), drawn]))
    masks = bits.unpack(packed[chosen], n_players)
    found = values_from(masks, changes[chosen].astype(np.float64), semivalue)
    if found is None:
        return None
    groups = group_numbers(identical, n_players)
    means = np.stack([np.bincount(groups, weights=one) for one in found.T], axis=1)
    shared: FloatArray = (means / np.bincount(groups)[:, None])[groups]
    return np.array([float(f"{one:.{DIGITS}g}") for one in shared.flat]).reshape(shared.shape)
