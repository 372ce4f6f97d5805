"""Rows explained one after the other: by any method, with an engine or a journal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias

from fairshapley._basics.types import IntArray
from fairshapley.errors import FairShapleyError
from fairshapley.evaluation.engines import EngineOption, opened_engine
from fairshapley.evaluation.journal.records import Journal
from fairshapley.games.features import FeatureGame
from fairshapley.randomness import side_generator
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate
from fairshapley.runs.setup import JournalOption

Finished: TypeAlias = tuple[dict[int, tuple[Result, ...]], bool]
"""Results for each output, by the place of the row, and whether all rows have some"""


@contextmanager
def many_games(engine: EngineOption, journal: JournalOption) -> Iterator[dict[str, Any]]:
    """The engine and the journal for the games of all rows, closed afterwards."""
    with ExitStack() as stack:
        if isinstance(journal, str | os.PathLike):
            journal = stack.enter_context(Journal(journal, shared=True))
        yield {"engine": stack.enter_context(opened_engine(engine)), "journal": journal}


def one_by_one(
    game: FeatureGame,
    positions: IntArray,
    outputs: tuple[int, ...],
    *,
    seed: int,
    engine: EngineOption,
    journal: JournalOption,
    **options: Any,
) -> Finished:
    """Explain rows by `fairshapley.estimate`, whose options these are; Ctrl-C keeps finished rows.

    A row draws what it would if it were explained alone, and the same for all of its outputs.
    """
    finished: dict[int, tuple[Result, ...]] = {}
    with many_games(engine, journal) as kept:
        options |= {**kept, "progress": False}
        for place, one in enumerate(game.each_row(positions)):
            row, results = one.rows[0], []
            row_seed = int(side_generator(seed, f"row {row}").integers(2**62))
            try:
                # What was predicted is remembered by `one`, for all its outputs.
                for output in outputs:
                    results.append(estimate(one.for_output(output), seed=row_seed, **options))
                    if not results[-1].complete:
                        return finished, False
            except KeyboardInterrupt:
                return finished, False
            except FairShapleyError as error:
                error.add_note(f"It was raised while row {row} was explained.")
                raise
            finished[place] = tuple(results)
    return finished, True
