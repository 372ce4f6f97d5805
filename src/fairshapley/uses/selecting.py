"""Whether choosing players by their values is better than choosing them at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import spearmanr

from fairshapley._basics import checks
from fairshapley._basics.arguments import known_names
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.games.game import Game
from fairshapley.randomness import root_seed, side_generator
from fairshapley.results.result import Result

LEVEL = 0.05
"""How seldom chance alone may look better than this"""


@dataclass(frozen=True, eq=False)
class Selection:
    """The players with the highest values against as many at random.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Additive([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    >>> print(better_than_chance(game, fs.exact(game), keep=4))
    the 4 players with the highest values have the utility 22, random ones ... on average: selecting
    by value is better than chance (p = ...); ...
    """

    keep: int
    """How many players are kept"""
    utility: float
    """The utility of those with the highest values"""
    random: FloatArray
    """The utilities of as many players, drawn at random"""
    consistency: float
    """Spearman's correlation of the utility of random groups with the sum of their values"""

    @property
    def p_value(self) -> float:
        """The probability that a random group is as good, by the groups drawn."""
        as_good = int((self.random >= self.utility).sum())
        return (as_good + 1) / (len(self.random) + 1)

    @property
    def better(self) -> bool:
        """Whether the selection beats chance, at the level 0.05."""
        return self.p_value <= LEVEL

    def __str__(self) -> str:
        verdict = "better than chance" if self.better else "no better than chance"
        return (
            f"the {self.keep:,} players with the highest values have the utility "
            f"{self.utility:.4g}, random ones {self.random.mean():.4g} on average: selecting by "
            f"value is {verdict} (p = {self.p_value:.2g}); among random groups the utility "
            f"follows the sum of values with a rank correlation of {self.consistency:.2f}"
        )


@known_names
def better_than_chance(
    game: Game | Callable[[BoolArray], ArrayLike],
    values: Result | ArrayLike,
    *,
    keep: int | None = None,
    draws: int = 99,
    seed: int = 0,
) -> Selection:
    """Test whether the players with the highest values are a better group than a random one.

    Values are averages over all coalitions. They need not say which group is best: a high value
    may rest on small coalitions alone, and players of high value may repeat each other. Where
    the utility is not a growing function of a sum over players, selecting by Shapley value may be
    no better than chance (Wang et al. 2024, arXiv:2405.03875). This function looks.

    Parameters
    ----------
    game
        A game, or any callable that maps a boolean array (m, n) to m utilities. Give one that
        scores on other test rows than those that the values come from.
    values
        A result, or one number per player.
    keep
        The size of the group; by default half of the players.
    draws
        The number of random groups; 19 or more, as fewer never reach the level 0.05.
    seed
        Fixes the random groups.

    Examples
    --------
    >>> import numpy as np
    >>> def parity(groups):
    ...     return groups.sum(axis=1) % 2
    >>> better_than_chance(parity, np.arange(10.0), keep=4).better
    False
    """
    phi = checks.vector(values.values if isinstance(values, Result) else values, "the values")
    n_players = phi.size
    draws = checks.whole("draws", draws, least=19)
    keep = checks.whole("keep", n_players // 2 if keep is None else keep, most=n_players)
    rng = side_generator(root_seed(seed), "selection")
    groups = np.zeros((draws + 1, n_players), dtype=bool)
    groups[0, np.argsort(-phi, kind="stable")[:keep]] = True
    for group in groups[1:]:
        group[rng.choice(n_players, keep, replace=False)] = True
    utilities = np.asarray(game(groups), dtype=np.float64)
    drawn, sums = utilities[1:], groups[1:] @ phi
    # Of equal numbers there is no order to agree with.
    varied = np.ptp(drawn) > 0 and np.ptp(sums) > 0
    consistency = float(spearmanr(sums, drawn).statistic) if varied else 0.0
    return Selection(keep, float(utilities[0]), drawn, consistency)
