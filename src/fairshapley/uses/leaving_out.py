"""Leave-one-out values: what the whole group loses when a player leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics.arguments import known_names
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.evaluation.engines import EngineOption
from fairshapley.games.game import Game
from fairshapley.runs.setup import JournalOption, evaluating, game_facts


@known_names
def leave_one_out(
    game: Game,
    *,
    engine: EngineOption = None,
    journal: JournalOption = None,
) -> FloatArray:
    """v(N) − v(N∖{i}) of each player, from n + 1 evaluations.

    The baseline that data valuation is compared with. It looks at one coalition where the Shapley
    value looks at all: two players that can replace each other, such as duplicated rows,
    both get nothing, and the values do not sum to v(N) − v(∅).

    Parameters
    ----------
    game
        A callable with `n_players` that maps a boolean array (m, n) to m utilities.
    engine
        Who computes the utilities, as in `estimate`; by default this process.
    journal
        A file that keeps every utility, shared with `estimate`: what it holds is not computed
        again.

    Returns
    -------
    FloatArray
        One value for each player.

    Examples
    --------
    >>> import fairshapley as fs
    >>> leave_one_out(fs.games.Airport([1.0, 2.0, 4.0]))
    array([0., 0., 2.])
    """
    facts = game_facts(game, needed=journal is not None)
    draw = _WithoutEach(facts.n_players)
    with evaluating(game, facts, engine=engine, journal=journal) as evaluator:
        values = evaluator.evaluate(draw).values
    losses: FloatArray = values[0] - values[1:]
    return losses


@dataclass(frozen=True)
class _WithoutEach:
    """All players, then all but one, for each of them."""

    n_players: int

    @property
    def marginals(self) -> int:
        return self.n_players

    def __len__(self) -> int:
        return self.n_players + 1

    def masks(self, start: int, stop: int) -> BoolArray:
        # Player −1 is nobody.
        leaving = np.arange(start, stop)[:, None] - 1
        masks: BoolArray = leaving != np.arange(self.n_players)
        return masks
