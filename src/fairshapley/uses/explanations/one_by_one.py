"""Rows explained one after the other: by any method, with an engine or a journal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import FloatArray, IntArray
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
from fairshapley.uses.explanations.attributions import Attributions
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
    if not finished:
        raise KeyboardInterrupt  # taken by the run of the first row; there is nothing to give
    return _gathered(game, finished, outputs, single, complete)


def _explain_rows(
    games: Iterable[FeatureGame], chosen: tuple[int, ...], seed: int, run: Callable[..., Result]
) -> tuple[list[_Row], bool]:
    """The rows one after the other, and whether all were finished before Ctrl-C came."""
    finished: list[_Row] = []
    for one in games:
        row = one.rows[0]
        row_seed = int(side_generator(seed, f"row {row}").integers(2**62))
        # What was predicted is remembered by `one`, for all its outputs.
        outputs = [one.for_output(output) for output in chosen]
        results = []
        try:
            for each in outputs:
                results.append(run(each, seed=row_seed))
                if not results[-1].complete:
                    return finished, False
            finished.append(_Row(row, one.player_data, tuple(results), _ends(outputs)))
        except KeyboardInterrupt:
            return finished, False
        except FairShapleyError as error:
            error.add_note(f"It was raised while row {row} was explained.")
            raise
    return finished, True


@dataclass(frozen=True, eq=False)
class _Row:
    """What is kept of an explained row: not its game, whose memory is large."""

    row: int
    data: NDArray[Any]
    results: tuple[Result, ...]
    ends: FloatArray
    """v(∅) and v(N) of each output"""


def _ends(games: list[FeatureGame]) -> FloatArray:
    ends = np.zeros((2, games[0].n_players), dtype=bool)
    ends[1] = True
    return np.stack([each(ends) for each in games])


def _gathered(
    game: FeatureGame,
    finished: list[_Row],
    chosen: tuple[int, ...],
    single: bool,
    complete: bool,
) -> Attributions:
    """The results of all rows as arrays, without the axis of outputs where there is only one."""
    last: Any = 0 if single else slice(None)
    values = [np.stack([one.values for one in row.results], axis=1) for row in finished]
    errors = [np.stack([one.standard_errors for one in row.results], axis=1) for row in finished]
    ends = np.stack([row.ends for row in finished])
    return Attributions(
        values=np.stack(values)[:, :, last],
        standard_errors=np.stack(errors)[:, :, last],
        base_values=ends[:, :, 0][:, last],
        predictions=ends[:, :, 1][:, last],
        data=np.concatenate([row.data for row in finished]),
        rows=tuple(row.row for row in finished),
        player_names=game.player_names,
        output_names=tuple(game.output_names[output] for output in chosen),
        results=tuple(row.results for row in finished),
        complete=complete,
    )
