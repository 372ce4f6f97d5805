"""Draws: the right coalitions, in any slices, with the right distribution."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairshapley.draws import (
    AllCoalitions,
    ListedCoalitions,
    Neighbourhoods,
    SingleMarginals,
    Walks,
    random_ranks,
    random_sets,
    random_sizes,
)


def make_draw(kind, n, rng):
    if kind == "walks":
        return Walks(random_ranks(rng, 5, n))
    if kind == "marginals":
        sizes = random_sizes(rng, 7, np.full(n, 1 / n))
        return SingleMarginals(rng.integers(0, n, 7), sizes, random_ranks(rng, 7, n))
    if kind == "listed":
        return ListedCoalitions.of(rng.random((13, n)) < 0.5)
    if kind == "neighbourhoods":
        return Neighbourhoods(rng.random((4, n)) < 0.5)
    return AllCoalitions(n)


@given(
    st.sampled_from(["walks", "marginals", "all", "listed", "neighbourhoods"]),
    st.integers(2, 9),
    st.integers(0, 99),
    st.data(),
)
def test_any_slices_give_the_same_coalitions(kind, n, seed, data):
    draw = make_draw(kind, n, np.random.default_rng(seed))
    whole = draw.masks(0, len(draw))
    assert whole.shape == (len(draw), n)
    assert whole.dtype == bool
    cuts = sorted(data.draw(st.lists(st.integers(0, len(draw)), max_size=4)))
    bounds = [0, *cuts, len(draw)]
    parts = [draw.masks(a, b) for a, b in pairwise(bounds) if a < b]
    np.testing.assert_array_equal(np.vstack(parts), whole)


def test_marginals_of_a_walk_belong_to_its_players():
    weights = np.array([3.0, -1.0, 0.5, 10.0])
    walks = Walks(random_ranks(np.random.default_rng(1), 8, 4))
    values = walks.masks(0, len(walks)) @ weights
    marginals = walks.marginal_contributions(values, 0.0, weights.sum())
    by_player = np.take_along_axis(marginals, walks.ranks, axis=1)
    np.testing.assert_allclose(by_player, np.tile(weights, (8, 1)))


def test_single_marginals_are_a_coalition_and_the_same_with_its_player():
    rng = np.random.default_rng(2)
    players, sizes = rng.integers(0, 7, 50), rng.integers(0, 7, 50)
    masks = SingleMarginals(players, sizes, random_ranks(rng, 50, 7)).masks(0, 100)
    without, with_player = masks[::2], masks[1::2]
    rows = np.arange(50)
    assert (without.sum(axis=1) == sizes).all()
    assert not without[rows, players].any()
    changed = without != with_player
    assert (changed.sum(axis=1) == 1).all()
    assert changed[rows, players].all()


def test_predecessors_are_uniform_among_the_coalitions_of_their_size():
    """χ² over the 10 pairs of 5 others; false alarm 1e−6."""
    rng = np.random.default_rng(3)
    rows = 5000
    draw = SingleMarginals(np.full(rows, 2), np.full(rows, 2), random_ranks(rng, rows, 6))
    masks = draw.masks(0, len(draw))[::2]
    codes, counts = np.unique(masks @ (1 << np.arange(6)), return_counts=True)
    assert len(codes) == 10
    assert stats.chisquare(counts).pvalue > 1e-6


def test_permutations_are_uniform():
    """χ² over the 24 permutations of 4 players; false alarm 1e−6."""
    ranks = random_ranks(np.random.default_rng(4), 12_000, 4)
    counts = [(ranks == order).all(axis=1).sum() for order in permutations(range(4))]
    assert sum(counts) == 12_000
    assert stats.chisquare(counts).pvalue > 1e-6


def test_sets_of_a_size_are_uniform():
    """χ² over the 20 sets of 3 of 6 players; false alarm 1e−6. So many are drawn in two parts."""
    sizes = np.tile([3, 1, 0, 6], 180_000)
    masks = random_sets(np.random.default_rng(8), sizes, 6)
    np.testing.assert_array_equal(masks.sum(axis=1), sizes)
    _, counts = np.unique(masks[::4] @ (1 << np.arange(6)), return_counts=True)
    assert len(counts) == 20
    assert stats.chisquare(counts).pvalue > 1e-6


def test_tied_keys_are_drawn_again():
    """Keys of one bit: half of the draws of 2 of 4 players and more are tied."""
    rng = np.random.default_rng(9)

    class OneBit:
        def integers(self, high, size, dtype):
            return rng.integers(2, size=size, dtype=dtype)

    masks = random_sets(OneBit(), np.full(3_000, 2), 4)
    _, counts = np.unique(masks @ (1 << np.arange(4)), return_counts=True)
    assert counts.sum() == 3_000
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 1e-6


def test_sizes_follow_their_weights():
    """χ² over 5 sizes; false alarm 1e−6. A size of weight 0 never comes."""
    weights = np.array([0.1, 0.0, 0.4, 0.3, 0.2])
    counts = np.bincount(random_sizes(np.random.default_rng(5), 20_000, weights), minlength=5)
    assert counts[1] == 0
    kept = weights > 0
    assert stats.chisquare(counts[kept], 20_000 * weights[kept]).pvalue > 1e-6


@pytest.mark.parametrize("n_players", [65_536, 70_000])
def test_a_walk_of_many_players_needs_no_square_array(n_players):
    """And ranks that 16 bits do not hold."""
    walks = Walks(random_ranks(np.random.default_rng(6), 1, n_players))
    assert walks.ranks.nbytes == 4 * n_players
    sizes = np.arange(1.0, n_players)
    assert walks.masks(n_players - 10, n_players - 1).sum(axis=1).tolist() == sizes[-9:].tolist()
    gains = walks.contributions(sizes, 0.0, float(n_players), np.ones(n_players))
    np.testing.assert_array_equal(gains, 1.0)


def test_neighbourhoods_give_every_players_marginal_contribution():
    rng = np.random.default_rng(7)
    table = rng.normal(size=64)
    bits = 1 << np.arange(6)
    draw = Neighbourhoods(rng.random((5, 6)) < 0.5)
    values = table[draw.masks(0, len(draw)) @ bits]
    marginals = draw.marginal_contributions(values)
    for row, centre in enumerate(draw.centres @ bits):
        expected = [table[centre | bit] - table[centre & ~bit] for bit in bits]
        np.testing.assert_allclose(marginals[row], expected)
