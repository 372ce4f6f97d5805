"""Rows explained jointly: they share a draw of coalitions, stacked into few calls of the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray, FloatMatrix, IntArray
from fairshapley.errors import BudgetError, GameError
from fairshapley.estimators.adjusted.many_games import ManyGames
from fairshapley.estimators.exact import exact_values
from fairshapley.evaluation.failures import shorten
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.levels import planned_look
from fairshapley.fairness.tails import doubts
from fairshapley.fairness.unseen import find_unseen
from fairshapley.games.features.expectation import Expectation
from fairshapley.games.game import MAX_TABLE_PLAYERS, members
from fairshapley.semivalues import Shapley
from fairshapley.stopping import Fair, Snapshot

# Up to this many players all coalitions cost hardly more than 100 evaluations per player.
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


class RowValues:
    """The values of rows as far as they are known; arrays are (rows, …, outputs)."""

    def __init__(self, n_rows: int, n_players: int, n_outputs: int) -> None:
        self.ends: FloatArray = np.zeros((2, n_rows, n_outputs))
        """v(∅) and v(N)"""
        self.values: FloatArray = np.full((n_rows, n_players, n_outputs), np.nan)
        """The values; NaN behind a row's last player"""
        self.errors: FloatArray = self.values.copy()
        """Standard errors"""
        self.draws: IntArray = np.zeros(n_rows, dtype=np.int64)
        """Draws behind each row's values"""
        self.evaluations: IntArray = self.draws.copy()
        self.level_shares: FloatArray = np.ones(n_rows)
        """The share of δ that is left for a certificate"""
        self.stopped: NDArray[Any] = np.full(n_rows, INTERRUPTED, dtype=object)
        """Why each row stopped"""
        self.exact: BoolArray = np.zeros(n_rows, dtype=bool)

    def set_exact(self, rows: IntArray, values: FloatArray, evaluations: int, how: str) -> None:
        """Record the exact values of some rows."""
        self.values[rows, : values.shape[1]], self.errors[rows, : values.shape[1]] = values, 0.0
        self.draws[rows] = self.evaluations[rows] = evaluations
        self.exact[rows] = True
        self.stopped[rows] = f"the values are exact: {how}"


@dataclass(eq=False)
class RowSampler:
    """Explains rows with the same number of players."""

    found: RowValues
    """The values of all rows, where those of these rows are recorded"""
    places: IntArray
    """The places of these rows in it"""
    rows: IntArray
    """Their positions in X"""
    expectation: Expectation
    """The source of utilities"""
    n_players: int
    outputs: tuple[int, ...]
    """The outputs to explain"""
    limits: Limits
    rng: np.random.Generator
    report: Callable[[int], None]
    """Called with the number of utilities computed since its last call"""
    seen: list[tuple[BoolArray, IntArray, FloatArray]] = field(default_factory=list, init=False)
    """The coalitions of each round, the rows in progress, and their utilities, for certificates"""
    last_look: int = field(default=0, init=False)
    """The evaluations of a row at the last look of a rule"""

    def run(self) -> None:
        """Explain the rows; Ctrl-C leaves what was estimated before."""
        ends = np.zeros((2, self.n_players), dtype=bool)
        ends[1] = True
        everyone = np.arange(len(self.rows))
        self.found.ends[:, self.places] = self._values(ends, everyone)
        if self._enumerable:
            self._enumerate(everyone)
        else:
            self._sample()
        self._check_again()

    def _check_again(self) -> None:
        """Raise a GameError when the model predicts some rows otherwise than at the start."""
        rows = np.arange(min(len(self.rows), CHECKED_ROWS))
        grand = np.ones((1, self.n_players), dtype=bool)
        again = self.expectation.each(grand, rows)[0][:, self.outputs]
        first = self.found.ends[1, self.places[rows]]
        off = np.abs(again - first).max()
        if not off <= SAME * max(np.abs(first).max(), np.nanmax(np.abs(self.found.values))):
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
            values = np.array([[exact_values(each, Shapley()) for each in row] for row in tables])
            how = "every coalition was evaluated"
            self.found.set_exact(self.places[at], values.transpose(0, 2, 1), len(masks), how)

    def _sample(self) -> None:
        """Estimate, in rounds that grow as planned looks do, until every row is done."""
        found, until, budget = self.found, self.limits.until, self.limits.evaluations
        spans = (found.ends[1] - found.ends[0])[self.places].ravel()
        games = ManyGames(self.n_players, spans, self.rng)
        active, number = np.arange(len(self.rows)), 0
        left = np.inf if budget is None else (budget - 2) * len(active)
        try:
            while len(active):
                target, number = planned_look(number, self.n_players), number + 1
                if until is not None and min(2 * target, left / len(active)) >= 1 << self.n_players:
                    self._enumerate(active)
                    return
                most = len(games) + left // (2 * len(active))  # a unit takes two evaluations
                units = max(min(-(-(target - 2) // 2), most), FEWEST_UNITS)
                masks, before = games.ask(int(units), most), len(games)
                both = np.concatenate([masks, ~masks])
                pairs = self._values(both, active)
                games.tell(*np.split(pairs.reshape(len(both), -1), 2))
                left -= 2 * (len(games) - before) * len(active)
                made = 2 + 2 * len(games)
                found.evaluations[self.places[active]] = made
                given_up = budget is None and made >= MOST_PER_PLAYER * self.n_players
                final = left < 2 * len(active) or units >= most or not len(masks) or given_up
                if until is None and not final:
                    continue
                self._record(games, active)
                going = np.ones(len(active), dtype=bool)
                if until is not None:
                    self.seen.append((both, active, pairs))
                    going = ~self._certified(until, active, final=final)
                if final:
                    ending = f"given up after {made:,} evaluations" if given_up else SPENT
                    found.stopped[self.places[active[going]]] = ending
                    return
                games.keep(np.repeat(going, len(self.outputs)))
                active = active[going]
        except KeyboardInterrupt:
            if len(games) and until is None:
                self._record(games, active)
            raise

    def _record(self, games: ManyGames, active: IntArray) -> None:
        """Keep the estimates of the rows in progress."""
        estimates, at = games.estimate(), self.places[active]
        shape = len(active), len(self.outputs), self.n_players
        values, variances = estimates.values.reshape(shape), estimates.variances.reshape(shape)
        self.found.values[at, : self.n_players] = values.transpose(0, 2, 1)
        self.found.errors[at, : self.n_players] = np.sqrt(variances).transpose(0, 2, 1)
        self.found.draws[at] = estimates.count

    def _certified(self, fair: Fair, active: IntArray, *, final: bool) -> BoolArray:
        """Return which rows in progress are certified, and say so in what was found."""
        found, done = self.found, np.zeros(len(active), dtype=bool)
        # All rows have the same number of draws: a rule looks at all or at none.
        first = self._snapshot(int(active[0]), 0, thorough=False)
        found.level_shares[self.places[active]] = first.unspent_share
        share = first.unspent_share if final else first.level_share
        if share == 0 or doubts(first.evidence, fair.bound):
            return done
        level = share * fair.delta
        for place, row in enumerate(active.tolist()):
            # What was not drawn takes ten times longer to tell: it is asked last.
            if not self._certificate(fair, row, level, thorough=False):
                continue
            if reached := self._certificate(fair, row, level, thorough=True):
                done[place], found.level_shares[self.places[row]] = True, share
                found.stopped[self.places[row]] = reached + " at the last look" * final
        self.last_look = first.evaluations
        return done

    def _certificate(self, fair: Fair, row: int, level: float, *, thorough: bool) -> str:
        """Return what is certified of all outputs of a row; empty where something is not."""
        shots = [self._snapshot(row, at, thorough=thorough) for at in range(len(self.outputs))]
        looks = [fair.judge(shot, level) for shot in shots]
        return looks[0].say() if all(look.holds for look in looks) else ""

    def _snapshot(self, row: int, output: int, *, thorough: bool) -> Snapshot:
        """Return what is known of a row; thoroughly with what was not drawn."""
        found, at = self.found, (self.places[row], slice(self.n_players), output)
        values = found.values[at]
        evidence = Evidence(
            values=values,
            standard_errors=found.errors[at],
            counts=np.full(len(values), found.draws[self.places[row]]),
            evaluations=int(found.evaluations[self.places[row]]),
            unseen=self._unseen(row, output, values) if thorough else None,
        )
        xi = self.limits.near_zero(values)
        return Snapshot(evidence.evaluations, None, 0.0, evidence, xi, last_look=self.last_look)

    def _unseen(self, row: int, output: int, values: FloatArray) -> FloatMatrix:
        """Return what the coalitions that were not drawn may hide of a row in progress."""
        masks = np.concatenate([masks for masks, _, _ in self.seen])
        utilities = np.concatenate(
            [pairs[:, np.searchsorted(active, row), output] for _, active, pairs in self.seen]
        )
        empty, full = self.found.ends[:, self.places[row], output].tolist()
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
