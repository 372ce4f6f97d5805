"""Rows explained jointly: one draw of coalitions for all, stacked into few calls of the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray, FloatMatrix, IntArray
from fairshapley.errors import BudgetError, GameError
from fairshapley.estimators.adjusted.many_games import ManyEstimates, ManyGames
from fairshapley.estimators.exact import exact_values
from fairshapley.evaluation.failures import shorten
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.levels import planned_look
from fairshapley.fairness.tails import doubts, fair_tails
from fairshapley.fairness.unseen import find_unseen
from fairshapley.games.features.expectation import Expectation
from fairshapley.games.game import MAX_TABLE_PLAYERS, members
from fairshapley.semivalues import Shapley
from fairshapley.stopping import Fair, Snapshot

# Up to this many players all coalitions cost hardly more than the default budget of 100
# evaluations per player.
EXACT_PLAYERS = 10
# Sampling needs this many players, and units; fewer players are enumerated.
FEWEST_PLAYERS, FEWEST_UNITS = 4, 4
# Rows that are predicted again at the end, and the relative difference allowed: rounding in single
# precision, in batches of another size, stays below it.
CHECKED_ROWS, SAME = 16, 1e-4
# Without a budget a certificate is given up after so many evaluations for each player.
MOST_PER_PLAYER = 10_000
# Why a row stopped.
INTERRUPTED, SPENT = "interrupted", "the budget is spent"
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
    until: Fair | None
    xi: float | None
    """The tolerance near zero; None for the mean |value| of each row"""

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
    stopped: NDArray[Any]
    """The reasons, as strings"""
    exact: BoolArray
    complete: bool = True

    @classmethod
    def unknown(cls, ends: FloatArray, n_players: int) -> RowValues:
        """Return the state before any values are known."""
        _, rows, outputs = ends.shape
        values, errors = np.full((2, rows, n_players, outputs), np.nan)
        counts, evaluations = np.zeros((2, rows), dtype=np.int64)
        stopped, exact = np.full(rows, INTERRUPTED, dtype=object), np.zeros(rows, dtype=bool)
        return cls(ends, values, errors, counts, evaluations, np.ones(rows), stopped, exact)

    def set_exact(self, rows: IntArray, values: FloatArray, evaluations: int, how: str) -> None:
        """Record the exact values of some rows."""
        self.values[rows], self.errors[rows] = values, 0.0
        self.counts[rows] = self.evaluations[rows] = evaluations
        self.exact[rows] = True
        self.stopped[rows] = f"the values are exact: {how}"


@dataclass(eq=False)
class RowSampler:
    """Explains rows with the same number of players."""

    expectation: Expectation
    """The source of utilities"""
    n_players: int
    outputs: list[int]
    """The outputs to explain"""
    rows: IntArray
    """The positions of the rows in X"""
    limits: Limits
    rng: np.random.Generator
    report: Callable[[int], None]
    """Called with the number of utilities computed since its last call"""
    found: RowValues = field(init=False)
    seen: list[tuple[BoolArray, IntArray, FloatArray]] = field(default_factory=list, init=False)
    """The coalitions of each round, the rows in progress, and their utilities, for certificates"""

    def run(self) -> RowValues:
        """Explain the rows; Ctrl-C keeps what was estimated before."""
        ends = np.zeros((2, self.n_players), dtype=bool)
        ends[1] = True
        everyone = np.arange(len(self.rows))
        self.found = RowValues.unknown(self._values(ends, everyone), self.n_players)
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
        return 1 << self.n_players <= min(most, 1 << MAX_TABLE_PLAYERS)

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
        until, n_rows = self.limits.until, len(self.rows)
        spans = (self.found.ends[1] - self.found.ends[0]).ravel()
        games = ManyGames(self.n_players, spans, self.rng)
        active, last_look, number = np.arange(n_rows), 0, 0
        left = (np.inf if self.limits.evaluations is None else self.limits.evaluations - 2) * n_rows
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
                if until is not None:
                    self.seen.append((np.concatenate([masks, ~masks]), active, pairs))
                games.tell(values[: len(masks)], values[len(masks) :])
                left -= 2 * (len(games) - before) * len(active)
                self.found.evaluations[active] = 2 + 2 * len(games)
                final = left < 2 * len(active) or units >= most or len(masks) == 0
                if until is None and not final:
                    continue
                self._record(games.estimate(), active)
                going = np.ones(len(active), dtype=bool)
                if until is not None:
                    looked = self._certify(until, active, going, last_look, final=final)
                    last_look = 2 + 2 * len(games) if looked else last_look
                if final:
                    self.found.stopped[active[going]] = SPENT
                    return
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

    def _certify(
        self, fair: Fair, active: IntArray, going: BoolArray, last_look: int, *, final: bool
    ) -> bool:
        """Mark in `going` the rows that are done; return whether the rule has looked at them."""
        found = self.found
        # All rows have the same number of draws: a rule looks at all or at none.
        first = self._snapshot(int(active[0]), 0, last_look)
        looked = fair.looks_now(first)
        looks = [(first.level_share, "")] if looked else []
        if final and not doubts(first.evidence, fair.bound):
            looks.append((first.unspent_share, " at the last look"))
        found.level_shares[active] = first.unspent_share
        for share, ending in looks:
            likely = going & self._promising(fair, first, active, share)
            for place, row in zip(np.flatnonzero(likely), active[likely].tolist(), strict=True):
                shots = [self._snapshot(row, at, last_look) for at in range(len(self.outputs))]
                verdicts = [fair.judge(shot, share * fair.delta) for shot in shots]
                if all(verdict.holds for verdict in verdicts):
                    going[place], found.level_shares[row] = False, share
                    found.stopped[row] = verdicts[0].say() + ending
        made = first.evaluations
        if self.limits.evaluations is None and made >= MOST_PER_PLAYER * self.n_players:
            found.stopped[active[going]] = f"given up after {made:,} evaluations"
            going[:] = False
        return looked

    def _promising(self, fair: Fair, first: Snapshot, active: IntArray, share: float) -> BoolArray:
        """Return which rows may be certified: with the usual bound all are tested at once.

        A certificate takes 2 ms, and there may be thousands of rows.
        """
        if fair.bound != "normal":
            return np.ones(len(active), dtype=bool)
        found, near = self.found, self.limits.xi if fair.xi is None else fair.xi
        values = found.values[active]
        sizes = np.abs(values).mean(axis=1, keepdims=True)
        xi = np.broadcast_to(sizes if near is None else near, values.shape)
        evidence = replace(
            first.evidence,
            values=values.ravel(),
            standard_errors=found.errors[active].ravel(),
            counts=np.full(values.size, first.evidence.counts[0]),
            unseen=None,  # asked for where all else lets a row pass
        )
        tails = fair_tails(evidence, fair.epsilon1, fair.epsilon1 * xi.ravel(), fair.delta)
        risks: FloatArray = tails.reshape(values.shape).sum(axis=1).max(axis=1)
        return risks <= share * fair.delta

    def _snapshot(self, row: int, output: int, last_look: int) -> Snapshot:
        found = self.found
        values = found.values[row, :, output]
        evidence = Evidence(
            values=values,
            standard_errors=found.errors[row, :, output],
            counts=np.full(len(values), found.counts[row]),
            evaluations=int(found.evaluations[row]),
            unseen=self._unseen(row, output, values),
        )
        xi = self.limits.near_zero(values)
        return Snapshot(evidence.evaluations, None, 0.0, evidence, xi, last_look=last_look)

    def _unseen(self, row: int, output: int, values: FloatArray) -> FloatMatrix:
        """Return what the coalitions that were not drawn may hide of a row in progress."""
        rounds = [
            (masks, pairs[:, np.searchsorted(active, row), output])
            for masks, active, pairs in self.seen
        ]
        masks, utilities = (np.concatenate(part) for part in zip(*rounds, strict=True))
        empty, full = self.found.ends[:, row, output].tolist()
        weights = Shapley().weights(self.n_players)
        return find_unseen(masks, utilities, (empty, full), values, weights)


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
