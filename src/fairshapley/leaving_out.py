"""Leave-one-out values: what the whole group loses when a player leaves."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from fairshapley._basics.arguments import known_names
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.closed_forms import exact_result
from fairshapley.evaluation.engines import EngineOption
from fairshapley.games.game import Game
from fairshapley.results.result import Result
from fairshapley.runs.setup import JournalOption, evaluating, game_facts


@known_names
def leave_one_out(
    game: Game, *, engine: EngineOption = None, journal: JournalOption = None
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
    return values[0] - values[1:]


def leave_one_out_result(
    game: Game, *, engine: EngineOption = None, journal: JournalOption = None, xi: float = 1e-3
) -> Result:
    """The values of `leave_one_out` as a result, which is saved, printed and reported.

    Examples
    --------
    >>> import fairshapley as fs
    >>> print(leave_one_out_result(fs.games.Airport([1.0, 2.0, 4.0])))
    Leave-one-out values of 3 players, exact
    ...
    """
    started = time.monotonic()
    values = leave_one_out(game, engine=engine, journal=journal)
    return exact_result(
        game,
        values,
        {"name": "leave_one_out"},
        semivalue="leave-one-out",
        stopped="the utility without each player was computed: the values are exact",
        evaluations=len(values) + 1,
        xi=xi,
        seconds=time.monotonic() - started,
    )


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
        return leaving != np.arange(self.n_players)
