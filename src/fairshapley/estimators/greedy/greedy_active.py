"""Greedy active estimation (GAE): Algorithm 1 of the paper, and an honest form of it."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.draws import random_ranks
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.greedy.epochs import Epochs
from fairshapley.estimators.greedy.proposal import (
    SizeStatistics,
    given_proposal,
    learned_proposal,
    plain_probabilities,
)
from fairshapley.estimators.greedy.selection import Heap, pick, selection_heap, selection_key
from fairshapley.estimators.greedy.state import (
    ActiveState,
    attempts_and_due,
    estimate_of,
    told_invariability,
)
from fairshapley.estimators.greedy.weighted_draws import (
    WeightedDraw,
    WeightedWalks,
    placed_walks,
    selected_marginals,
)
from fairshapley.estimators.rounds import ROUND_MARGINALS
from fairshapley.estimators.statistics.averages import Average, PlainMean, SelfNormalised

Proposal: TypeAlias = (
    Literal["pooled", "per-player"] | tuple[float, ...] | tuple[tuple[float, ...], ...]
)


@dataclass(frozen=True, kw_only=True)
class GreedyActive(Estimator[ActiveState, WeightedDraw]):
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
    * ``reuse="walk"`` and ``selection="uniform"``: each player's number of contributions is fixed,
      each contribution is unbiased given those before it, so their mean is too, and s²/m is
      its variance. Both are honest as they are.

    Parameters
    ----------
    alpha
        The strength of the uniform prior on q': 0 trusts the bootstrap (but for a share of 5 %,
        without which a size could be lost), a large number gives Monte Carlo. See
        `explained_by_size` for how to choose it.
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
    pseudo_count
        The sample size n' that the MAP estimate gives the bootstrap; n by default, as in the paper.
    batch
        Selections per round, each raising the chosen player's f_i by f_i/m_i until the values are
        told. 1 is Algorithm 1 exactly; by default min(n, 64), and 1 with ``reuse="walk"``.
        Selecting takes O(log n) per contribution with 1 only; a larger batch copies and rebuilds
        the heap once a round, O(n/batch + log n) per contribution.
    keep_bootstrap
        Average the bootstrap's contributions too, as the paper does. Without them, values are those
        of the bootstrap until everybody has two others; whoever has not is selected first.
    selection
        "greedy", or "uniform": players in turn, active sampling alone.
    epsilon1
        When given, select by Remark 1: the player whose next contribution raises the bound
        ∏(1 − 1/(ε1²·f_i)) for independent estimates by the largest factor
        Δp = (ε1²·r_i − 1/(m_i + 1))/(ε1²·r_i − 1/m_i), where r_i = f_i/m_i. While some ε1²·f_i ≤ 1
        the bound is empty, and the lowest f_i comes first.
    reuse
        "single" evaluates one marginal per permutation (up to two evaluations), "walk" all n of it
        (n − 1 evaluations), each with its own weight (see `PlacedWalks.weights`).
    normalised
        Self-normalised importance sampling Σ wσ/Σ w, the paper's future work, with standard errors
        by the delta method. It is biased, and rarely pays: on a sum of unanimity, an airport and a
        voting game (20 players in turn, 60 evaluations each, α = 0.5) its mean squared error was
        2.0, 1.5 and 1.2 times that of the plain mean, at α = 5 still 1.2, 1.1 and 1.05 times,
        because a learned q' makes wσ vary less than σ. It is exact where a player's marginals are
        all equal.

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
    pseudo_count: float | None = None
    batch: int | None = None
    keep_bootstrap: bool = True
    selection: Literal["greedy", "uniform"] = "greedy"
    epsilon1: float | None = None
    reuse: Literal["single", "walk"] = "single"
    normalised: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.generic):  # plain numbers are what a journal can hold
                checks.settle(self, **{field.name: value.item()})
            if field.type == "bool":
                checks.flag(field.name, value)
        if not isinstance(self.proposal, str):
            # Hashable, and the same whether it came as an array or out of a journal.
            checks.settle(self, proposal=plain_probabilities(self.proposal))
        else:
            checks.choice("proposal", self.proposal, ("pooled", "per-player"))
        checks.choice("selection", self.selection, ("greedy", "uniform"))
        checks.choice("reuse", self.reuse, ("single", "walk"))
        checks.real("alpha", self.alpha, least=0)
        checks.whole("bootstrap", self.bootstrap, least=2)
        if self.batch is not None:
            checks.whole("batch", self.batch)
        if self.xi is not None:
            checks.real("xi", self.xi, least=0)
        for name in ("pseudo_count", "epsilon1"):
            if getattr(self, name) is not None:
                checks.real(name, getattr(self, name), above=0)
        if self.honest and (self.selection, self.reuse, self.normalised) != (
            "greedy",
            "single",
            False,
        ):
            raise InputError(
                "honest=True is for greedy selection of single marginals: selection='uniform' and "
                "reuse='walk' are unbiased without it, and normalised=True is biased with it"
            )

    @property
    def _given(self) -> bool:
        return not isinstance(self.proposal, str)

    @property
    def traits(self) -> Traits:
        """Unbiased unless greedy selection decides how many contributions a player gets."""
        uniform = self.selection == "uniform"
        fixed_counts = uniform or self.reuse == "walk" or self.honest
        because = ""
        if not fixed_counts:
            because = (
                "it keeps sampling whoever looks worst, so that a player is left alone once luck "
                "made its estimate look good: values are biased away from 0 and the reported "
                "fidelity is too high; use honest=True"
            )
        elif self.normalised:
            because = "self-normalised importance sampling is biased; use normalised=False"
        return Traits(
            unbiased=not because,
            linear=uniform and self._given,
            efficient=False,
            honest_errors=not because,
            independent=uniform and self._given and self.reuse == "single",
            not_certifiable_because=because,
        )

    def start(self, problem: Problem) -> ActiveState:
        """Nothing told; a given proposal is checked against the number of players."""
        n_players = problem.n_players
        proposal = given_proposal(self.proposal, n_players) if self._given else None
        bootstrap = self._new_average(n_players)
        return ActiveState(
            problem,
            problem.semivalue.weights(n_players),
            problem.xi if self.xi is None else self.xi,
            SizeStatistics(n_players, per_player=self.proposal == "per-player"),
            bootstrap,
            bootstrap if self.keep_bootstrap else self._new_average(n_players),
            proposal,
            np.zeros(n_players, dtype=np.int64),
        )

    def _new_average(self, n_players: int) -> Average:
        return SelfNormalised(n_players) if self.normalised else PlainMean(n_players)

    def _in_bootstrap(self, state: ActiveState) -> bool:
        return state.bootstrapped < self.bootstrap * state.problem.n_players

    def ask(self, state: ActiveState, rng: np.random.Generator) -> WeightedDraw | None:
        """A bootstrap permutation, or marginals of the players selected."""
        n_players = state.problem.n_players
        if self._in_bootstrap(state):
            if state.proposal is None:
                return WeightedWalks(random_ranks(rng, 1, n_players))
            offset = state.bootstrapped % n_players
            count = min(n_players - offset, ROUND_MARGINALS)
            return selected_marginals(rng, state.proposal, np.arange(offset, offset + count))
        assert state.proposal is not None  # noqa: S101 - learned when the bootstrap ended
        players = self._select(state)
        if self.reuse == "walk":
            return placed_walks(rng, state.proposal, players)
        return selected_marginals(rng, state.proposal, players)

    def _select(self, state: ActiveState) -> IntArray:
        """The players of the next round."""
        n_players = state.problem.n_players
        default = 1 if self.reuse == "walk" else min(n_players, ROUND_MARGINALS)
        batch = default if self.batch is None else self.batch
        if state.epochs is not None:
            return state.epochs.next_players(batch, self.epsilon1)
        if self.selection == "uniform":
            return (state.sampled + np.arange(batch)) % n_players
        assert state.heap is not None  # noqa: S101 - made when the bootstrap ended
        assert state.invariabilities is not None  # noqa: S101
        due = None if batch == 1 else attempts_and_due(state)[1]
        return pick(state.heap, state.invariabilities, batch, self.epsilon1, due)

    def tell(self, state: ActiveState, draw: WeightedDraw, values: FloatArray) -> None:
        """Fold in the weighted marginal contributions, and what selection needs."""
        players, sizes, marginals, weights = draw.weighted(values, state.problem, state.base)
        if self._in_bootstrap(state):
            state.bootstrap.add(players, marginals, weights)
            state.sizes.add(players, sizes, marginals)
            state.bootstrapped += len(players)
            if not self._in_bootstrap(state):
                self._end_bootstrap(state)
            return
        state.average.add(players, marginals, weights)
        if state.epochs is not None:
            state.sizes.add(players, sizes, marginals)
            state.epochs.add(players, marginals, weights)
            if state.epochs.complete:
                self._plan(state)
                state.epochs.turn(told_invariability(state, slice(None)))
        elif self.selection == "greedy":
            np.add.at(state.failed, players[np.isnan(marginals)], 1)
            self._rescore(state, players)
        # Whose turn it is counts selections: a walk is one.
        state.sampled += draw.selections

    def _end_bootstrap(self, state: ActiveState) -> None:
        """Learn q' and the first scores."""
        n_players = state.problem.n_players
        self._plan(state)
        if self.honest:
            assert isinstance(state.bootstrap, PlainMean)  # noqa: S101 - not normalised
            state.epochs = Epochs(n_players, self.bootstrap)
            if self.keep_bootstrap:
                state.epochs.include(state.bootstrap, self.bootstrap)
            state.epochs.turn(told_invariability(state, slice(None)))
            return
        state.invariabilities = told_invariability(state, slice(None))
        state.heap = self._heap(state)

    def _plan(self, state: ActiveState) -> None:
        """Learn q' from what was told by size; a given one stays."""
        if self._given:
            return
        n_players = state.problem.n_players
        pseudo_count = n_players if self.pseudo_count is None else self.pseudo_count
        moments = state.sizes.second_moments()
        state.proposal = learned_proposal(moments, state.base, self.alpha, pseudo_count)

    def _heap(self, state: ActiveState) -> Heap:
        assert state.invariabilities is not None  # noqa: S101 - told before
        attempts, due = attempts_and_due(state)
        return selection_heap(state.invariabilities, attempts, self.epsilon1, due)

    def _rescore(self, state: ActiveState, players: IntArray) -> None:
        """New scores for the players that were told something.

        O(log n) for one of them; for more the heap is made anew, in O(n).
        """
        assert state.heap is not None  # noqa: S101 - made when the bootstrap ended
        assert state.invariabilities is not None  # noqa: S101
        # Without the bootstrap, its scores stand in until a player has two contributions.
        fresh = players if self.keep_bootstrap else players[state.average.counts[players] > 1]
        if len(fresh):
            state.invariabilities[fresh] = told_invariability(state, fresh)
        if len(players) == 1:
            player, rate = int(players[0]), float(state.invariabilities[players[0]])
            attempts, due = (int(some[0]) for some in attempts_and_due(state, players))
            key = selection_key(rate, attempts, self.epsilon1, due)
            heapq.heapreplace(state.heap, (key, attempts, player))
        else:
            state.heap = self._heap(state)

    def estimate(self, state: ActiveState) -> Estimate:
        """The means; the bootstrap's as long as there is nothing else to average."""
        if state.epochs is not None:
            combined = state.epochs.combined(state.average.mean_square)
            combined = replace(combined, extremes=state.average.extremes())
            if self.keep_bootstrap or not np.isnan(combined.values).any():
                return combined
            return estimate_of(state.bootstrap)
        if int(state.average.counts.min()) > 1:
            return estimate_of(state.average)
        return estimate_of(state.bootstrap)

    def contribution_width(self, problem: Problem, value_width: float) -> float | None:
        """A marginal lies within ± the width of the utilities, times its weight α_c/q'(c).

        Only a given proposal and players in turn make the contributions i.i.d.
        """
        if not self.traits.independent or self.normalised:
            return None
        proposal = given_proposal(self.proposal, problem.n_players)
        weights = problem.semivalue.weights(problem.n_players) / proposal
        return float(2.0 * value_width * weights.max())

    def remarks(self, state: ActiveState) -> tuple[str, ...]:
        """How much the cardinality assumption holds, which is how to choose `alpha`."""
        if self._in_bootstrap(state):
            return ()
        share = self.explained_by_size(state)
        if np.isnan(share):
            return ()
        return (
            f"the size of a coalition explains {100 * share:.0f} % of the variance of the "
            "marginals: the more, the smaller alpha may be",
        )

    def explained_by_size(self, state: ActiveState) -> float:
        """The share of the bootstrap marginals' variance that their size explains.

        See `fairshapley.estimators.greedy.proposal.size_explained_variance`. It is how to choose
        `alpha`: near 1 take a small one, near 0 a large one. With ``honest=True`` the
        marginals of all closed rounds count.
        """
        return state.sizes.explained_by_size()
