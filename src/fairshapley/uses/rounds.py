"""A federated run valued round by round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairshapley._basics.arguments import known_names
from fairshapley.errors import InputError
from fairshapley.estimators import Estimator
from fairshapley.evaluation.engines import EngineOption, opened_engine
from fairshapley.games.federated import FederatedGame
from fairshapley.randomness import root_seed, side_generator
from fairshapley.results.checkpoints import PartValues
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate
from fairshapley.runs.setup import JournalOption
from fairshapley.semivalues import Semivalue
from fairshapley.stopping import Budget


@known_names
def estimate_rounds(
    game: FederatedGame,
    method: str | Estimator[Any, Any] = "auto",
    *,
    budget: int | Budget | None = None,
    semivalue: str | Semivalue = "shapley",
    xi: float = 1e-3,
    seed: int | None = None,
    engine: EngineOption = None,
    journal: JournalOption = None,
) -> Result:
    """Estimate the values of the agents of a federated run, in each round and in total.

    Values are linear in the game, so that those of the total are the sum of those of the
    rounds. The result is that of the total; its `parts` hold the rounds, and its report has a
    table of them.

    Parameters
    ----------
    game
        A federated game.
    method, budget, semivalue, xi, engine, journal
        As in `fairshapley.estimate`, for every round; a budget is for each. A round is a game of
        its own, so that a journal is one for several: ``fs.Journal(path, shared=True)``.
    seed
        Fixes all random draws.

    Examples
    --------
    >>> updates = [{"ann": [np.array([1.0])], "bob": [np.array([3.0])]}, {"bob": [np.array([8.0])]}]
    >>> game = FederatedGame.from_updates(
    ...     updates, lambda weights: float(weights[0][0]), given="weights", server=[np.zeros(1)])
    >>> result = estimate_rounds(game)
    >>> [(part.name, part.values) for part in result.parts]
    [('round 0', (0.0, 2.0)), ('round 1', (0.0, 6.0))]
    >>> result.values
    array([0., 8.])
    """
    if not isinstance(game, FederatedGame):
        raise InputError("estimate_rounds needs a fs.games.FederatedGame: use fs.estimate")
    root = root_seed(seed)
    results: list[Result] = []
    with opened_engine(engine) as opened:
        for place, part in enumerate(game.rounds):
            number = int(side_generator(root, f"round {place}").integers(2**62))
            one = estimate(
                part,
                method,
                budget=budget,
                semivalue=semivalue,
                xi=xi,
                seed=number,
                engine=opened,
                journal=journal,
            )
            if not one.complete:
                raise KeyboardInterrupt
            results.append(one)
    return _total(game, results, root)


def _total(game: FederatedGame, results: list[Result], seed: int) -> Result:
    """The result of the sum of the rounds, whose draws do not depend on each other."""
    first = results[0]
    ends = [one.endpoints for one in results if one.endpoints is not None]
    variances = np.sum([one.variances for one in results], axis=0)
    return replace(
        first,
        values=np.sum([one.values for one in results], axis=0),
        standard_errors=np.sqrt(variances),
        counts=np.min([one.counts for one in results], axis=0),
        evaluations=sum(one.evaluations for one in results),
        exact=all(one.exact for one in results),
        obstacle=next((one.obstacle for one in results if one.obstacle), ""),
        extremes=None,
        contribution_width=None,
        marginals=None,
        stopped=f"each of {len(results)} rounds: {first.stopped}",
        seed=seed,
        endpoints=(sum(low for low, _ in ends), sum(high for _, high in ends)),
        fingerprint=None,
        value_range=game.value_range,
        rounds=None,
        journal_digest=results[-1].journal_digest,
        computed=sum(one.computed for one in results),
        cache_hits=sum(one.cache_hits for one in results),
        seconds=sum(one.seconds for one in results),
        unit=game.unit,
        history=(),
        profile=(),
        parts=tuple(
            PartValues(f"round {part.record.number}", tuple(one.values.tolist()), end)
            for part, one, end in zip(game.rounds, results, ends, strict=True)
        ),
    )
