"""Greedy active estimation (GAE): Algorithm 1 of the paper, and an honest form of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.draws import SingleMarginals, Walks, random_ranks
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.greedy.epochs import Epochs
from fairshapley.estimators.greedy.plan import (
    SizeStatistics,
    given_proposal,
    invariability,
    learned_proposal,
    pick,
    plain_probabilities,
    proposed_sizes,
)
from fairshapley.estimators.moments import Moments, floor_variances
from fairshapley.estimators.rounds import ROUND_MARGINALS

Proposal: TypeAlias = (
    Literal["pooled", "per-player"] | tuple[float, ...] | tuple[tuple[float, ...], ...]
)

# Failed evaluations after which a player without two contributions has to wait for its turn.
PATIENCE = 10
ALL_PLAYERS = slice(None)


@dataclass(frozen=True, eq=False)
class SelectedMarginals(SingleMarginals):
    """Marginal contributions of selected players, at sizes drawn from their proposals."""

    weights: FloatArray
    """α_c/q'(c) for size c"""

    def cut(self, coalitions: int) -> None:
        """Return None: what is selected is a round as a whole."""


def selected_marginals(
    rng: np.random.Generator, proposal: FloatArray, base: FloatArray, players: IntArray
) -> SelectedMarginals:
    """Draw one marginal contribution of each given player, at a size from its proposal."""
    sizes = proposed_sizes(rng, proposal, players)
    ranks = random_ranks(rng, len(players), len(base))
    by_player = np.broadcast_to(proposal, (len(base), len(base)))
    weights = base[sizes] / by_player[players, sizes]
    return SelectedMarginals(players, sizes, ranks, weights)


@dataclass(eq=False)
class ActiveState:
    """What was told: moments by player and by size, and what follows from them."""

    problem: Problem
    base: FloatArray
    """α_k of the semivalue"""
    xi: float
    sizes: SizeStatistics
    average: Moments
    """All contributions"""
    proposal: FloatArray
    """q', by size or by player and size; α until it is learned"""
    failed: IntArray
    """Contributions that greedy selection asked of each player and that failed (NaN)"""
    bootstrapped: int = 0
    """Marginals of the bootstrap told so far"""
    sampled: int = 0
    """Selections told after it; a walk is one"""
    invariabilities: FloatArray = field(default_factory=lambda: np.empty(0))
    """What greedy selection goes by, from the end of the bootstrap on"""
    epochs: Epochs | None = None


@dataclass(frozen=True, kw_only=True)
class GreedyActive(Estimator[ActiveState, Walks | SelectedMarginals]):
    """Greedy active estimation: sample whoever has the lowest fidelity, at telling sizes.

    A bootstrap of whole permutations gives every player its first contributions and the proposal
    q'(c) over the number of predecessors. Then, again and again: the player with the lowest
    f_i = m_i·(|φ̂_i| + ξ)²/s_i² is put behind c ~ q' random others, and its marginal contribution,
    weighted by 1/(n·q'(c)), joins its mean.

    What the fidelity of each form means:

    * Plain (Algorithm 1): sampling a player until its own estimate looks good is optional
      stopping. Values are biased away from 0 and the reported minimum fidelity is too high, by
      factors; use it to reproduce the paper.
    * ``honest=True``: counts and proposal are planned on what was told before an epoch, and the
      epochs' means are added up with weights fixed by the schedule (see `greedy/epochs.py`).
      Unbiased, with standard errors that can be believed; the counts are effective ones,
      the degrees of freedom of those errors plus 1.
    * ``selection="uniform"``: each player's number of contributions is fixed, each contribution is
      unbiased given those before it, so their mean is too, and s²/m is its variance: honest as
      it is.

    Parameters
    ----------
    alpha
        The strength of the uniform prior on q': 0 trusts the bootstrap (but for a share of 5 %,
        without which a size could be lost), a large number gives Monte Carlo. See
        `size_explained_variance` for how to choose it.
    bootstrap
        m', the number of bootstrap permutations: n − 1 evaluations each.
    proposal
        "pooled" learns one q' from all players' bootstrap marginals, "per-player" one for each (a
        size that a player never saw takes the pooled value; n² numbers of memory). Or the
        probabilities themselves, one for each size, or one such row per player: then the
        bootstrap draws from them too, one marginal per player and permutation.
    honest
        Plan on a pilot (the bootstrap, then doubling epochs), average fresh samples.
    xi
        ξ of the selection; by default that of the run.
    batch
        Selections per round, each raising the chosen player's f_i by f_i/m_i until the values are
        told. 1 is Algorithm 1 exactly; by default min(n, 64). Selecting takes O(n·log n) per round.
    selection
        "greedy", or "uniform": players in turn, active sampling alone.
    epsilon1
        When given, select by Remark 1: the player whose next contribution raises the bound
        ∏(1 − 1/(ε1²·f_i)) for independent estimates by the largest factor
        Δp = (ε1²·r_i − 1/(m_i + 1))/(ε1²·r_i − 1/m_i), where r_i = f_i/m_i. While some ε1²·f_i ≤ 1
        the bound is empty, and the lowest f_i comes first.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from fairshapley.estimators.greedy.greedy_active import GreedyActive
    >>> game = fs.games.SumOfUnanimity(20, seed=1)
    >>> result = fs.estimate(game, GreedyActive(honest=True), budget=1500, seed=0)
    >>> errors = (result.values - game.shapley_values) / result.standard_errors
    >>> bool(np.abs(errors).max() < 4)
    True
    """

    name = "gae"

    alpha: float = 5.0
    bootstrap: int = 20
    proposal: Proposal = "pooled"
    honest: bool = False
    xi: float | None = None
    batch: int | None = None
    selection: Literal["greedy", "uniform"] = "greedy"
    epsilon1: float | None = None

    def __post_init__(self) -> None:
        plain: dict[str, Any] = {  # plain numbers are what a journal can hold
            "alpha": checks.real("alpha", self.alpha, least=0),
            "bootstrap": checks.whole("bootstrap", self.bootstrap, least=2),
            "honest": checks.flag("honest", self.honest),
            "selection": checks.choice("selection", self.selection, ("greedy", "uniform")),
        }
        if isinstance(self.proposal, str):
            checks.choice("proposal", self.proposal, ("pooled", "per-player"))
        else:  # hashable, and the same whether it came as an array or out of a journal
            plain["proposal"] = plain_probabilities(self.proposal)
        if self.batch is not None:
            plain["batch"] = checks.whole("batch", self.batch)
        if self.xi is not None:
            plain["xi"] = checks.real("xi", self.xi, least=0)
        if self.epsilon1 is not None:
            plain["epsilon1"] = checks.real("epsilon1", self.epsilon1, above=0)
        checks.set_fields(self, **plain)
        if self.honest and self.selection == "uniform":
            raise InputError(
                "honest=True is for greedy selection: selection='uniform' is unbiased without it"
            )

    @property
    def _given(self) -> bool:
        return not isinstance(self.proposal, str)

    @property
    def traits(self) -> Traits:
        """Unbiased unless greedy selection decides how many contributions a player gets."""
        uniform = self.selection == "uniform"
        fixed_counts = uniform or self.honest
        because = (
            "it keeps sampling whoever looks worst, so that a player is left alone once luck "
            "made its estimate look good: values are biased away from 0 and the reported "
            "fidelity is too high; use honest=True"
        )
        return Traits(
            unbiased=fixed_counts,
            linear=uniform and self._given,
            efficient=False,
            honest_errors=fixed_counts,
            independent=uniform and self._given,
            not_certifiable_because="" if fixed_counts else because,
        )

    def start(self, problem: Problem) -> ActiveState:
        """Return the empty state; raise InputError if a given proposal does not fit the game."""
        n_players = problem.n_players
        base = problem.semivalue.weights(n_players)
        return ActiveState(
            problem,
            base,
            problem.xi if self.xi is None else self.xi,
            SizeStatistics(n_players, per_player=self.proposal == "per-player"),
            Moments(n_players),
            given_proposal(self.proposal, n_players) if self._given else base,
            np.zeros(n_players, dtype=np.int64),
        )

    def _in_bootstrap(self, state: ActiveState) -> bool:
        return state.bootstrapped < self.bootstrap * state.problem.n_players

    def ask(self, state: ActiveState, rng: np.random.Generator) -> Walks | SelectedMarginals | None:
        """Draw a bootstrap permutation, or marginals of the players selected."""
        n_players = state.problem.n_players
        if self._in_bootstrap(state):
            if not self._given:
                return Walks(random_ranks(rng, 1, n_players))
            offset = state.bootstrapped % n_players
            count = min(n_players - offset, ROUND_MARGINALS)
            return selected_marginals(
                rng, state.proposal, state.base, np.arange(offset, offset + count)
            )
        return selected_marginals(rng, state.proposal, state.base, self._select(state))

    def _select(self, state: ActiveState) -> IntArray:
        """Return the players of the next round."""
        n_players = state.problem.n_players
        batch = min(n_players, ROUND_MARGINALS) if self.batch is None else self.batch
        if state.epochs is not None:
            return state.epochs.next_players(batch, self.epsilon1)
        if self.selection == "uniform":
            return (state.sampled + np.arange(batch)) % n_players
        attempts, due = attempts_and_due(state)
        return pick(state.invariabilities, attempts, batch, self.epsilon1, due)

    def tell(self, state: ActiveState, draw: Walks | SelectedMarginals, values: FloatArray) -> None:
        """Fold in the weighted marginal contributions, and what selection needs."""
        if isinstance(draw, Walks):  # one uniform permutation: marginals at place k count n·α_k
            problem, sizes = state.problem, draw.ranks[0].astype(np.int64)
            players, weights = np.arange(len(sizes)), len(sizes) * state.base[sizes]
            by_place = draw.marginal_contributions(values, problem.empty, problem.full)
            marginals: FloatArray = by_place[0, sizes]
        else:
            players, sizes, weights = draw.players, draw.sizes, draw.weights
            marginals = values[1::2] - values[::2]
        in_bootstrap = self._in_bootstrap(state)
        state.average.add_at(players, marginals * weights)
        if in_bootstrap:
            state.sizes.add(players, sizes, marginals)
            state.bootstrapped += len(players)
            if not self._in_bootstrap(state):
                self._end_bootstrap(state)
            return
        if state.epochs is not None:
            state.sizes.add(players, sizes, marginals)
            state.epochs.add(players, marginals, weights)
            if state.epochs.complete:
                self._plan(state)
                state.epochs.next_epoch(told_invariability(state))
        elif self.selection == "greedy":
            np.add.at(state.failed, players[np.isnan(marginals)], 1)
            state.invariabilities[players] = told_invariability(state, players)
        state.sampled += len(draw.ranks)

    def _end_bootstrap(self, state: ActiveState) -> None:
        """Learn q' and the first scores."""
        self._plan(state)
        if self.honest:
            state.epochs = Epochs(state.problem.n_players, self.bootstrap)
            state.epochs.include(state.average, self.bootstrap)
            state.epochs.next_epoch(told_invariability(state))
        else:
            state.invariabilities = told_invariability(state)

    def _plan(self, state: ActiveState) -> None:
        """Learn q' from what was told by size; a given one stays."""
        if not self._given:
            moments = state.sizes.second_moments()
            state.proposal = learned_proposal(moments, state.base, self.alpha)

    def estimate(self, state: ActiveState) -> Estimate:
        """Return the means of all contributions, or of the epochs."""
        if state.epochs is not None:
            combined = state.epochs.combined(state.average.mean_square)
            return replace(
                combined, extremes=state.average.extremes(), skewness=state.average.skewness()
            )
        return state.average.estimate()

    def contribution_width(self, problem: Problem, value_width: float) -> float | None:
        """Return the width of a marginal times its largest weight α_c/q'(c).

        Only a given proposal and players in turn make the contributions i.i.d.
        """
        if not self.traits.independent:
            return None
        proposal = given_proposal(self.proposal, problem.n_players)
        weights = problem.semivalue.weights(problem.n_players) / proposal
        return float(2.0 * value_width * weights.max())

    def remarks(self, state: ActiveState) -> tuple[str, ...]:
        """Say how much the cardinality assumption holds, which is how to choose `alpha`."""
        share = state.sizes.explained_by_size()
        if self._in_bootstrap(state) or np.isnan(share):
            return ()
        return (
            f"the size of a coalition explains {100 * share:.0f} % of the variance of the "
            "marginals: the more, the smaller alpha may be",
        )


def told_invariability(state: ActiveState, players: IntArray | slice = ALL_PLAYERS) -> FloatArray:
    """Return r_i of the contributions so far.

    Where it is unknown, it is taken to be the median of the others (1 where nobody's is known): a 0
    would give a player whose evaluations fail all of the budget. Only then does it take O(n).
    """
    rates = _rates(state.average, players, state.xi)
    unknown = np.isnan(rates)
    if unknown.any():
        others = _rates(state.average, ALL_PLAYERS, state.xi)
        known = others[np.isfinite(others) & (others > 0)]
        rates[unknown] = np.median(known) if len(known) else 1.0
    return rates


def _rates(average: Moments, players: IntArray | slice, xi: float) -> FloatArray:
    """Return r_i, with a floor under the variance s² of one contribution."""
    counts = average.counts[players]
    enough, safe = counts > 1, np.maximum(counts, 1)
    variances = average.squares[players] / np.where(enough, counts - 1.0, 1.0)
    variances = np.where(enough, variances, np.nan) / safe
    floored = safe * floor_variances(variances, counts, average.mean_square)
    return invariability(average.means[players], floored, xi)


def attempts_and_due(state: ActiveState) -> tuple[IntArray, IntArray]:
    """Return the contributions asked of each player, and below which number it comes first.

    Until a player has two contributions it has no mean and variance of its own to select by. It
    comes first until then, but no longer once `PATIENCE` evaluations of it have failed.
    """
    counts = state.average.counts
    attempts: IntArray = counts + state.failed
    missing = np.where(state.failed < PATIENCE, np.maximum(2 - counts, 0), 0)
    return attempts, np.where(missing > 0, attempts + missing, 0)
