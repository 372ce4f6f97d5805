"""Stratified SVARM: every coalition updates a stratum of every player (Kolpaczki et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.draws import FreshCoalitions, random_sets
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.rounds import round_length
from fairshapley.estimators.strata.covers import SizeStrata, cover_lengths, random_covers
from fairshapley.estimators.strata.weights import Part, Pool

# Count, mean and squares of 2·n × n strata: 48 bytes each, 200 MB at 2000 players.
MAX_PLAYERS = 2000
# Coalitions of the first rounds and of the longest.
FIRST_COALITIONS, MOST_COALITIONS = 32, 2048
# Coalitions that one size can get in a round; if it should have more, the next makes up for it.
SAME_SIZE_AT_ONCE = 32
# A size that weighs less changes no value in the sixteenth digit.
NEGLIGIBLE_WEIGHT = 1e-17


@dataclass(frozen=True, eq=False)
class SizedCoalitions(FreshCoalitions):
    """Coalitions in the order of their sizes."""

    rows: IntArray
    """The place of each coalition's size among the sizes of the state; none at the ends"""
    covers: bool
    """Whether these are covers, or independent of each other"""


@dataclass(eq=False)
class SvarmState:
    """The problem, the sizes known exactly, and statistics of every player and other size."""

    problem: Problem
    weights: FloatArray
    """α_0 … α_{n−1}"""
    singles: FloatArray
    """v({i}) − v(∅); NaN before it is told, or when it was skipped"""
    leave_outs: FloatArray
    """v(N∖{i}) − v(∅)"""
    ends_asked: int
    """The players whose v({i}) and v(N∖{i}) were asked for"""
    sizes: IntArray
    """The sizes that are sampled, 2 … n − 2"""
    shares: FloatArray
    """The coalitions that they get, in proportion"""
    asked: IntArray
    """The coalitions of each asked for"""
    strata: SizeStrata
    told: int = 0
    """Coalitions told so far"""


@dataclass(frozen=True, kw_only=True)
class StratifiedSVARM(Estimator[SvarmState, SizedCoalitions]):
    """Stratified SVARM: means of utilities instead of marginal contributions.

    φ_i = Σ_k α_k·(φ⁺_ik − φ⁻_ik), with φ⁺_ik the mean of v(S ∪ {i}) and φ⁻_ik that of v(S) over the
    coalitions S of k others. A coalition A of size s is a sample of φ⁺_{i,s−1} for every i ∈ A and
    of φ⁻_{i,s} for every i ∉ A (Kolpaczki, Bengs, Muschalik & Hüllermeier 2024). The sizes 0, 1,
    n − 1 and n are evaluated completely and are exact.

    Every other size begins with a *cover*, the warm-up of the paper: ⌈n/s⌉ coalitions of size s,
    disjoint but for the last (above n/2 their complements), so that every player is in one and out
    of one and no stratum is empty. Values exist from then on: after some 2n·(ln(n/2) + 1)
    evaluations, 10 for each of 100 players. What follows are independent uniform coalitions, each
    of the size with the largest share/(coalitions + 1). Shares ∝ √(α²_{s−1}/s + α²_s/(n − s)) make
    the variance least if utilities vary equally at all sizes; a quarter follows them as if the
    standard deviation fell as 1/√s, as it does where utilities saturate. No utility has a say in
    it, and no player is treated differently: the estimate is unbiased.

    What is left over of the efficiency of a size is taken from all its players alike, so that
    Shapley estimates add up to v(N) − v(∅). The variance of φ̂_i is Σ α²·s²/m over its strata, with
    a correction for what the coalitions of a cover have to do with each other (see
    `covers.SizeStrata.variances`).

    `counts` are one more than the degrees of freedom of the variance (see `Stratified`). A size of
    which all of a player's coalitions were skipped leaves its part to the player's other sizes; for
    semivalues other than the Shapley value, the player then has no value.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from fairshapley.estimators.strata.svarm import StratifiedSVARM
    >>> game = fs.games.SumOfUnanimity(12, seed=0)
    >>> result = fs.estimate(game, StratifiedSVARM(), budget=600, seed=0)
    >>> bool(np.isclose(result.values.sum(), game.shapley_values.sum()))
    True
    """

    name = "svarm"
    checkpoint_growth = 4.0

    @property
    def traits(self) -> Traits:
        """Unbiased and linear; every coalition serves every player."""
        return Traits(exact_nulls=False, iid=False, noise=False)

    def start(self, problem: Problem) -> SvarmState:
        """Nothing told yet; an InputError where the strata are too many."""
        n_players = problem.n_players
        if n_players > MAX_PLAYERS:
            raise InputError(
                f"svarm keeps statistics of {n_players:,} × {n_players:,} strata, more than the "
                f"{MAX_PLAYERS:,} players it is made for: use 'kernel' or 'mc'"
            )
        weights = problem.semivalue.weights(n_players)
        sizes = np.arange(2, n_players - 1)
        sizes = sizes[np.maximum(weights[sizes - 1], weights[sizes]) > NEGLIGIBLE_WEIGHT]
        squares = weights[sizes - 1] ** 2 / sizes + weights[sizes] ** 2 / (n_players - sizes)
        return SvarmState(
            problem=problem,
            weights=weights,
            singles=np.full(n_players, np.nan),
            leave_outs=np.full(n_players, np.nan),
            ends_asked=0 if n_players > 1 else 1,
            sizes=sizes,
            shares=_shares(np.sqrt(squares), sizes),
            asked=np.zeros(len(sizes), dtype=np.int64),
            strata=SizeStrata(n_players, sizes, weights),
        )

    def ask(self, state: SvarmState, rng: np.random.Generator) -> SizedCoalitions | None:
        """The exact sizes first, then covers; None when there are no other sizes."""
        n_players = state.problem.n_players
        if state.ends_asked < n_players:
            return _ask_ends(n_players, state.ends_asked)
        if not len(state.sizes):
            return None
        if not state.asked.all():
            return _ask_covers(state, rng)
        rows = _choose(state)
        masks = random_sets(rng, state.sizes[rows], n_players)
        return SizedCoalitions(bits.pack(masks), n_players, rows, covers=False)

    def tell(self, state: SvarmState, draw: SizedCoalitions, values: FloatArray) -> None:
        """Fold in the exact sizes, or samples of the others."""
        gains = values - state.problem.empty
        state.told += len(draw)
        if state.ends_asked < state.problem.n_players:
            last = state.ends_asked + len(draw) // 2
            state.singles[state.ends_asked : last] = gains[::2]
            state.leave_outs[state.ends_asked : last] = gains[1::2]
            state.ends_asked = last
            return
        state.asked += np.bincount(draw.rows, minlength=len(state.asked))
        state.strata.add(draw.rows, draw.masks(0, len(draw)), gains, covers=draw.covers)

    def estimate(self, state: SvarmState) -> Estimate:
        """The sum over the sizes; NaN before each size had a cover."""
        n_players, strata = state.problem.n_players, state.strata
        if state.ends_asked < n_players or (state.asked == 0).any():
            return Estimate.unknown(n_players)
        ends = _end_terms(state)
        terms = np.concatenate([ends, strata.terms()])
        scale = _scale(terms, flat=bool(np.ptp(state.weights) <= 1e-9 * state.weights[0]))
        gain = state.problem.full - state.problem.empty
        values = state.weights[-1] * gain + scale * np.nansum(terms, axis=0)
        if not len(state.sizes):
            known = ~np.isnan(ends)
            variances = np.where(known.all(axis=0), 0.0, np.nan)
            exact = bool(known.all()) and n_players < 4
            return Estimate(values, variances, known.sum(axis=0), exact=exact)
        return self._with_errors(state, values, scale)

    @staticmethod
    def _with_errors(state: SvarmState, values: FloatArray, scale: FloatArray) -> Estimate:
        """The values with their variances, by Welch's formula for a sum over sizes."""
        spreads, degrees = state.strata.variances()
        known = state.strata.known & (degrees > 0)
        spreads = np.where(known, np.square(scale) * spreads, 0.0)
        variance_errors = np.hypot.reduce(spreads / np.sqrt(degrees + 2.0), axis=0)
        total = np.where(known, degrees, 0.0).sum(axis=0)
        part = Part(values, spreads.sum(axis=0), variance_errors, total)
        contributions = np.full(len(values), state.strata.coalitions)
        # Where nothing varied, the values themselves are the scale.
        scale_square = float(np.nansum(np.square(values))) / max(1, int((values == values).sum()))
        return Pool.empty(len(values)).plus(1.0, part).estimate(contributions, scale_square)


def _shares(even: FloatArray, sizes: IntArray) -> FloatArray:
    """Three parts as if utilities varied equally at all sizes, one as if ∝ 1/√s."""
    falling = even / np.sqrt(sizes)
    # Without sizes there are no shares: the maximum only keeps 0/0 away.
    totals = [max(float(part.sum()), 1e-300) for part in (even, falling)]
    return 3.0 * even / totals[0] + falling / totals[1]


def _ask_ends(n_players: int, first: int) -> SizedCoalitions:
    """{i} and N∖{i} for the next players i."""
    players = np.arange(first, min(n_players, first + FIRST_COALITIONS // 2))
    masks = np.zeros((len(players), 2, n_players), dtype=bool)
    masks[np.arange(len(players)), 0, players] = True
    masks[:, 1] = ~masks[:, 0]
    packed = bits.pack(masks.reshape(-1, n_players))
    return SizedCoalitions(packed, n_players, np.empty(0, dtype=np.int64), covers=False)


def _ask_covers(state: SvarmState, rng: np.random.Generator) -> SizedCoalitions:
    """Covers of the next sizes that have none yet."""
    n_players, left = state.problem.n_players, np.flatnonzero(state.asked == 0)
    lengths = cover_lengths(n_players, state.sizes[left])
    count = max(1, int((np.cumsum(lengths) <= FIRST_COALITIONS).sum()))
    masks = random_covers(rng, n_players, state.sizes[left[:count]])
    rows = np.repeat(left[:count], lengths[:count])
    return SizedCoalitions(bits.pack(masks), n_players, rows, covers=True)


def _choose(state: SvarmState) -> IntArray:
    """The sizes of the next coalitions, in proportion to the shares (D'Hondt's rule)."""
    first, most = FIRST_COALITIONS, MOST_COALITIONS
    busy = state.problem.in_flight
    wanted = round_length(state.told, early=first, least=first, most=most, busy=busy)
    before = state.asked[:, None] + np.arange(min(wanted, SAME_SIZE_AT_ONCE))
    merits = (state.shares[:, None] / (before + 1.0)).reshape(-1)
    best = np.argsort(-merits, kind="stable")[:wanted]
    return np.sort(best // before.shape[1])


def _end_terms(state: SvarmState) -> FloatArray:
    """What the sizes 1 and n − 1 add to each value, one row a size; NaN where it was skipped."""
    n_players, weights = state.problem.n_players, state.weights
    if n_players == 1:
        return np.zeros((0, 1))
    of_one: FloatArray = weights[0] * state.singles
    of_one -= weights[1] * _means_of_others(state.singles)
    if n_players == 2:  # the sizes 1 and n − 1 are the same
        return np.stack([of_one])
    means = _means_of_others(state.leave_outs)
    of_all_but_one = weights[-2] * means - weights[-1] * state.leave_outs
    return np.stack([of_one, of_all_but_one])


def _means_of_others(values: FloatArray) -> FloatArray:
    """For each player the mean over all others that are not NaN; NaN without any."""
    known = ~np.isnan(values)
    kept = np.where(known, values, 0.0)
    others = known.sum() - known
    means: FloatArray = (kept.sum() - kept) / np.maximum(others, 1)
    return np.where(others > 0, means, np.nan)


def _scale(terms: FloatArray, *, flat: bool) -> FloatArray:
    """By how much the sizes told must stand in for those of which everything was skipped.

    Only when all sizes weigh the same: otherwise the terms of two sizes do not resemble each other.
    """
    known = (~np.isnan(terms)).sum(axis=0)
    scale = np.where(
        known == len(terms), 1.0, len(terms) / np.maximum(known, 1) if flat else np.nan
    )
    return np.where(known > 0, scale, 1.0 if not len(terms) else np.nan)
