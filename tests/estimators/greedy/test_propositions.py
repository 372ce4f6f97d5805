"""The paper's propositions on greedy active estimation, as tests on games known exactly."""

from itertools import permutations, product
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import fairshapley as fs
from fairshapley.estimators.exact import exact_values
from fairshapley.estimators.greedy.greedy_active import GreedyActive
from fairshapley.semivalues import parse_semivalue
from fairshapley_paper.theory import (
    greedy_allocation,
    importance_variance,
    optimal_proposal,
    pdp_prefers,
)

XI = 0.1
tables = st.integers(2, 5).flatmap(
    lambda n: arrays(np.float64, 1 << n, elements=st.floats(-10, 10).map(lambda x: round(x, 3)))
)


def allocations(n_players, budget):
    """Every way to share out a budget."""
    return np.array([m for m in product(range(budget + 1), repeat=n_players) if sum(m) == budget])


@st.composite
def selection_problems(draw):
    n_players = draw(st.integers(2, 4))
    rates = draw(st.lists(st.floats(0.05, 10), min_size=n_players, max_size=n_players))
    first = draw(st.lists(st.floats(0, 8), min_size=n_players, max_size=n_players))
    return np.array(rates), np.array(first), draw(st.integers(0, 7))


@settings(max_examples=60, deadline=None)
@given(selection_problems())
def test_greedy_selection_maximises_the_minimum_fidelity(problem):
    """Proposition 2: for known r_i and any initial scores, against every other allocation."""
    rates, first, budget = problem
    greedy = first + rates * greedy_allocation(rates, first / rates, budget)
    others = first + rates * allocations(len(rates), budget)
    assert greedy.min() == pytest.approx(others.min(axis=1).max(), rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(selection_problems())
def test_the_selection_of_remark_1_maximises_the_product_of_its_bounds(problem):
    """One more contribution, and, since log(1 − 1/(ε1²rm)) is concave in m, any number of them."""
    rates, first, budget = problem
    held, epsilon1 = 1 + np.floor(first), 0.5
    # The least numbers that make every factor positive.
    held = np.maximum(held, np.floor(1 / (epsilon1**2 * rates)) + 1)
    for contributions in (1, budget):
        greedy = held + greedy_allocation(rates, held, contributions, epsilon1=epsilon1)
        others = held + allocations(len(rates), contributions)
        products = (1 - 1 / (epsilon1**2 * others * rates)).prod(axis=1)
        chosen = (1 - 1 / (epsilon1**2 * greedy * rates)).prod()
        assert chosen == pytest.approx(products.max(), rel=1e-9)


def test_remark_1_depends_on_epsilon_1():
    """Δp of r = (0.3, 0.9), m = (4, 2): 2 and 1.42 at ε1 = 1, where fidelity agrees."""
    rates, held = np.array([0.3, 0.9]), np.array([4, 2])

    def chosen(epsilon1):
        return int(greedy_allocation(rates, held, 1, epsilon1=epsilon1).argmax())

    for epsilon1, player in ((1.0, 0), (1.2, 0), (2.0, 1), (5.0, 1)):
        gained = (epsilon1**2 * rates - 1 / (held + 1)) / (epsilon1**2 * rates - 1 / held)
        assert gained.argmax() == player
        assert chosen(epsilon1) == player


def test_remark_1_goes_to_the_lowest_fidelity_while_the_bound_is_empty():
    """f = (2, 0.9, 0.8), ε1 = 1: players 2 and 1 first, though Δp of player 0 alone is above 1."""
    rates, held = np.array([0.2, 0.9, 0.08]), np.array([10, 1, 10])
    for budget, expected in ((1, [0, 0, 1]), (2, [0, 0, 2]), (3, [0, 1, 2]), (4, [0, 1, 3])):
        given_out = greedy_allocation(rates, held, budget, epsilon1=1.0)
        np.testing.assert_array_equal(given_out, expected)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=3, max_size=3),
    st.lists(st.integers(0, 4), min_size=3, max_size=3),
    st.integers(1, 6),
)
def test_no_division_of_the_budget_is_preferred_to_greedy_selection(rates, held, budget):
    """PDP: whole numbers, so that equal sums occur; alternatives may also spend less."""
    rates, held = np.array(rates, dtype=float), np.array(held)
    greedy = rates * (held + greedy_allocation(rates, held, budget))
    for spent in range(budget + 1):
        for other in allocations(3, spent):
            assert not pdp_prefers(rates * (held + other), greedy)


def test_pigou_dalton_prefers_the_more_equal_division():
    assert pdp_prefers((20, 10, 5), (25, 5, 5))
    assert not pdp_prefers((25, 5, 5), (20, 10, 5))
    assert pdp_prefers((10, 20, 5), (25, 5, 5))
    # The same scores, the same gap, another sum, a third player changed.
    for other in ((20, 10, 5), (10, 20, 5), (25, 6, 5), (25, 4, 6)):
        assert not pdp_prefers((20, 10, 5), other)


def variance_by_permutations(table, player, q):
    """eq:importance_var as it stands: a sum over all permutations."""
    n_players = len(q)
    phi = exact_values(table, fs.Shapley())[player]
    total = 0.0
    for order in permutations(range(n_players)):
        place = order.index(player)
        before = sum(1 << other for other in order[:place])
        sigma = table[before | 1 << player] - table[before]
        probability = q[place] / factorial(n_players - 1)
        total += (sigma / factorial(n_players) - phi * probability) ** 2 / probability
    return total


@settings(max_examples=15, deadline=None)
@given(tables, st.integers(0, 2**32 - 1))
def test_the_variance_by_size_is_the_sum_over_all_permutations(table, seed):
    n_players = int(np.log2(len(table)))
    q = np.random.default_rng(seed).dirichlet(np.ones(n_players), size=n_players) * 0.9
    q += 0.1 / n_players
    expected = [variance_by_permutations(table, i, q[i]) for i in range(n_players)]
    scale = np.square(np.abs(table).max()) + 1e-9
    np.testing.assert_allclose(
        importance_variance(table, q), expected, rtol=1e-9, atol=1e-9 * scale
    )


@settings(max_examples=50, deadline=None)
@given(tables, st.integers(0, 2**32 - 1), st.sampled_from(["shapley", "banzhaf", "beta(2,1)"]))
def test_no_proposal_has_less_variance_than_the_optimal_one(table, seed, semivalue):
    n_players = int(np.log2(len(table)))
    best = importance_variance(table, optimal_proposal(table, semivalue, support=0), semivalue)
    others = np.random.default_rng(seed).dirichlet(np.ones(n_players), size=20)
    for q in (*others, fs.Shapley().weights(n_players)):
        other = importance_variance(table, q, semivalue)
        assert (best <= other * (1 + 1e-9) + 1e-9).all()


@settings(max_examples=50, deadline=None)
@given(tables, st.sampled_from(["shapley", "banzhaf", "beta(2,1)"]))
def test_support_costs_no_more_than_its_share(table, semivalue):
    """Every size is possible, and the second moment V + φ² is at most 1/(1 − support) times."""
    phi = exact_values(table, parse_semivalue(semivalue))
    exact = importance_variance(table, optimal_proposal(table, semivalue, support=0), semivalue)
    for support in (1e-3, 0.2):
        q = optimal_proposal(table, semivalue, support=support)
        assert (q > 0).all()
        np.testing.assert_allclose(q.sum(axis=1), 1.0)
        seconds = importance_variance(table, q, semivalue) + phi**2
        assert (seconds <= (exact + phi**2) / (1 - support) + 1e-9).all()
    np.testing.assert_array_equal(
        optimal_proposal(table, semivalue), optimal_proposal(table, semivalue, support=1e-3)
    )


def test_the_oracle_can_be_used_as_it_is():
    """q* of a unanimity game is 0 at all sizes but one; the estimate is exact but for `support`."""
    table = table_of(lambda s: float(s.all()))
    exact = optimal_proposal(table, support=0)
    assert (exact == 0).any()
    with pytest.raises(fs.InputError, match="positive"):
        fs.estimate(fs.games.TableGame(table), GreedyActive(proposal=exact), budget=100)
    oracle = GreedyActive(proposal=optimal_proposal(table), selection="uniform", bootstrap=5)
    run = fs.estimate(fs.games.TableGame(table), oracle, budget=100, seed=0)
    # 0.25·1/(0.999 + 0.001/4) unless a size other than 3 came up, with probability 1e−3 each.
    np.testing.assert_allclose(run.values, 0.25, rtol=1e-3)


def test_a_size_that_is_never_drawn_has_infinite_variance():
    assert np.isinf(importance_variance([0.0, 3.0, 0.0, 1.0], [1.0, 0.0])).all()


def invariabilities(table, *, optimal):
    n_players = int(np.log2(len(table)))
    q = optimal_proposal(table, support=0) if optimal else np.full(n_players, 1 / n_players)
    phi = exact_values(table, fs.Shapley())
    # The floor keeps r_i finite where importance sampling takes all variance away.
    return (np.abs(phi) + XI) ** 2 / np.maximum(importance_variance(table, q), 1e-6)


def minimum_fidelities(table, passes=7):
    """(GAE, greedy, MC) at the same budget of marginals, shared out in whole numbers."""
    uniform, active = (invariabilities(table, optimal=optimal) for optimal in (False, True))
    n_players = len(uniform)

    def greedy(rates):
        return (rates * greedy_allocation(rates, np.zeros(n_players), passes * n_players)).min()

    return greedy(active), greedy(uniform), passes * uniform.min()


@settings(max_examples=60, deadline=None)
@given(tables)
def test_active_and_greedy_each_raise_the_minimum_fidelity(table):
    """Proposition 3: f_GAE ≥ f_greedy ≥ f_MC, for whole contributions and in the limit."""
    gae, greedy, mc = minimum_fidelities(table)
    assert gae >= greedy * (1 - 1e-9)
    assert greedy >= mc * (1 - 1e-9)
    uniform, active = (invariabilities(table, optimal=optimal) for optimal in (False, True))
    limits = 1 / (1 / active).sum(), 1 / (1 / uniform).sum(), uniform.min() / len(uniform)
    assert limits[0] >= limits[1] * (1 - 1e-9)
    assert limits[1] >= limits[2] * (1 - 1e-9)


def table_of(fn, n_players=4):
    masks = np.arange(1 << n_players)[:, None] >> np.arange(n_players) & 1
    return np.array([fn(mask.astype(bool)) for mask in masks], dtype=float)


def test_equality_a_active_sampling_gains_nothing_when_sizes_are_alike():
    """σ_i² = w_i² at every size (a parity game): q* is uniform and f_GAE = f_greedy."""
    weights = np.array([1.0, 2.0, 3.0, 5.0])
    table = table_of(lambda s: np.sum(weights[s]) % 2)
    np.testing.assert_allclose(optimal_proposal(table, support=0)[[0, 2, 3]], 0.25)
    gae, greedy, mc = minimum_fidelities(table)
    assert gae == pytest.approx(greedy)
    assert greedy > 1.1 * mc


def test_equality_b_greedy_selection_gains_nothing_when_players_are_alike():
    """A symmetric game: one r for all, f_greedy = f_MC; its sizes differ, so that f_GAE is more."""
    table = table_of(lambda s: s.sum() ** 3 + 3 * (s.sum() % 2))
    gae, greedy, mc = minimum_fidelities(table)
    assert greedy == pytest.approx(mc)
    assert gae > 1.1 * greedy


def test_both_gains_are_strict_on_a_game_without_such_symmetries():
    gae, greedy, mc = minimum_fidelities(np.random.default_rng(1).random(16) * np.arange(16))
    assert gae > 1.05 * greedy > 1.05 * mc


@pytest.mark.parametrize("semivalue", ["shapley", "beta(4,1)", "banzhaf"])
def test_unbiased_under_the_premises_of_its_proposition(semivalue):
    """Fixed m_i, a fixed proposal with full support.

    400 runs; 4.5 standard errors for each of 8 players: false alarm below 6e−5.
    """
    game = fs.games.SumOfUnanimity(8, seed=5)
    q = np.linspace(3.0, 1.0, 8)
    method = GreedyActive(selection="uniform", bootstrap=2, proposal=tuple(q / q.sum()))
    assert method.traits.unbiased
    assert method.traits.independent
    assert method.traits.linear
    runs = [fs.estimate(game, method, budget=90, semivalue=semivalue, seed=s) for s in range(400)]
    values = np.array([run.values for run in runs])
    errors = values.mean(axis=0) - fs.exact(game, semivalue).values
    spread = np.maximum(values.std(axis=0, ddof=1), 1e-12) / np.sqrt(len(runs))
    assert np.abs(errors / spread).max() <= 4.5
    reported = np.mean(np.square([run.standard_errors for run in runs]))
    # Noise of the ratio: about 4.5·√(1/(2·400·8)), 6 %, more for skewed contributions.
    assert np.sqrt(reported / values.var(axis=0, ddof=1).mean()) == pytest.approx(1, abs=0.1)
