"""Random utilities that take a seed: training with SGD, a sampled answer, a noisy judge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.games.game import FunctionGame
from fairshapley.randomness import draw_seeds, root_seed


class Random(FunctionGame):
    """A game whose utility is the expectation of a random function.

    Every evaluation is a new draw with a seed of its own, which a journal keeps with it. Values,
    standard errors and certificates are about the expectation.

    Parameters
    ----------
    fn
        Takes the members as a tuple of player indices in increasing order and a seed, a whole
        number below 2**32; returns a number. The same seed must give the same number. It may be an
        ``async def``.
    n_players
        The number of players.
    same_seed
        Whether coalitions that are compared with each other, those of a walk or of a pair, get the
        same seed (common random numbers). It lowers the noise where a seed does the same to all
        coalitions: the same test questions, the same initial weights.
    **options
        The key, player_names, value_range, identical_players, unit, cost and cost_unit of a
        `FunctionGame`.

    Examples
    --------
    >>> import fairshapley as fs
    >>> def noisy(coalition, seed):
    ...     return len(coalition) + np.random.default_rng(seed).normal()
    >>> result = fs.estimate(Random(noisy, 3), budget=3000, seed=0)
    >>> bool((abs(result.values - 1.0) < 4 * result.standard_errors).all()), result.random
    (True, True)
    """

    def __init__(
        self,
        fn: Callable[[tuple[int, ...], int], float | Awaitable[float]],
        n_players: int,
        *,
        same_seed: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(fn, n_players, random=True, **options)  # type: ignore[arg-type]
        self.same_seed = checks.flag("same_seed", same_seed)

    def draw(self, coalitions: BoolArray, seeds: IntArray) -> FloatArray:
        """One draw for each row of `coalitions`, with these seeds."""
        return self._utilities(coalitions, seeds.tolist())

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """One draw for each row of `coalitions`, with new seeds."""
        numbers = np.arange(len(coalitions))
        return self.draw(coalitions, draw_seeds(root_seed(None), numbers).astype(np.int64))
