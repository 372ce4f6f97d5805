"""Rows explained one after the other: by any method, with an engine or a journal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any

from fairshapley._basics.types import IntArray
from fairshapley.errors import FairShapleyError
from fairshapley.estimators import Estimator, Exact
from fairshapley.evaluation.engines import EngineOption, opened_engine
from fairshapley.evaluation.journal.records import Journal
from fairshapley.games.features import FeatureGame
from fairshapley.randomness import root_seed, side_generator
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate
from fairshapley.runs.setup import JournalOption
from fairshapley.semivalues import Semivalue
from fairshapley.stopping import Budget, Rule
from fairshapley.uses.explanations.attributions import Attributions, gathered
from fairshapley.uses.explanations.together import EXACT_PLAYERS


def one_by_one(
    game: FeatureGame,
    positions: IntArray,
    outputs: tuple[int, ...],
    *,
    single: bool,
    method: str | Estimator[Any, Any],
    budget: int | Budget | None,
    until: Rule | None,
    semivalue: str | Semivalue,
    xi: float,
    seed: int | None,
    engine: EngineOption,
    journal: JournalOption,
) -> Attributions:
    """Explain rows by `fairshapley.estimate`, whose options these are.

    A row draws what it would if it were explained alone, and the same for all of its outputs.
    """
    if method == "auto" and budget is None and until is None and game.n_players <= EXACT_PLAYERS:
        method = Exact()
    with ExitStack() as stack:
        if isinstance(journal, str | os.PathLike):
            journal = stack.enter_context(Journal(journal, shared=True))
        run = partial(
            estimate,
            method=method,
            budget=budget,
            until=until,
            semivalue=semivalue,
            xi=xi,
            engine=stack.enter_context(opened_engine(engine)),  # workers serve all rows
            journal=journal,
            progress=False,
        )
        rows = game.each_row(positions)
        finished, complete = _explain_rows(rows, outputs, root_seed(seed), run)
    return gathered(game, positions, outputs, finished, single=single, complete=complete)


def _explain_rows(
    games: Iterable[FeatureGame], chosen: tuple[int, ...], seed: int, run: Callable[..., Result]
) -> tuple[dict[int, tuple[Result, ...]], bool]:
    """Results by the place of the row, and whether all were finished before Ctrl-C came."""
    finished: dict[int, tuple[Result, ...]] = {}
    for place, one in enumerate(games):
        row = one.rows[0]
        row_seed = int(side_generator(seed, f"row {row}").integers(2**62))
        results = []
        try:
            # What was predicted is remembered by `one`, for all its outputs.
            for output in chosen:
                results.append(run(one.for_output(output), seed=row_seed))
                if not results[-1].complete:
                    return finished, False
            finished[place] = tuple(results)
        except KeyboardInterrupt:
            return finished, False
        except FairShapleyError as error:
            error.add_note(f"It was raised while row {row} was explained.")
            raise
    return finished, True
