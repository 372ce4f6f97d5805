"""A federated run valued round by round."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from fairshapley.evaluation.engines import EngineOption, opened_engine
from fairshapley.evaluation.journal import Journal
from fairshapley.games import abilities
from fairshapley.games.game import Game
from fairshapley.randomness import side_generator
from fairshapley.results.records import PartValues, Remark
from fairshapley.results.result import Result
from fairshapley.results.serialising import with_fields
from fairshapley.runs.plan import JournalOption
from fairshapley.stopping import Budget


def estimate_rounds(
    game: Game,
    estimate_round: Callable[..., Result],
    *,
    budget: Budget | None,
    seed: int | None,
    engine: EngineOption,
    journal: JournalOption,
) -> Result:
    """Return the values of the total, with the values of each round in `parts`.

    Values are linear in the game: the values of the total are the sums of the rounds' values.
    An evaluation of the total takes one in each round: a budget of evaluations is for each round,
    and seconds and cost are divided among the rounds. `estimate_round` is `estimate` with all
    other arguments given.
    """
    parts = abilities.rounds(game)
    n_rounds = len(parts)
    if budget is not None:
        seconds = None if budget.seconds is None else budget.seconds / n_rounds
        cost = None if budget.cost is None else budget.cost / n_rounds
        budget = replace(budget, seconds=seconds, cost=cost)
    results: list[Result] = []
    with ExitStack() as stack:
        opened = stack.enter_context(opened_engine(engine))
        if isinstance(journal, str | os.PathLike):
            journal = stack.enter_context(Journal(journal, shared=True))
        for place, part in enumerate(parts):
            if place:
                root = results[0].seed
                seed = int(side_generator(root, f"round {place}").integers(2**62))
            result = estimate_round(part, budget=budget, seed=seed, engine=opened, journal=journal)
            if not result.complete:
                raise KeyboardInterrupt  # without all rounds there is no total
            results.append(result)
    return _total(game, results)


def _total(game: Game, results: list[Result]) -> Result:
    """Return the result of the sum of the rounds, whose draws are independent."""
    first = results[0]
    ends = [result.game.endpoints or (0.0, 0.0) for result in results]
    return with_fields(
        first,
        values=np.sum([result.values for result in results], axis=0),
        standard_errors=np.sqrt(np.sum([result.evidence.variances for result in results], axis=0)),
        sampling_errors=np.sqrt(
            np.sum([np.square(result.evidence.statement_errors) for result in results], axis=0)
        ),
        shift=np.sum([result.evidence.shift_or_zero for result in results], axis=0),
        counts=np.min([result.counts for result in results], axis=0),
        evaluations=sum(result.evaluations for result in results),
        exact=all(result.exact for result in results),
        obstacle=next(
            (result.evidence.obstacle for result in results if result.evidence.obstacle), ""
        ),
        extremes=None,
        contribution_width=None,
        marginals=None,
        stopped=f"each of {len(results)} rounds: {first.stopped}",
        notes=(
            *first.notes,
            f"the evaluations are counted over {len(results)} rounds; the budget holds in each",
        ),
        endpoints=(sum(low for low, _ in ends), sum(high for _, high in ends)),
        fingerprint=None,
        value_range=abilities.value_range(game),
        remarks=tuple(Remark(*said) for said in abilities.remarks(game)),
        rounds=None,
        journal_digest=results[-1].run.journal_digest,
        computed=sum(result.run.computed for result in results),
        cache_hits=sum(result.run.cache_hits for result in results),
        seconds=sum(result.run.seconds for result in results),
        unit=abilities.unit(game),
        history=(),
        profile=(),
        parts=tuple(
            PartValues(f"round {part.record.number}", result.values, end)
            for part, result, end in zip(abilities.rounds(game), results, ends, strict=True)
        ),
    )
