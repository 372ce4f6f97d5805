"""Rows that are explained together, as one job: groups of rows, a bar, and the results."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fairshapley._basics.types import IntArray
from fairshapley.errors import InputError
from fairshapley.games.features import FeatureGame
from fairshapley.games.features.pieces import Pieces
from fairshapley.randomness import side_generator
from fairshapley.results.origin import origin_fields
from fairshapley.results.result import Result
from fairshapley.runs.calls import DEFAULT_EVALUATIONS_PER_PLAYER
from fairshapley.runs.plan import versions
from fairshapley.runs.progress import REFRESH_SECONDS, chosen_bar
from fairshapley.stopping import Budget, Fair, Rule
from fairshapley.uses.explanations.attributions import Attributions, gathered
from fairshapley.uses.explanations.closed_forms import ClosedForm, closed_form
from fairshapley.uses.explanations.together import EXACT_PLAYERS, Explained, Limits, Together

# With neither a budget nor a rule a row is done when each value is known to a twentieth of itself
# and of the row's mean |value|, or after 100 evaluations per player.
DEFAULT_RULE = Fair(epsilon1=0.05, delta=0.1)
# Rows times outputs that are explained at a time: their utilities take some 200 MiB.
MOST_COLUMNS = 2048


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows that were explained at a time: their places among those of the job."""

    places: IntArray
    found: Explained
    limits: Limits


@dataclass(frozen=True, eq=False)
class Job:
    """Rows to explain, group by group of as many players."""

    subject: FeatureGame | Pieces
    positions: IntArray
    outputs: tuple[int, ...]
    single: bool
    """Whether the arrays have no axis of outputs"""
    budget: int | None
    until: Rule | None
    xi: float | None
    seed: int
    started: float

    def __post_init__(self) -> None:
        if self.until is not None and not isinstance(self.until, Rule):
            raise InputError(
                f"until must be a rule such as fs.Fair(epsilon1=0.5, delta=0.1), not {self.until!r}"
            )

    def run(self, progress: bool | None) -> Attributions:
        """Explain all rows, or those that have values when Ctrl-C comes."""
        counts, parts = self.subject.counts[self.positions], []
        if isinstance(self.subject, FeatureGame):
            closed = closed_form(self.subject, self.positions)
            if closed is not None:
                return self._gathered([self._exact(closed)])
        step = max(1, MOST_COLUMNS // len(self.outputs))
        blocks = [
            (count, places[at : at + step])
            for count in np.unique(counts).tolist()
            for places in [np.flatnonzero(counts == count)]
            for at in range(0, len(places), step)
        ]
        each = [len(places) * (self._limits(count).evaluations or 0) for count, places in blocks]
        with Bar(progress, sum(each) or None) as bar:
            for number, (count, places) in enumerate(blocks):
                rows, limits = self.positions[places], self._limits(count)
                found = Together(
                    expectation=self.subject.expectation(rows),
                    n_players=count,
                    outputs=self.outputs,
                    rows=rows,
                    limits=limits,
                    rng=side_generator(self.seed, f"rows {number}"),
                    report=bar.add,
                    clock=lambda: time.monotonic() - self.started,
                ).run()
                parts.append(_Part(places, found, limits))
                if not found.complete:
                    break
        return self._gathered(parts)

    def _exact(self, closed: ClosedForm) -> _Part:
        """Values that were not sampled."""
        found = Explained.nothing(closed.ends[:, :, list(self.outputs)], closed.values.shape[1])
        found.settle(slice(None), closed.values[:, :, list(self.outputs)], 2, closed.how)
        return _Part(np.arange(len(self.positions)), found, self._limits(closed.values.shape[1]))

    def _limits(self, n_players: int) -> Limits:
        if self.budget is not None or self.until is not None:
            return Limits(evaluations=self.budget, until=self.until, xi=self.xi)
        if n_players <= EXACT_PLAYERS:
            return Limits(evaluations=None, until=None, xi=self.xi)
        each = DEFAULT_EVALUATIONS_PER_PLAYER * n_players
        return Limits(evaluations=each, until=DEFAULT_RULE, xi=self.xi)

    def _gathered(self, parts: list[_Part]) -> Attributions:
        fields = {**origin_fields(self.subject.notes), "versions": versions(), "seed": self.seed}
        results = {
            int(part.places[at]): self._results(part, at, fields)
            for part in parts
            for at in np.flatnonzero(part.found.done).tolist()
        }
        complete = all(part.found.complete for part in parts)
        chosen = self.positions, self.outputs
        return gathered(self.subject, *chosen, results, single=self.single, complete=complete)

    def _results(self, part: _Part, at: int, fields: dict[str, Any]) -> tuple[Result, ...]:
        """One result for each output of a row."""
        found, limits, until = part.found, part.limits, part.limits.until
        budget = None if limits.evaluations is None else Budget(limits.evaluations)
        done = found.complete or bool(found.exact[at]) or not found.stopped[at].startswith("inter")
        results = []
        for output in range(len(self.outputs)):
            values = found.values[at, :, output]
            xi = float(np.abs(values).mean()) if limits.xi is None else limits.xi
            results.append(
                Result(
                    values=values,
                    standard_errors=found.errors[at, :, output],
                    counts=np.full(len(values), found.counts[at]),
                    evaluations=int(found.evaluations[at]),
                    exact=bool(found.exact[at]),
                    identically_distributed=False,
                    obstacle="" if done else "the run did not finish",
                    player_names=self.subject.player_names[: len(values)],
                    marginals=None,
                    stopped=found.stopped[at],
                    configuration={
                        "method": {"name": "exact" if found.exact[at] else "together"},
                        "semivalue": "shapley",
                        "xi": xi,
                    },
                    limits={
                        "budget": None if budget is None else asdict(budget),
                        "until": None if until is None else until.configuration(),
                        "on_error": "raise",
                    },
                    xi=xi,
                    sequential=until is not None and until.looks_freely(budget),
                    level_share=float(found.level_shares[at]),
                    complete=done,
                    endpoints=(float(found.ends[0, at, output]), float(found.ends[1, at, output])),
                    computed=int(found.evaluations[at]),
                    seconds=time.monotonic() - self.started,
                    **fields,
                )
            )
        return tuple(results)


class Bar:
    """Shows how many utilities were computed: on a terminal or in a notebook, or when asked to."""

    def __init__(self, option: bool | None, total: int | None) -> None:
        self._done, self._next, self._began = 0, 0.0, time.monotonic()
        self._bar = chosen_bar(option, "explain", total)

    def __enter__(self) -> Bar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def add(self, count: int) -> None:
        """So many more."""
        self._done += count
        now = time.monotonic()
        if self._bar is not None and now >= self._next:
            self._next = now + REFRESH_SECONDS
            self._bar.update(self._done, f"{self._done / max(now - self._began, 1e-9):,.0f}/s")
