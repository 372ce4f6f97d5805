"""Rows explained jointly: one draw of coalitions for all, stacked into few calls of the model."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import BudgetError, GameError
from fairshapley.estimators.adjusted.many_games import ManyEstimates, ManyGames
from fairshapley.estimators.exact import MAX_EXACT_PLAYERS, exact_values
from fairshapley.evaluation.ledger import shorten
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.looks import planned_look
from fairshapley.fairness.tails import fair_tails
from fairshapley.games.features.expectation import Expectation
from fairshapley.games.game import members
from fairshapley.semivalues import Shapley
from fairshapley.stopping import Budget, Fair, Rule, Snapshot
from fairshapley.stopping.rules import evaluation_limit

# Up to this many players all coalitions cost hardly more than the default budget of 100
# evaluations per player.
EXACT_PLAYERS = 10
# Sampling needs this many players, and units; fewer players are enumerated.
FEWEST_PLAYERS, FEWEST_UNITS = 4, 4
# Rows that are predicted again at the end, and the relative difference allowed: rounding in single
# precision, in batches of another size, stays below it.
CHECKED_ROWS, SAME = 16, 1e-4
# Why a row stopped that was not finished.
INTERRUPTED = "interrupted"
# Utilities requested at a time, of all rows together: 2**20 doubles are 8 MiB. Ctrl-C and the
# progress bar come between them.
_UTILITIES = 1 << 20
# Entries of the tables of all coalitions: 32 MiB.
_TABLE = 1 << 22


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How far rows are explained."""

    evaluations: int | None
    """The budget of each row; with a rule the mean over the rows, so that some may have more"""
    until: Rule | None
    xi: float | None
    """The tolerance near zero; None for the mean |value| of each row"""

    @property
    def budget(self) -> Budget | None:
        """The budget that a rule and a result are given."""
        return None if self.evaluations is None else Budget(self.evaluations)

    def near_zero(self, values: FloatArray) -> float:
        """Return the tolerance near zero for the values of a row."""
        return float(np.abs(values).mean()) if self.xi is None else self.xi


@dataclass(eq=False)
class RowValues:
    """The values of some rows as far as they are known; arrays are (rows, …, outputs)."""

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

    @classmethod
    def unknown(cls, ends: FloatArray, n_players: int) -> RowValues:
        """Return the state before any values are known."""
        _, rows, outputs = ends.shape
        values, errors = np.full((2, rows, n_players, outputs), np.nan)
        counts, evaluations = np.zeros((2, rows), dtype=np.int64)
        done, exact = np.zeros((2, rows), dtype=bool)
        stopped = [INTERRUPTED] * rows
        return cls(ends, values, errors, counts, evaluations, np.ones(rows), stopped, done, exact)

    def set_exact(self, rows: IntArray, values: FloatArray, evaluations: int, how: str) -> None:
        """Record the exact values of some rows."""
        self.values[rows], self.errors[rows] = values, 0.0
        self.counts[rows] = self.evaluations[rows] = evaluations
        self.done[rows] = self.exact[rows] = True
        for row in rows.tolist():
            self.stopped[row] = f"the values are exact: {how}"


class RowSampler:
    """Explains rows with the same number of players.

    Parameters
    ----------
    expectation, n_players, outputs, rows
        The source of utilities, the number of players, the outputs, and the positions of the rows.
    limits
        When to stop.
    rng
        The generator of the draws.
    report
        Called with the number of utilities computed since its last call.
    started
        When the clock of rules started, in `time.monotonic`.
    """

    def __init__(
        self,
        expectation: Expectation,
        n_players: int,
        outputs: tuple[int, ...],
        rows: IntArray,
        limits: Limits,
        rng: np.random.Generator,
        report: Callable[[int], None],
        started: float,
    ) -> None:
        self.expectation, self.n_players, self.outputs = expectation, n_players, list(outputs)
        self.rows, self.limits, self.rng, self.report = rows, limits, rng, report
        self.started = started
        self.found = RowValues.unknown(np.zeros((2, len(rows), len(outputs))), n_players)

    def run(self) -> RowValues:
        """Explain the rows; Ctrl-C keeps what was estimated before."""
        ends = np.zeros((2, self.n_players), dtype=bool)
        ends[1] = True
        everyone = np.arange(len(self.rows))
        self.found.ends = self._values(ends, everyone)
        try:
            if self._enumerable:
                self._enumerate(everyone)
            else:
                self._sample()
            self._check_again()
        except KeyboardInterrupt:
            self.found.complete = False
        return self.found

    def _check_again(self) -> None:
        """Raise a GameError when the model predicts some rows otherwise than at the start."""
        rows = np.arange(min(len(self.rows), CHECKED_ROWS))
        grand = np.ones((1, self.n_players), dtype=bool)
        again = self.expectation.each(grand, rows)[0][:, self.outputs]
        first = self.found.ends[1, rows]
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
        """Return the utilities of the chosen outputs, (coalitions, rows, outputs), all finite.

        `rows` are places among `self.rows`.
        """
        step = max(1, _UTILITIES // (len(rows) * self.expectation.n_outputs))
        parts = [np.zeros((0, len(rows), len(self.outputs)))]
        for at in range(0, len(coalitions), step):
            block = coalitions[at : at + step]
            values = self.expectation.each(block, rows)[:, :, self.outputs]
            check_finite(values, block, self.rows[rows])
            parts.append(values)
            self.report(values.shape[0] * values.shape[1])
        return np.concatenate(parts)

    def _enumerate(self, rows: IntArray) -> None:
        """Compute exact values from all coalitions, for as many rows at a time as memory holds."""
        masks = bits.numbered(range(1 << self.n_players), self.n_players)
        step = max(1, _TABLE // (len(masks) * len(self.outputs)))
        for start in range(0, len(rows), step):
            at = rows[start : start + step]
            tables = np.ascontiguousarray(self._values(masks, at).transpose(1, 2, 0))
            values = [[exact_values(table, Shapley()) for table in row] for row in tables]
            how = "every coalition was evaluated"
            self.found.set_exact(at, np.array(values).transpose(0, 2, 1), len(masks), how)

    def _sample(self) -> None:
        """Estimate, in rounds that grow as planned looks do, until every row is done."""
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
                final = left < 2 * len(active) or units >= most or len(masks) == 0
                if until is None and not final:
                    continue
                self._record(games.estimate(), active)
                going = np.full(len(active), not final)
                if until is not None:
                    going, looked = self._judge(until, active, last_look, final=final)
                    last_look = 2 + 2 * len(games) if looked else last_look
                elif final:
                    self._stop(active, "the budget is spent")
                games.keep(np.repeat(going, len(self.outputs)))
                active = active[going]
        except KeyboardInterrupt:
            if len(games) and until is None:
                self._record(games.estimate(), active)
            raise

    def _record(self, estimates: ManyEstimates, active: IntArray) -> None:
        """Keep the estimates of the rows in progress."""
        shape = len(active), len(self.outputs), self.n_players
        found = self.found
        found.values[active] = estimates.values.reshape(shape).transpose(0, 2, 1)
        found.errors[active] = np.sqrt(estimates.variances).reshape(shape).transpose(0, 2, 1)
        found.counts[active] = estimates.count
        found.done[active] = True

    def _stop(self, rows: IntArray, reason: str) -> None:
        for row in rows.tolist():
            self.found.stopped[row] = reason

    def _judge(
        self, until: Rule, active: IntArray, last_look: int, *, final: bool
    ) -> tuple[BoolArray, bool]:
        """Return which rows go on, and whether the rule looked at them."""
        found, going = self.found, np.full(len(active), not final)
        if final:
            self._stop(active, "the budget is spent")
        # All rows have the same number of draws, so that a rule looks at all or at none.
        first = self._snapshot(int(active[0]), 0, last_look)
        looked = until.looks_now(first)
        found.level_shares[active] = first.unspent_share
        for place in np.flatnonzero(self._promising(until, first, active, final=final)).tolist():
            row = int(active[place])
            shots = [self._snapshot(row, at, last_look) for at in range(len(self.outputs))]
            reasons = [until.met(shot) for shot in shots]
            met = all(reasons)
            if met and looked:
                found.level_shares[row] = first.level_share
            if final and not met:
                reasons = [
                    reason or until.conclude(shot)
                    for reason, shot in zip(reasons, shots, strict=True)
                ]
            if final or met:
                going[place] = False
                found.stopped[row] = next(filter(None, reasons), found.stopped[row])
        return going, looked

    def _promising(
        self, until: Rule, first: Snapshot, active: IntArray, *, final: bool
    ) -> BoolArray:
        """Return which rows a rule may stop: of the usual rule, all rows are tested at once.

        A certificate takes 2 ms, and there may be thousands of rows.
        """
        found, everyone = self.found, np.ones(len(active), dtype=bool)
        if not isinstance(until, Fair) or until.bound != "normal":
            return everyone
        if first.budget is None and first.evaluations >= until._most_per_player * first.n_players:
            return everyone
        if not until.looks_now(first) and not final:
            return ~everyone
        values, near = found.values[active], until.xi if until.xi is not None else self.limits.xi
        sizes = np.abs(values).mean(axis=1, keepdims=True)
        xi = np.broadcast_to(sizes if near is None else near, values.shape)
        evidence = replace(
            first.evidence,
            values=values.ravel(),
            standard_errors=found.errors[active].ravel(),
            counts=np.full(values.size, first.evidence.counts[0]),
        )
        tails = fair_tails(evidence, until.epsilon1, until.epsilon1 * xi.ravel(), until.delta)
        share = first.unspent_share if final else first.level_share
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
        budget = limits.budget
        return Snapshot(
            evidence.evaluations,
            None,
            time.monotonic() - self.started,
            evidence,
            limits.near_zero(values),
            budget,
            last_look,
            limits.until is not None and limits.until.looks_freely(budget),
        )


def check_finite(values: FloatArray, coalitions: BoolArray, rows: IntArray) -> None:
    """Raise a GameError that names the row and the players behind a utility that is not finite.

    `values` are (coalitions, rows, outputs).
    """
    if np.isfinite(values).all():
        return
    coalition, row, _ = np.argwhere(~np.isfinite(values))[0]
    known = members(coalitions[coalition])
    raise GameError(
        f"predict returned NaN or an infinite number for row {rows[row]} where coalition "
        f"{shorten(known)} is known: it must be finite for every mixture of rows",
        known,
    )
