"""Rows that are explained: together, as one job of groups with a bar, or one after the other."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from fairshapley._basics.types import IntArray
from fairshapley.evaluation.engines import EngineOption, opened_engine
from fairshapley.evaluation.journal.records import Journal
from fairshapley.fairness.evidence import Evidence
from fairshapley.games.features import FeatureGame
from fairshapley.games.features.pieces import Pieces
from fairshapley.randomness import side_generator
from fairshapley.results.origin import origin_fields
from fairshapley.results.result import Result
from fairshapley.runs.calls import DEFAULT_EVALUATIONS_PER_PLAYER, check_rule
from fairshapley.runs.plan import versions
from fairshapley.runs.progress import ProgressReporter
from fairshapley.runs.setup import JournalOption
from fairshapley.stopping import Budget, Fair, Rule, Snapshot
from fairshapley.uses.explanations.closed_forms import closed_form
from fairshapley.uses.explanations.rows_game import RowsGame, stored_rows
from fairshapley.uses.explanations.together import (
    EXACT_PLAYERS,
    INTERRUPTED,
    Explained,
    Limits,
    Together,
)

# With neither a budget nor a rule a row is done when each value is known to a twentieth of itself
# and of the row's mean |value|, or after 100 evaluations per player.
DEFAULT_RULE = Fair(epsilon1=0.05, delta=0.1)
# Rows times outputs that are explained at a time: their utilities take some 200 MiB.
MOST_COLUMNS = 2048


Finished: TypeAlias = tuple[dict[int, tuple[Result, ...]], bool]


@dataclass(frozen=True, eq=False)
class Job:
    """Rows to explain, group by group of as many players."""

    subject: FeatureGame | Pieces
    positions: IntArray
    outputs: tuple[int, ...]
    budget: int | None
    until: Rule | None
    xi: float | None
    seed: int
    started: float
    engine: EngineOption = None
    journal: JournalOption = None

    def __post_init__(self) -> None:
        check_rule(self.until)

    def run(self, progress: bool | None) -> Finished:
        """Explain all rows, or those that have values when Ctrl-C comes."""
        results: dict[int, tuple[Result, ...]] = {}
        fields = {**origin_fields(self.subject.notes), "versions": versions(), "seed": self.seed}
        for places, found, limits in self._explained(progress):
            for at in np.flatnonzero(found.done).tolist():
                results[int(places[at])] = self._results(found, limits, at, fields)
            if not found.complete:
                return results, False
        return results, True

    def _explained(self, progress: bool | None) -> Iterator[tuple[IntArray, Explained, Limits]]:
        """Rows that were explained at a time, by their places among those of the job."""
        counts = self.subject.counts[self.positions]
        if isinstance(self.subject, FeatureGame):
            closed = closed_form(self.subject, self.positions, self.outputs)
            if closed is not None:
                yield np.arange(len(counts)), closed, self._limits(int(counts[0]))
                return
        step = max(1, MOST_COLUMNS // len(self.outputs))
        blocks = [
            (count, places[at : at + step])
            for count in np.unique(counts).tolist()
            for places in [np.flatnonzero(counts == count)]
            for at in range(0, len(places), step)
        ]
        each = [len(places) * (self._limits(count).evaluations or 0) for count, places in blocks]
        total = Budget(sum(each)) if any(each) else None
        bar = ProgressReporter(progress, "explain", total)
        plain = self.engine is None and self.journal is None
        with bar, many_games(self.engine, self.journal) as kept:
            done = Done(bar, self.started)
            for number, (count, places) in enumerate(blocks):
                rows, limits = self.positions[places], self._limits(count)
                expectation = self.subject.expectation(rows)
                game = RowsGame(expectation, rows, self.outputs, count)
                stored = nullcontext() if plain else stored_rows(game, **kept)
                with stored as source:
                    found = Together(
                        expectation=source or expectation,
                        n_players=count,
                        outputs=tuple(range(len(self.outputs))) if source else self.outputs,
                        rows=rows,
                        limits=limits,
                        rng=side_generator(self.seed, f"rows {number}"),
                        report=done.add,
                        clock=done.clock,
                    ).run()
                yield places, found, limits

    def _limits(self, n_players: int) -> Limits:
        if self.budget is not None or self.until is not None:
            return Limits(evaluations=self.budget, until=self.until, xi=self.xi)
        if n_players <= EXACT_PLAYERS:
            return Limits(evaluations=None, until=None, xi=self.xi)
        each = DEFAULT_EVALUATIONS_PER_PLAYER * n_players
        return Limits(evaluations=each, until=DEFAULT_RULE, xi=self.xi)

    def _results(
        self, found: Explained, limits: Limits, at: int, fields: dict[str, Any]
    ) -> tuple[Result, ...]:
        """One result for each output of a row."""
        budget, until, exact = limits.budget, limits.until, bool(found.exact[at])
        done = found.complete or exact or found.stopped[at] != INTERRUPTED
        kept = {
            "budget": None if budget is None else asdict(budget),
            "until": None if until is None else until.configuration(),
            "on_error": "raise",
        }
        results = []
        for output in range(len(self.outputs)):
            values = found.values[at, :, output]
            xi, method = limits.near_zero(values), {"name": "exact" if exact else "together"}
            results.append(
                Result(
                    values=values,
                    standard_errors=found.errors[at, :, output],
                    counts=np.full(len(values), found.counts[at]),
                    evaluations=int(found.evaluations[at]),
                    exact=exact,
                    identically_distributed=False,
                    obstacle="" if done else "the run did not finish",
                    player_names=self.subject.player_names[: len(values)],
                    marginals=None,
                    stopped=found.stopped[at],
                    configuration={"method": method, "semivalue": "shapley", "xi": xi},
                    limits=kept,
                    xi=xi,
                    sequential=until is not None and until.looks_freely(budget),
                    level_share=float(found.level_shares[at]),
                    complete=done,
                    endpoints=(float(found.ends[0, at, output]), float(found.ends[1, at, output])),
                    computed=round(found.fresh * found.evaluations[at]),
                    seconds=time.monotonic() - self.started,
                    **fields,
                )
            )
        return tuple(results)


class Done:
    """Counts the utilities that were computed, and tells the bar."""

    # A bar says nothing of the fidelity of many rows: this evidence has none.
    _evidence = Evidence(
        values=np.zeros(1), standard_errors=np.zeros(1), counts=np.ones(1, int), evaluations=0
    )

    def __init__(self, bar: ProgressReporter, started: float) -> None:
        self._bar, self._started, self._count = bar, started, 0

    def clock(self) -> float:
        """The seconds since the start."""
        return time.monotonic() - self._started

    def add(self, count: int) -> None:
        """So many more."""
        self._count += count
        self._bar.show(lambda: Snapshot(self._count, None, self.clock(), self._evidence, xi=0.0))


@contextmanager
def many_games(engine: EngineOption, journal: JournalOption) -> Iterator[dict[str, Any]]:
    """The engine and the journal for the games of all rows, closed afterwards."""
    with ExitStack() as stack:
        if isinstance(journal, str | os.PathLike):
            journal = stack.enter_context(Journal(journal, shared=True))
        yield {"engine": stack.enter_context(opened_engine(engine)), "journal": journal}
