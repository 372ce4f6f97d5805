"""Rows explained together: one draw of coalitions for all, stacked into few calls of the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import BudgetError, GameError
from fairshapley.estimators.adjusted.many_games import ManyEstimates, ManyGames
from fairshapley.estimators.exact import MAX_EXACT_PLAYERS, exact_values
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.looks import planned_look
from fairshapley.fairness.tails import fair_tails
from fairshapley.games.features.expectation import Expectation
from fairshapley.semivalues import Shapley
from fairshapley.stopping import Budget, Fair, Rule, Snapshot
from fairshapley.stopping.rules import evaluation_limit
from fairshapley.uses.explanations.rows_game import StoredRows, check_finite

# Up to so many players all coalitions cost no more than the 100 evaluations per player that are
# the default, give or take the last few.
EXACT_PLAYERS = 10
# Sampling needs this many players, and units: fewer players are enumerated.
FEWEST_PLAYERS, FEWEST_UNITS = 4, 4
# Rows whose predictions are asked for again at the end, and what they may differ by: rounding in
# single precision, in batches of another size, stays below.
CHECKED_ROWS, SAME = 16, 1e-4
# Why a row stopped that was not finished.
INTERRUPTED = "interrupted"
# Utilities asked for at a time, of all rows together: 2**20 doubles are 8 MiB. Ctrl-C and the
# progress bar come between them.
_UTILITIES = 1 << 20
# Entries of the tables of all coalitions: 32 MiB.
_TABLE = 1 << 22


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How far rows are explained."""

    evaluations: int | None
    """For each row; with a rule the mean over the rows, so that some may have more"""
    until: Rule | None
    xi: float | None
    """The tolerance near zero; None for the mean |value| of each row"""

    @property
    def budget(self) -> Budget | None:
        """What a rule and a result are told."""
        return None if self.evaluations is None else Budget(self.evaluations)

    def near_zero(self, values: FloatArray) -> float:
        """The tolerance near zero for the values of a row."""
        return float(np.abs(values).mean()) if self.xi is None else self.xi


@dataclass(eq=False)
class Explained:
    """What is known of some rows: arrays are (rows, …, outputs)."""

    ends: FloatArray
    """v(∅) and v(N), (2, rows, outputs)"""
    values: FloatArray
    errors: FloatArray
    """Standard errors"""
    counts: IntArray
    """Draws behind each row's values"""
    evaluations: IntArray
    level_shares: FloatArray
    """The share of δ that is left for a certificate"""
    stopped: list[str]
    done: BoolArray
    """Whether a row has values at all"""
    exact: BoolArray
    complete: bool = True
    fresh: float = 1.0
    """The share of the utilities that was computed, not found in a journal"""

    @classmethod
    def nothing(cls, ends: FloatArray, n_players: int) -> Explained:
        """Before any values are known."""
        _, rows, outputs = ends.shape
        values, errors = np.full((2, rows, n_players, outputs), np.nan)
        counts, evaluations = np.zeros((2, rows), dtype=np.int64)
        done, exact = np.zeros((2, rows), dtype=bool)
        stopped = [INTERRUPTED] * rows
        return cls(ends, values, errors, counts, evaluations, np.ones(rows), stopped, done, exact)

    def settle(self, rows: Any, values: FloatArray, evaluations: int, how: str) -> None:
        """Exact values of some rows."""
        self.values[rows], self.errors[rows] = values, 0.0
        self.counts[rows] = self.evaluations[rows] = evaluations
        self.done[rows] = self.exact[rows] = True
        for row in np.arange(len(self.done))[rows].tolist():
            self.stopped[row] = f"the values are exact: {how}"


@dataclass(eq=False)
class Together:
    """Some rows with the same number of players, and how to explain them.

    Parameters
    ----------
    expectation, n_players, outputs, rows
        Where utilities come from, for how many players, which outputs, and of which rows.
    limits
        When to stop.
    rng
        Where draws come from.
    report
        Called with the number of utilities computed since it was last called.
    clock
        The seconds since the start.
    """

    expectation: Expectation | StoredRows
    n_players: int
    outputs: tuple[int, ...]
    rows: IntArray
    limits: Limits
    rng: np.random.Generator
    report: Callable[[int], None]
    clock: Callable[[], float]
    found: Explained = field(init=False)

    def run(self) -> Explained:
        """Explain the rows; Ctrl-C keeps what was estimated before."""
        ends = np.zeros((2, self.n_players), dtype=bool)
        ends[1] = True
        first = self._values(ends, np.arange(len(self.rows)))
        self.found = Explained.nothing(first, self.n_players)
        try:
            if self._enumerable:
                self._enumerate(np.arange(len(self.rows)))
            else:
                self._sample()
            self._check_again()
        except KeyboardInterrupt:
            self.found.complete = False
        if isinstance(self.expectation, StoredRows):
            asked = int(self.found.evaluations.sum()) * len(self.outputs)
            self.found.fresh = min(1.0, self.expectation.evaluator.tally.computed / max(1, asked))
        return self.found

    def _check_again(self) -> None:
        """A GameError when the model answers some rows otherwise than at the start."""
        some = np.arange(min(len(self.rows), CHECKED_ROWS))
        everyone = np.ones((1, self.n_players), dtype=bool)
        again = self.expectation.again(everyone, some)[0][:, list(self.outputs)]
        first = self.found.ends[1, some]
        off = np.abs(again - first).max()
        if not off <= SAME * max(np.abs(first).max(), np.abs(self.found.values).max()):
            raise GameError(
                f"predict answers the same rows differently at the end than at the start (by "
                f"{off:.3g}): switch its randomness off (module.eval(), a fixed random_state), and "
                "let it not learn or count while it is explained"
            )

    @property
    def _enumerable(self) -> bool:
        if self.n_players < FEWEST_PLAYERS:
            return True
        most, least = self.limits.evaluations, 2 + 2 * FEWEST_UNITS
        if most is None:
            return self.n_players <= EXACT_PLAYERS
        if most < least:
            raise BudgetError(f"a budget of {most} is too small: a row takes {least} evaluations")
        return 1 << self.n_players <= min(most, 1 << MAX_EXACT_PLAYERS)

    def _values(self, coalitions: BoolArray, rows: IntArray) -> FloatArray:
        """The utilities of the chosen outputs, (coalitions, rows, outputs), all finite.

        `rows` are places among `self.rows`.
        """
        step = max(1, _UTILITIES // (len(rows) * self.expectation.n_outputs))
        parts = []
        for at in range(0, len(coalitions), step):
            some = coalitions[at : at + step]
            values = self.expectation.each(some, rows)[:, :, list(self.outputs)]
            check_finite(values, some, self.rows[rows])
            parts.append(values)
            self.report(values.shape[0] * values.shape[1])
        return np.concatenate(parts) if parts else np.zeros((0, len(rows), len(self.outputs)))

    def _enumerate(self, rows: IntArray) -> None:
        """Exact values of some rows, from all coalitions; as many at a time as memory holds."""
        masks = bits.numbered(range(1 << self.n_players), self.n_players)
        step = max(1, _TABLE // (len(masks) * len(self.outputs)))
        for start in range(0, len(rows), step):
            at = rows[start : start + step]
            tables = np.ascontiguousarray(self._values(masks, at).transpose(1, 2, 0))
            values = [[exact_values(table, Shapley()) for table in row] for row in tables]
            how = "every coalition was evaluated"
            self.found.settle(at, np.array(values).transpose(0, 2, 1), len(masks), how)

    def _sample(self) -> None:
        """Estimates, in rounds that grow as planned looks do, until every row is done."""
        n_rows, until = len(self.rows), self.limits.until
        spans = (self.found.ends[1] - self.found.ends[0]).ravel()
        games = ManyGames(self.n_players, spans, self.rng)
        active, last_look, number = np.arange(n_rows), 0, 0
        left = (evaluation_limit(self.limits.budget) - 2.0) * n_rows
        try:
            while len(active):
                target, number = planned_look(number, self.n_players), number + 1
                if until is not None and min(2 * target, left / len(active)) >= 1 << self.n_players:
                    self._enumerate(active)
                    return
                most = len(games) + left // (2 * len(active))  # a unit takes two evaluations
                units = max(min(-(-(target - 2) // 2), most), FEWEST_UNITS)
                masks, before = games.ask(int(units), most), len(games)
                pairs = self._values(np.concatenate([masks, ~masks]), active)
                values = pairs.reshape(len(pairs), -1)
                games.tell(values[: len(masks)], values[len(masks) :])
                left -= 2 * (len(games) - before) * len(active)
                self.found.evaluations[active] = 2 + 2 * len(games)
                spent = left < 2 * len(active) or units >= most or len(masks) == 0
                if until is None and not spent:
                    continue
                going, looked = self._judge(games.estimate(), active, last_look, final=spent)
                last_look = 2 + 2 * len(games) if looked else last_look
                games.keep(np.repeat(going, len(self.outputs)))
                active = active[going]
        except KeyboardInterrupt:
            if len(games) and until is None:
                self._note(games.estimate(), active)
            raise

    def _note(self, estimates: ManyEstimates, active: IntArray) -> None:
        """Keep the estimates of the rows that are still in progress."""
        shape = len(active), len(self.outputs), self.n_players
        found = self.found
        found.values[active] = estimates.values.reshape(shape).transpose(0, 2, 1)
        found.errors[active] = np.sqrt(estimates.variances).reshape(shape).transpose(0, 2, 1)
        found.counts[active] = estimates.count
        found.done[active] = True

    def _judge(
        self, estimates: ManyEstimates, active: IntArray, last_look: int, *, final: bool
    ) -> tuple[BoolArray, bool]:
        """Which rows go on, and whether they were looked at."""
        self._note(estimates, active)
        found, until = self.found, self.limits.until
        going = np.full(len(active), not final)
        for row in active.tolist() if final else ():
            found.stopped[row] = "the budget is spent"
        if until is None:
            return going, False
        # All rows have the same number of draws, so that a rule looks at all or at none.
        any_row = self._snapshot(int(active[0]), 0, last_look)
        looked = until.looks_now(any_row)
        found.level_shares[active] = any_row.unspent_share
        for place in np.flatnonzero(self._promising(any_row, active, final=final)).tolist():
            row = int(active[place])
            shots = [self._snapshot(row, at, last_look) for at in range(len(self.outputs))]
            said = [until.met(shot) for shot in shots]
            if all(said) and looked:
                found.level_shares[row] = any_row.level_share
            if final and not all(said):
                said = [one or until.conclude(shot) for one, shot in zip(said, shots, strict=True)]
            if final or all(said):
                going[place] = False
                found.stopped[row] = next((one for one in said if one), found.stopped[row])
        return going, looked

    def _promising(self, one: Snapshot, active: IntArray, *, final: bool) -> BoolArray:
        """The rows that a rule may stop: of the usual one, all are tested at once."""
        found, until, everyone = self.found, self.limits.until, np.ones(len(active), dtype=bool)
        if not isinstance(until, Fair) or until.bound != "normal":
            return everyone
        if one.budget is None and one.evaluations >= until._most_per_player * one.n_players:
            return everyone
        if not until.looks_now(one) and not final:
            return ~everyone
        values, near = found.values[active], until.xi if until.xi is not None else self.limits.xi
        sizes = np.abs(values).mean(axis=1, keepdims=True)
        xi = np.broadcast_to(sizes if near is None else near, values.shape)
        evidence = replace(
            one.evidence,
            values=values.ravel(),
            standard_errors=found.errors[active].ravel(),
            counts=np.full(values.size, one.evidence.counts[0]),
        )
        tails = fair_tails(evidence, until.epsilon1, until.epsilon1 * xi.ravel())
        share = one.unspent_share if final else one.level_share
        risks: FloatArray = tails.reshape(values.shape).sum(axis=1).max(axis=1)
        return risks <= share * until.delta

    def _snapshot(self, row: int, output: int, last_look: int) -> Snapshot:
        found, limits = self.found, self.limits
        values = found.values[row, :, output]
        evidence = Evidence(
            values=values,
            standard_errors=found.errors[row, :, output],
            counts=np.full(len(values), found.counts[row]),
            evaluations=int(found.evaluations[row]),
        )
        xi, budget = limits.near_zero(values), limits.budget
        free = limits.until is not None and limits.until.looks_freely(budget)
        return Snapshot(
            evidence.evaluations, None, self.clock(), evidence, xi, budget, last_look, free
        )
