"""Leverage SHAP: least squares on pairs drawn by their leverage (Musco & Witter 2025)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairshapley._basics import bits, checks
from fairshapley._basics.threads import one_thread
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.draws import FreshCoalitions
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.regression.kernel_shap import check_shapley
from fairshapley.estimators.regression.pairs import PairClasses
from fairshapley.estimators.rounds import busy_units, early_length, round_length
from fairshapley.estimators.statistics.moments import floor_variances
from fairshapley.estimators.statistics.store import CoalitionStore

# The Gram matrix has n² entries and is inverted: 200 MB and a minute at the limit.
MAX_PLAYERS = 5000
# A round grows to 4096 coalitions, or one for each player.
MOST_COALITIONS = 4096
# Entries of the rows that are unpacked at once: 1 MiB, which stays in the cache of a core.
BLOCK_ENTRIES, LEAST_BLOCK = 1 << 17, 64
# As many random pairs as players have a condition number of about n²; beyond 1e10 the equations are
# taken as unsolvable, below it six digits of the solution hold.
WORST_CONDITION = 1e10


@dataclass(frozen=True, eq=False)
class PairDraw(FreshCoalitions):
    """Coalitions, each followed by its complement."""

    classes: IntArray
    """The class of each pair"""
    orders: list[IntArray]
    """The orders in which the listed classes are visited"""


@dataclass(eq=False)
class LeverageState:
    """The problem and the pairs told so far."""

    problem: Problem
    classes: PairClasses
    asked: IntArray
    """The pairs asked for in each class, skipped ones too"""
    store: CoalitionStore
    """One coalition of each pair told, its class and half the difference of the utilities"""
    orders: list[IntArray] | None = None
    """The orders in which the listed classes are visited; the first round draws them"""


@dataclass(frozen=True, kw_only=True)
class LeverageSHAP(Estimator[LeverageState, PairDraw]):
    """Leverage SHAP: KernelSHAP's regression on coalitions drawn by their leverage scores.

    Shapley values solve a weighted least-squares problem over all coalitions z, in which one of
    size s weighs 1/(C(n, s)·s·(n − s)), under the constraint Σφ = v(N) − v(∅). With the constraint
    projected out, the leverage of z is 1/C(n, s) (Musco & Witter 2025): every size is drawn
    equally often. A coalition comes with its complement, and both make one equation,

        (v(z) − v(N∖z))/2 − (|z|/n − 1/2)·(v(N) − v(∅)) = a_s + Σ_i (z_i − |z|/n)·φ_i.

    The level a_s of each size is this package's addition. Over all coalitions of a size z_i − |z|/n
    adds up to 0, so that a level changes nothing in the full problem; on a sample it keeps what all
    coalitions of a size have in common from passing for values. Where utilities are no straight
    line in the size (most are not) the mean squared error falls, by a factor of 1.2 to 30 on the
    games that were measured.

    Single players come first, all of them, so that the equations can be solved from 2n evaluations
    on. Then sizes are visited in turn, which is stratified sampling. Pairs of a size are drawn
    without replacement (where there are more than 2¹⁸, independently), so that small sizes are
    complete sooner or later and all sizes at last, when the values are exact. An equation weighs
    what its size does in the full problem, divided among the pairs drawn. Games with interactions
    of at most two players are solved exactly.

    Being a ratio, the estimate is biased by O(1/m) for m pairs, against a standard error of
    O(1/√m): on games of 9 players by up to a third of it at 15 evaluations per player.

    The variances are those of the delete-one jackknife for stratified sampling without replacement:
    for each size the variance over its pairs of (A⁻¹x)_i·ωe/(1 − h), by which φ̂_i moves when a pair
    of leverage h and residual e is left out (MacKinnon & White 1985, HC3), times 1 − m_s/M_s when
    m_s of M_s pairs were drawn. They are known once every size was seen, from some 3n evaluations
    on. `counts` are one more than the degrees of freedom of the residuals.

    All pairs are kept, in n/8 + 10 bytes each: residuals can only be told when all is known. An
    estimate of m pairs takes O(m·n²) operations.

    Parameters
    ----------
    levels
        Whether each size has a level of its own. False is the regression as published.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from fairshapley.estimators.regression.leverage_shap import LeverageSHAP
    >>> game = fs.games.Additive([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> fs.estimate(game, LeverageSHAP(), budget=30, seed=0).values.round(9)
    array([1., 2., 3., 4., 5., 6.])
    """

    name = "leverage"
    checkpoint_growth = 8.0

    levels: bool = True

    def __post_init__(self) -> None:
        checks.settle(self, levels=checks.flag("levels", self.levels))

    @property
    def traits(self) -> Traits:
        """Linear and efficient; biased by O(1/m), hence not certified."""
        return Traits(
            unbiased=False,
            exact_nulls=False,
            semivalues=False,
            iid=False,
            noise=False,
            not_certifiable_because=(
                "least squares on a sample of coalitions is biased by O(1/m), which its standard "
                "errors leave out; use UnbiasedKernelSHAP() or MonteCarlo() for a certificate"
            ),
        )

    def start(self, problem: Problem) -> LeverageState:
        """No pairs yet, or an InputError when the method does not apply."""
        n_players = problem.n_players
        check_shapley(problem, "Leverage SHAP")
        if n_players > MAX_PLAYERS:
            raise InputError(
                f"Leverage SHAP solves {n_players:,} equations for as many players, more than the "
                f"{MAX_PLAYERS:,} it is made for: use 'kernel' or 'mc'"
            )
        classes = PairClasses(n_players)
        asked = np.zeros(len(classes), dtype=np.int64)
        store = CoalitionStore(n_players, classes=np.uint16, gains=np.float64)
        return LeverageState(problem, classes, asked, store)

    def ask(self, state: LeverageState, rng: np.random.Generator) -> PairDraw | None:
        """A few pairs, sizes in turn; None when every coalition was asked for."""
        n_players, classes = state.problem.n_players, state.classes
        told = int(state.asked.sum())
        most = max(MOST_COALITIONS, n_players) // 2
        busy = busy_units(state.problem.in_flight, 2)
        count = round_length(told, early=early_length(n_players, 2), most=most, busy=busy)
        orders = state.orders if state.orders is not None else classes.random_orders(rng)
        chosen = classes.choose(rng, state.asked, count)
        if not len(chosen):
            return None
        masks = classes.draw(rng, chosen, state.asked, orders)
        both = bits.with_complements(bits.pack(masks), n_players)
        return PairDraw(both, n_players, chosen, orders)

    def tell(self, state: LeverageState, draw: PairDraw, values: FloatArray) -> None:
        """Keep the pairs of which neither evaluation was skipped."""
        state.orders = draw.orders
        state.asked += np.bincount(draw.classes, minlength=len(state.asked))
        gains = 0.5 * (values[::2] - values[1::2])
        kept = ~np.isnan(gains)
        packed = draw.packed[::2][kept]
        state.store.append(packed, classes=draw.classes[kept], gains=gains[kept])

    @one_thread()
    def estimate(self, state: LeverageState) -> Estimate:
        """The solution of the regression; NaN while there are too few equations."""
        n_players, classes = state.problem.n_players, state.classes
        pairs = np.bincount(state.store["classes"], minlength=len(classes))
        enough = len(state.store) >= n_players - 1
        regression = Regression(state, pairs, levels=self.levels) if enough else None
        if regression is None or not regression.solvable:
            return Estimate.unknown(n_players)
        phi = regression.solution + (state.problem.full - state.problem.empty) / n_players
        degrees = regression.degrees
        counts = np.full(n_players, max(degrees, 0) + 1, dtype=np.int64)
        if bool((classes.listed & (pairs == classes.pairs)).all()):
            return Estimate(phi, np.zeros(n_players), counts, exact=True)
        # A size that was never seen may hold anything.
        seen = bool(pairs.all()) and degrees > 0
        variances = regression.variances() if seen else np.full(n_players, np.nan)
        # The values themselves are the scale: equal marginal contributions would be as large.
        floored = floor_variances(variances, counts, float(np.square(phi).mean()))
        equal = (floored != variances) & ~np.isnan(floored)
        return Estimate(phi, floored, counts, extremes=np.where(equal, 0.0, np.nan))


class Regression:
    """Weighted least squares on the pairs of a state, in the space of vectors with sum 0.

    Rows x = z − |z|/n, weights ω_s = (share of the class)/(s·(n − s)·m_s), where m_s pairs of the
    class were told: together they weigh what the whole class does. A level a_s of each size is
    profiled out, which takes (Σx)(Σx)ᵀ/(m_s + 1) from the products of the size: the 1 is a ridge
    of one pair, so that a size with a single pair still counts. Of M_s pairs drawn without
    replacement this takes the share (M_s − m_s)/((M_s − 1)(m_s + 1)) on average, which the weights
    give back: otherwise sizes with few pairs would count less, and their effect on the values with
    them.
    """

    def __init__(self, state: LeverageState, pairs: IntArray, *, levels: bool) -> None:
        self.state = state
        self.pairs = pairs
        classes, n_players = state.classes, state.problem.n_players
        masses = classes.shares / (classes.sizes * (n_players - classes.sizes))
        # Which half stands for a pair of halves is arbitrary: they have no level.
        self.shrinkage = np.where(levels & (classes.shares == 1.0), 1.0 / (pairs + 1.0), 0.0)
        others = (classes.pairs - pairs) / np.maximum(classes.pairs - 1.0, 1.0)
        # From a class without pairs nothing is taken: its weight is used for no row.
        taken = self.shrinkage * np.where(classes.listed, others, 1.0) * (pairs > 0)
        self.weights: FloatArray = masses / (np.maximum(pairs, 1) * (1.0 - taken))
        self.row_sums: FloatArray = np.zeros((len(classes), n_players))
        self.target_sums: FloatArray = np.zeros(len(classes))
        gram, right = self._products()
        # Every row is at a right angle to 1, which gets the mean eigenvalue in place of 0.
        gram += np.trace(gram) / n_players**2
        eigenvalues, vectors = np.linalg.eigh(gram)
        self.solvable = bool(eigenvalues[0] * WORST_CONDITION > eigenvalues[-1])
        if self.solvable:
            self.inverse: FloatArray = (vectors / eigenvalues) @ vectors.T
            solution = self.inverse @ right
            self.solution: FloatArray = solution - solution.mean()

    @property
    def degrees(self) -> int:
        """Of freedom of the residuals: pairs less values less levels, a shrunk one in part."""
        values = self.state.problem.n_players - 1
        return int(self.pairs.sum() - values - (self.pairs * self.shrinkage).sum())

    def _products(self) -> tuple[FloatArray, FloatArray]:
        """The Gram matrix and the right-hand side."""
        n_players = self.state.problem.n_players
        gram, right = np.zeros((n_players, n_players)), np.zeros(n_players)
        for members, parts, rows, targets in self._equations():
            right += (self.weights[members] * targets) @ rows
            for index, part in parts:
                self.row_sums[index] += rows[part].sum(axis=0)
                self.target_sums[index] += targets[part].sum()
                rows[part] *= math.sqrt(self.weights[index])
            gram += rows.T @ rows
        shrunk = self.row_sums * (self.weights * self.shrinkage)[:, None]
        return gram - shrunk.T @ self.row_sums, right - self.target_sums @ shrunk

    def _equations(
        self,
    ) -> Iterator[tuple[IntArray, list[tuple[int, slice]], FloatArray, FloatArray]]:
        """The classes of some pairs at a time, the part that each class is, rows, right sides.

        What is the same for a class is done part by part, which is faster than row by row.
        """
        problem, store = self.state.problem, self.state.store
        order = np.argsort(store["classes"], kind="stable")
        step = max(LEAST_BLOCK, BLOCK_ENTRIES // problem.n_players)
        for start in range(0, len(order), step):
            part = order[start : start + step]
            members = store["classes"][part].astype(np.int64)
            shares = self.state.classes.sizes[members] / problem.n_players
            targets = store["gains"][part] - (shares - 0.5) * (problem.full - problem.empty)
            rows = store.masks(part).astype(np.float64)
            present, firsts = np.unique(members, return_index=True)
            ends = map(slice, firsts.tolist(), [*firsts[1:].tolist(), len(part)])
            parts = list(zip(present.tolist(), ends, strict=True))
            for _, own in parts:
                rows[own] -= shares[own.start]
            yield members, parts, rows, targets

    def variances(self) -> FloatArray:
        """Of the delete-one jackknife for stratified sampling without replacement."""
        n_players, classes = self.state.problem.n_players, self.state.classes
        shifts = self.row_sums * self.shrinkage[:, None]
        levels = self.shrinkage * (self.target_sums - self.row_sums @ self.solution)
        # What a level absorbs is restored below by m/(m − 1), but not for a single pair.
        alone = np.where(self.pairs == 1, self.shrinkage, 0.0)
        sums, squares = np.zeros((2, len(classes), n_players))
        for members, parts, rows, targets in self._equations():
            weights = self.weights[members]
            residuals = targets - rows @ self.solution - levels[members]
            for index, part in parts:
                rows[part] -= shifts[index]
            influences = rows @ self.inverse
            leverages = weights * np.einsum("pi,pi->p", influences, rows)
            leverages += alone[members]
            # 1e−9: an equation that the others do not check has e = 0 too, not 0/0.
            moves = weights * residuals / np.maximum(1.0 - leverages, 1e-9)
            for index, part in parts:
                sums[index] += moves[part] @ influences[part]
            moves, influences = np.square(moves), np.square(influences, out=influences)
            for index, part in parts:
                squares[index] += moves[part] @ influences[part]
        pairs = np.maximum(self.pairs, 1)[:, None]
        centred = np.maximum(squares - np.square(sums) / pairs, 0.0)
        centred *= pairs / np.maximum(pairs - 1, 1)
        # A single pair has no mean of its own to differ from: its square is too large, if anything.
        spreads = np.where(pairs > 1, centred, squares)
        drawn = np.where(classes.listed, self.pairs / classes.pairs, 0.0)
        return (1.0 - drawn) @ spreads
