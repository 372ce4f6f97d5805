"""One run of a method, recorded when the paper's budget and when the honest one are spent.

The paper's runs go on when every coalition is known: 1300 marginals of a game with 16 coalitions.
So they advance through a gate of their own; the honest ones are runs like any other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.draws import Draw, ListedCoalitions
from fairshapley.estimators.estimator import Estimator
from fairshapley.evaluation.evaluator import Evaluator
from fairshapley.games.game import Game
from fairshapley.runs.loop import Run
from fairshapley.runs.plan import GameFacts, Plan, RunLog
from fairshapley.semivalues import Semivalue
from fairshapley.stopping import Budget
from fairshapley_paper.experiment import Outcome, Setting, Trial
from fairshapley_paper.methods import METHODS, Method


class RememberingGame:
    """A game that remembers its utilities; trials that share it differ in nothing but time.

    Examples
    --------
    >>> import fairshapley as fs
    >>> import numpy as np
    >>> memo = RememberingGame(fs.games.Additive([1.0, 2.0]))
    >>> memo(np.array([[True, False], [True, True]]))
    array([1., 3.])
    """

    def __init__(self, game: Game) -> None:
        self.n_players = int(game.n_players)
        self._evaluator = Evaluator(game, self.n_players)

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """The utility of each row, computed when it is new."""
        draw = ListedCoalitions.of(coalitions)
        return self._evaluator.evaluate(draw).values


def prepare_run(
    game: Game,
    estimator: Estimator[Any, Any],
    semivalue: Semivalue,
    *,
    xi: float,
    seed: int,
    evaluations: int | None = None,
) -> Run:
    """A run that knows nothing of the game but its utilities.

    Parameters
    ----------
    game, estimator, semivalue, xi, seed
        What is run.
    evaluations
        Its budget, if it has one.
    """
    n_players = int(game.n_players)
    budget = None if evaluations is None else Budget(evaluations=evaluations)
    facts = GameFacts(n_players, None, None, None, n_players)
    plan = Plan(game=facts, estimator=estimator, semivalue=semivalue, xi=xi, budget=budget)
    evaluator = Evaluator(game, n_players)
    return Run(plan, evaluator, RunLog(None, 0, seed), time.monotonic())


def finish(run: Run) -> Outcome:
    """What is known when the budget is spent, or when the values are exact."""
    run.execute(progress=False)
    return outcome(run)


def outcome(run: Run) -> Outcome:
    """What a run knows now."""
    now = run.estimate()
    return Outcome(now.values, now.variances, run.evaluator.tally.evaluations, run.marginals)


def run_trial(
    memo: RememberingGame,
    method: str,
    semivalue: Semivalue,
    setting: Setting,
    *,
    seed: int,
    xi: float,
) -> Trial:
    """One trial of a method.

    Parameters
    ----------
    memo
        The game.
    method
        A key of `METHODS`.
    semivalue, setting, seed, xi
        What is estimated, for how long, with which draws, and ξ.
    """
    started = time.process_time()
    n_players, chosen = memo.n_players, METHODS[method]
    prepare = partial(prepare_run, memo, semivalue=semivalue, xi=xi, seed=seed)
    permutations = setting.permutations(n_players, greedy=chosen.greedy)
    limit = setting.total_evaluations(n_players)
    if method == "exact":
        honest = finish(prepare(chosen.make(permutations)))
        path: tuple[Outcome, ...] = (honest,)
    else:
        run = prepare(chosen.make(permutations), evaluations=limit)
        path = tuple(_paper_path(run, setting, chosen, permutations))
        if setting.evaluations is not None or setting.share is not None:
            run = prepare(chosen.make(setting.honest_permutations(n_players)), evaluations=limit)
        honest = finish(run)
    return Trial(method, path, honest, time.process_time() - started)


def _paper_path(run: Run, setting: Setting, method: Method, permutations: int) -> Iterator[Outcome]:
    """The outcome when each of the looks' budgets is spent.

    A method without marginals is charged for requests, repeated ones too: what so many marginals
    request at most, n − 1 for a permutation and two for a single marginal, unless it says less.
    """
    n_players = run.game.n_players
    # With one look only the end is asked for; a curve starts where the bootstrap ends.
    for look in range(setting.looks + 1) if setting.looks > 1 else (1,):
        share = setting.marginals * look // setting.looks
        marginals = permutations * n_players + share
        requests = 2 + permutations * (n_players - 1) + method.coalitions(share, n_players)
        run.advance(partial(_gate, run=run, marginals=marginals, requests=requests))
        yield outcome(run)


def _gate(draw: Draw, *, run: Run, marginals: int, requests: int) -> str | None:
    if draw.marginals is None:
        spent = run.evaluator.tally.requests + len(draw) > requests
    else:
        spent = (run.marginals or 0) + draw.marginals > marginals
    return "the paper's budget is spent" if spent else None
