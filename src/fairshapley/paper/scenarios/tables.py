"""Games so small that all utilities are computed once, and all trials look them up."""

from __future__ import annotations

import numpy as np

from fairshapley._types import BoolArray
from fairshapley.games.base import Game, TableGame
from fairshapley.paper.experiment import Played


def all_coalitions(n_players: int) -> BoolArray:
    """Every coalition, in the order of a `TableGame`: the index is the bit mask.

    Examples
    --------
    >>> all_coalitions(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    masks = np.arange(1 << n_players)[:, None] >> np.arange(n_players)
    coalitions: BoolArray = (masks & 1).astype(bool)
    return coalitions


def tabulated(game: Game, *, notes: tuple[str, ...] = ()) -> Played:
    """The same game as a table; its true values follow by enumeration."""
    values = game(all_coalitions(game.n_players))
    return Played(TableGame(values, player_names=getattr(game, "player_names", None)), notes=notes)
