"""Stratified sampling by player and coalition size (Maleki et al. 2013)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.draws import SingleMarginals, random_ranks
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.moments import Means
from fairshapley.estimators.rounds import ROUND_MARGINALS
from fairshapley.estimators.sampling.strata import Pool, Strata, Sweep

# Up to twelve arrays of n² numbers: 400 MB at this many players.
MAX_PLAYERS = 2000


@dataclass(frozen=True, eq=False)
class StratumMarginals(SingleMarginals):
    """Single marginals that know their stratum, and the block of the sweep they belong to.

    In a sweep the marginals of a player are a group; at the ends, which are known exactly and have
    no stratum, all are one.
    """

    strata: IntArray
    blocks: IntArray | None = None


@dataclass(eq=False)
class StratifiedState:
    """The strata and what was seen in them; O(n²) numbers, whatever the budget."""

    problem: Problem
    strata: Strata
    ends: FloatArray
    """(n, 2): the marginal contributions to ∅ and to N ∖ {i}; NaN until asked, or when skipped"""
    ends_asked: int
    sweep: Sweep | None
    """The sweep in progress; None once every stratum was reached"""
    pool: Pool
    cells: Means
    """Of all marginal contributions of each (player, stratum)"""
    asked: IntArray
    """(n, strata): marginal contributions asked for, skipped ones too"""
    next_player: int = 0


@dataclass(frozen=True, kw_only=True)
class Stratified(Estimator[StratifiedState, StratumMarginals]):
    """Stratified sampling: φ_i = Σ_k α_k·(mean marginal contribution of i to coalitions of size k).

    One sample is one marginal contribution of one player, so that the estimates are independent.
    The strata k = 0 and k = n − 1 hold one number each and are evaluated once, exactly.

    1. *Sweeps.* Before the budget reaches every stratum, sizes are pooled: a sweep cuts them into
       1, 2, 4, … blocks of equal α-probability, for each player in random order, and draws two
       marginal contributions from each block. The estimate is the mean of the sweeps, weighted by
       the blocks visited: unbiased at every stop, with an unbiased variance (see `strata.py`).
    2. *One sweep over the strata themselves*, two samples each.
    3. *Strata.* From then on Σ_k α_k·mean_ik over all samples; the sizes drawn before did not
       depend on any value, so they count too. Variance Σ_k α_k²·s²_ik/m_ik. The samples of a
       stratum are ∝ (α_k·(k+1))^(2/3), which for Shapley values is Maleki's (k+1)^(2/3): it
       minimises the Hoeffding bound Σ_k α_k·r_k/√m_k when marginal contributions range over
       r_k ∝ k + 1.

    Neighbouring sizes that weigh together less than 1/(4n) (as most do for Banzhaf values at large
    n, none for Shapley values) are one stratum. Samples that were skipped are left out; a stratum
    without any leaves its weight to the player's others.

    `counts` are not the marginal contributions behind a value: they are one more than the degrees
    of freedom of its variance, so that Student's t with counts − 1 degrees has the right tails
    (Welch 1947, see `strata.Pool.mean`). Pairs and strata each give the variance a degree less
    than they have samples, and strata that vary more than others leave fewer still. A player
    whose strata never varied has its marginal contributions as counts.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from fairshapley.estimators.sampling.stratified import Stratified
    >>> game = fs.games.Additive([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> fs.estimate(game, Stratified(), budget=30, seed=0).values.round(12)
    array([1., 2., 3., 4., 5.])
    """

    name = "stratified"
    checkpoint_growth = 2.0

    @property
    def traits(self) -> Traits:
        """Unbiased, and independent since no sample serves two players."""
        return Traits(efficient=False, noise=False, independent=True)

    def start(self, problem: Problem) -> StratifiedState:
        """Return the empty state; raise InputError if the strata are too many."""
        n_players = problem.n_players
        if n_players > MAX_PLAYERS:
            raise InputError(
                f"stratified keeps statistics of {n_players:,} × {n_players:,} strata, more than "
                f"the {MAX_PLAYERS:,} players it is made for",
                remedy="give {method:'mc'}",
            )
        strata = Strata.of(problem.semivalue.weights(n_players))
        return StratifiedState(
            problem=problem,
            strata=strata,
            ends=np.full((n_players, 2), np.nan),
            ends_asked=0,
            sweep=_next_sweep(n_players, strata.count, None),
            pool=Pool.empty(n_players),
            cells=Means(n_players * strata.count),
            asked=np.zeros((n_players, strata.count), dtype=np.int64),
        )

    def ask(self, state: StratifiedState, rng: np.random.Generator) -> StratumMarginals | None:
        """Ask for the exact strata first, then sweeps, then the strata furthest behind."""
        n_players, strata = state.problem.n_players, state.strata
        marginals = min(n_players, ROUND_MARGINALS)
        if state.ends_asked < n_players:
            return _ask_ends(n_players, state.ends_asked)
        if strata.count == 0:
            return None
        blocks, group = None, 1
        if (sweep := state.sweep) is not None:
            players, visited = sweep.choose(rng, marginals)
            group = 2 * visited.shape[1]  # two draws from every block
            players, blocks = players.repeat(group), visited.reshape(-1).repeat(2)
            chosen = blocks
            if sweep.blocks < strata.count:
                chosen = strata.at((blocks + rng.random(len(blocks))) / sweep.blocks)
        else:
            players = (state.next_player + np.arange(marginals)) % n_players
            # D'Hondt's rule: the next sample goes where share/(samples + 1) is largest.
            shares = (strata.masses * (strata.mean_sizes + 1.0)) ** (2 / 3)
            behind = shares / (state.asked[players] + 1)
            chosen = behind.argmax(axis=1)
        sizes = strata.random_sizes(rng, chosen)
        ranks = random_ranks(rng, len(players), n_players)
        return StratumMarginals(players, sizes, ranks, chosen, blocks, group=group)

    def tell(self, state: StratifiedState, draw: StratumMarginals, values: FloatArray) -> None:
        """Fold in the marginal contributions."""
        marginals = values[1::2] - values[::2]
        if state.ends_asked < state.problem.n_players:
            state.ends[draw.players[::2]] = marginals.reshape(-1, 2)
            state.ends_asked = int(draw.players[-1]) + 1
            return
        cells = draw.players * state.strata.count + draw.strata
        state.cells.add_at(cells, marginals)
        np.add.at(state.asked.reshape(-1), cells, 1)
        if state.sweep is not None and draw.blocks is not None:
            blocks = draw.blocks.reshape(-1, draw.group)[:, ::2]
            self._tell_pairs(state, state.sweep, draw, blocks, marginals)
            return
        state.next_player = int(draw.players[-1] + 1) % state.problem.n_players

    def _tell_pairs(
        self,
        state: StratifiedState,
        sweep: Sweep,
        draw: StratumMarginals,
        blocks: IntArray,
        marginals: FloatArray,
    ) -> None:
        """Fold pairs into the sweep; begin the next one when all players have had their turn."""
        strata = state.strata
        scale: float | FloatArray = strata.total
        if sweep.blocks == strata.count:
            # The strata weigh differently; as equally likely blocks they count so many times more.
            scale = strata.count * strata.masses[draw.strata]
        pairs = (scale * marginals).reshape(*blocks.shape, 2)
        sweep.add(draw.players[:: draw.group], blocks, pairs)
        if sweep.finished:
            state.pool = state.pool.plus(*sweep.summary())
            state.sweep = _next_sweep(state.problem.n_players, strata.count, sweep)

    def estimate(self, state: StratifiedState) -> Estimate:
        """Return the pooled mean of the sweeps, or the sum over all strata once reached."""
        strata, cells = state.strata, state.cells
        known = ~np.isnan(state.ends)
        ends = np.where(known, state.ends, 0.0) @ strata.ends
        mass = strata.total + known @ strata.ends
        mass = np.where(mass > 0, mass, np.nan)
        if strata.count == 0:
            # Nothing was estimated; but where an end was skipped nothing is known of its part.
            variances = np.where(known.all(axis=1), 0.0, np.nan) / mass**2
            exact = bool(known.all())
            return Estimate(ends / mass, variances, known.sum(axis=1), exact=exact)
        marginals = cells.counts.reshape(len(mass), -1).sum(axis=1)
        if state.sweep is not None:
            pool = state.pool.plus(*state.sweep.summary())
        else:
            pool = Pool.empty(state.problem.n_players).plus(1.0, strata.sums(cells))
        inner = pool.estimate(marginals, strata.total**2 * cells.mean_square)
        values, variances = (inner.values + ends) / mass, inner.variances / mass**2
        return replace(inner, values=values, variances=variances)


def _next_sweep(n_players: int, strata: int, last: Sweep | None) -> Sweep | None:
    """Return the next sweep: 1, 2, 4, … blocks, at last the strata themselves; then None."""
    if last is not None and last.blocks == strata:
        return None
    blocks = 1 if last is None else 2 * last.blocks
    return Sweep(n_players, blocks if 2 * blocks <= strata else strata)


def _ask_ends(n_players: int, first: int) -> StratumMarginals:
    """Return the marginal contributions of the next players to ∅ and to all others."""
    players = np.arange(first, min(n_players, first + ROUND_MARGINALS // 2)).repeat(2)
    sizes = np.tile([0, n_players - 1], len(players) // 2)
    # Any permutation will do: there is one coalition of either size.
    ranks = np.tile(np.arange(n_players, dtype=np.uint16), (len(players), 1))
    none = np.empty(0, dtype=np.int64)
    return StratumMarginals(players, sizes, ranks, none, group=len(players))
