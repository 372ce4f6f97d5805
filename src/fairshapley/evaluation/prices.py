"""What evaluations cost, where a game says so: tokens, euros, seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.draws import random_ranks
from fairshapley.errors import FairShapleyError, InputError
from fairshapley.games import abilities
from fairshapley.games.game import Game
from fairshapley.randomness import round_generator

# Coalitions of a size whose mean price stands for the size, and sizes between which it is read off.
PER_SIZE, MOST_SIZES = 8, 64


class Prices:
    """The prices of coalitions.

    Parameters
    ----------
    function
        The game's ``cost``: a boolean array (m, n) in, m positive numbers out.
    n_players
        The number of players.

    Examples
    --------
    >>> prices = Prices(lambda masks: 1.0 + masks.sum(axis=1), 3)
    >>> by_size(prices.means(), 3)
    array([1., 2., 3., 4.])
    """

    def __init__(self, function: Callable[[BoolArray], FloatArray], n_players: int) -> None:
        self._function, self.n_players = function, n_players

    @classmethod
    def of(cls, game: Game | None) -> Prices | None:
        """Return the prices of a game that has any."""
        function = abilities.cost(game)
        return None if game is None or function is None else cls(function, game.n_players)

    def each(self, masks: BoolArray) -> FloatArray:
        """Return the price of each coalition, or raise InputError."""
        try:
            prices = np.asarray(self._function(masks), dtype=np.float64)
        except FairShapleyError:
            raise
        except Exception as error:
            raise InputError(
                f"the game's cost failed for {len(masks)} coalitions ({type(error).__name__}: "
                f"{error}): return a positive number for each coalition"
            ) from error
        if prices.shape != (len(masks),) or not (np.isfinite(prices) & (prices > 0)).all():
            raise InputError(
                f"the game's cost must be a positive number for each of {len(masks)} coalitions: "
                "return an array of them"
            )
        return prices

    def means(self) -> tuple[float, ...]:
        """Return the mean price of a few coalitions of some sizes, from 0 to n."""
        sizes, n_players = _sizes(self.n_players), self.n_players
        ranks = random_ranks(round_generator(0, 0), PER_SIZE * len(sizes), n_players)
        means = self.each(ranks < np.repeat(sizes, PER_SIZE)[:, None]).reshape(-1, PER_SIZE)
        return tuple(means.mean(axis=1).tolist())


def _sizes(n_players: int) -> IntArray:
    return np.unique(np.linspace(0, n_players, MOST_SIZES).round().astype(np.int64))


def by_size(means: Sequence[float], n_players: int) -> FloatArray:
    """Return the prices of all sizes 0 … n, from prices of a few sizes (`Prices.means`)."""
    return np.interp(np.arange(n_players + 1), _sizes(n_players), means)
