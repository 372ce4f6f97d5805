import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshapley.errors import InputError
from fairshapley.estimators.exact import exact_values
from fairshapley.games import Additive, Airport, Game, SumOfUnanimity
from fairshapley.semivalues import Shapley
from fairshapley.testing import PlantedGame

# Small enough that sums of hundreds stay exact to about 1e-13.
NUMBERS = st.floats(-8, 8, allow_nan=False)


def all_coalitions(n_players):
    return (np.arange(1 << n_players)[:, None] >> np.arange(n_players) & 1).astype(bool)


@st.composite
def unanimity(draw):
    n = draw(st.integers(1, 7))
    term = st.sets(st.integers(0, n - 1), min_size=1).map(list)
    terms = draw(st.lists(st.tuples(term, NUMBERS), min_size=1, max_size=8))
    coalitions, weights = zip(*terms, strict=True)
    return SumOfUnanimity(n, coalitions=coalitions, weights=weights)


GAMES = st.one_of(
    unanimity(),
    st.lists(NUMBERS, min_size=1, max_size=7).map(Additive),
    st.lists(st.floats(0, 8), min_size=1, max_size=7).map(Airport),
    st.integers(0, 10**6).map(lambda seed: SumOfUnanimity(5, n_terms=6, seed=seed)),
    st.integers(0, 10**6).map(lambda seed: PlantedGame(7, seed=seed)),
)


@given(GAMES)
def test_closed_form_equals_enumeration(game):
    expected = exact_values(game(all_coalitions(game.n_players)), Shapley())
    np.testing.assert_allclose(game.shapley_values, expected, atol=1e-12)


@given(GAMES)
def test_every_game_keeps_the_contract(game):
    assert isinstance(game, Game)
    masks = all_coalitions(game.n_players)
    values = game(masks)
    assert values.dtype == game.shapley_values.dtype == np.float64
    assert values[0] == 0.0
    assert game(masks[:0]).shape == (0,)
    assert game.shapley_values.sum() == pytest.approx(values[-1], abs=1e-12)
    if game.value_range is not None:
        assert game.value_range == (values.min(), values.max())
    alone = [game(mask[None])[0] for mask in masks[:5]]
    np.testing.assert_array_equal(alone, values[:5])


def test_ten_thousand_players_in_small_memory():
    game = SumOfUnanimity(10_000, n_terms=20_000, seed=1)
    masks = np.random.default_rng(1).random((200, 10_000)) < 0.9
    tracemalloc.start()
    values = game(masks)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 20
    by_hand = sum(
        w
        for term, w in zip(game.coalitions, game.weights, strict=True)
        if masks[7, list(term)].all()
    )
    assert values[7] == pytest.approx(by_hand)
    assert game.shapley_values.sum() == pytest.approx(game.weights.sum())


def test_drawn_terms_follow_the_options():
    game = SumOfUnanimity(9, n_terms=500, sizes=(2, 4), seed=5)
    sizes = [len(term) for term in game.coalitions]
    assert (len(sizes), min(sizes), max(sizes)) == (500, 2, 4)
    assert game.coalitions == SumOfUnanimity(9, n_terms=500, sizes=(2, 4), seed=5).coalitions
    assert game.coalitions != SumOfUnanimity(9, n_terms=500, sizes=(2, 4), seed=6).coalitions
    assert max(len(term) for term in SumOfUnanimity(2).coalitions) <= 2
    assert len(SumOfUnanimity(4, seed=None).coalitions) == 8


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SumOfUnanimity(3, weights=[1.0]), "weights without coalitions"),
        (lambda: SumOfUnanimity(3, coalitions=[(1, 1)], weights=[1]), "each of them once"),
        (lambda: Additive([np.inf]), "finite"),
        (lambda: Airport([1.0, -0.5]), "at least 0"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
