import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairshapley as fs
from fairshapley._basics import bits
from fairshapley.errors import InputError
from fairshapley.estimators.exact import exact_values
from fairshapley.fairness import check_fairness
from fairshapley.games import Additive, Airport, FunctionGame, Game, SumOfUnanimity, TableGame
from fairshapley.testing import Affine, PlantedGame, Relabelled

N = 5
NUMBERS = st.floats(-8, 8, allow_nan=False)
MASKS = (np.arange(1 << N)[:, None] >> np.arange(N) & 1).astype(bool)
INNER = st.one_of(
    st.lists(NUMBERS, min_size=N, max_size=N).map(Additive),
    st.lists(st.floats(0, 8), min_size=N, max_size=N).map(Airport),
    st.integers(0, 99).map(lambda seed: SumOfUnanimity(N, seed=seed)),
    st.integers(0, 99).map(lambda seed: PlantedGame(N, seed=seed)),
)


def shapley(game):
    """By all coalitions."""
    return exact_values(game(MASKS), fs.Shapley())


@given(INNER, st.permutations(range(N)))
def test_relabelling_moves_values_with_their_players(inner, order):
    game = Relabelled(inner, order)
    for row, value in zip(MASKS, game(MASKS), strict=True):
        original = np.zeros((1, N), dtype=bool)
        original[0, [order[k] for k in np.flatnonzero(row)]] = True
        assert value == inner(original)[0]
    np.testing.assert_array_equal(game.shapley_values, inner.shapley_values[order])
    np.testing.assert_allclose(game.shapley_values, shapley(game), atol=1e-12)
    assert game.value_range == inner.value_range
    back = Relabelled(game, np.argsort(order))
    np.testing.assert_array_equal(back(MASKS), inner(MASKS))


@given(INNER, NUMBERS, NUMBERS)
def test_affine(inner, scale, offset):
    game = Affine(inner, scale, offset)
    values = game(MASKS)
    np.testing.assert_array_equal(values, scale * inner(MASKS) + offset)
    assert values[0] == offset
    np.testing.assert_allclose(game.shapley_values, shapley(game), atol=1e-11)
    if game.value_range is not None:
        assert game.value_range == (values.min(), values.max())


@pytest.mark.parametrize("wrap", [lambda g: Relabelled(g, [1, 0]), Affine])
def test_every_combinator_is_a_game_and_knows_values_where_its_games_do(wrap):
    game = wrap(TableGame([0, 1, 2, 4]))
    assert isinstance(game, Game)
    assert game(np.zeros((0, 2), dtype=bool)).shape == (0,)
    assert not hasattr(game, "shapley_values")
    assert hasattr(wrap(Additive([1.0, 2.0])), "shapley_values")
    with pytest.raises(InputError, match="not a game"):
        wrap(len)
    with pytest.raises(InputError, match="shape"):
        wrap(Additive([1.0, 2.0]))(np.ones((1, 3), dtype=bool))


def test_names_move_with_their_players():
    inner = FunctionGame(len, 3, player_names=["a", "b", "c"])
    assert Relabelled(inner, [2, 0, 1]).player_names == ("c", "a", "b")
    assert Affine(inner).player_names == ("a", "b", "c")
    assert Relabelled(FunctionGame(len, 3), [2, 0, 1]).player_names is None


class TestNullPlayers:
    def test_they_change_nobodys_shapley_value_and_cost_nothing(self):
        inner = fs.games.SumOfUnanimity(12, seed=1)
        game = fs.testing.with_null_players(inner, 3)
        run = fs.estimate(game, "mc", budget=600, seed=0)
        assert (run.values[12:] == 0).all()
        assert (run.standard_errors[12:] == 0).all()  # their error is known
        assert run.evidence.player_names[-1] == "null 3"
        np.testing.assert_allclose(game.shapley_values[:12], inner.shapley_values)

    def test_a_run_carries_its_own_check_of_nullity(self):
        game = fs.testing.with_null_players(fs.games.SumOfUnanimity(12, seed=1), 2)
        run = fs.estimate(game, "kernel", budget=800, xi=0.01, seed=0)
        told = {"epsilon1": 0.1, "null_players": (12, 13)}
        nullity = check_fairness(run.values, xi=0.01, **told)[0]
        assert nullity.premises == ((12,), (13,))
        assert not nullity.holds  # the kernel's null players are zero only on average
        assert check_fairness(run.values, xi=100.0, **told)[0].holds

    @pytest.mark.parametrize("semivalue", ["shapley", "banzhaf", "beta(4,1)"])
    def test_exact_values_agree_with_the_larger_game(self, semivalue):
        inner = fs.games.SumOfUnanimity(5, n_terms=6, sizes=(1, 4), seed=2)
        game = fs.testing.with_null_players(inner, 2)
        plain = fs.games.TableGame(game(bits.numbered(range(1 << 7), 7)))
        run = fs.estimate(game, "mc", budget=32, semivalue=semivalue, seed=0)
        assert run.exact
        assert run.evaluations == 32
        np.testing.assert_allclose(run.values, fs.exact(plain, semivalue).values, atol=1e-12)

    def test_a_run_with_null_players_is_continued_and_replayed(self, tmp_path):
        game = fs.testing.with_null_players(fs.games.SumOfUnanimity(12, seed=1), 3)
        journal = tmp_path / "j.db"
        whole = fs.estimate(game, "mc", budget=600, seed=0)
        fs.estimate(game, "mc", budget=300, seed=0, journal=journal)
        continued = fs.resume(journal, game, budget=600)
        assert continued.values.tobytes() == whole.values.tobytes()
        replayed = fs.resume(journal, budget=600)
        assert replayed.values.tobytes() == whole.values.tobytes()

    def test_all_are_given_at_once(self):
        game = fs.testing.with_null_players(fs.games.Additive([1.0]), 1)
        with pytest.raises(fs.InputError, match="at once"):
            fs.testing.with_null_players(game, 1)


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)),
    st.integers(2, 4),
    st.integers(0, 10**6),
)
def test_planted_players_are_what_they_are_called(roles, spare, seed):
    n_null, n_duplicates, n_dominated = roles
    n = n_null + 2 * n_duplicates + 2 * n_dominated + spare
    game = PlantedGame(
        n, n_null=n_null, n_duplicates=n_duplicates, n_dominated=n_dominated, seed=seed
    )
    planted = [*game.null_players, *itertools.chain(*game.duplicate_pairs, *game.dominated_pairs)]
    assert len(planted) == len(set(planted)) == n - spare

    masks = np.random.default_rng(seed).random((200, n)) < 0.5

    def values(*, joined, left=()):
        rows = masks.copy()
        rows[:, list(left)] = False
        rows[:, list(joined)] = True
        return game(rows)

    for i in game.null_players:
        np.testing.assert_array_equal(values(joined=[i]), values(joined=[], left=[i]))
    for i, j in game.duplicate_pairs:
        np.testing.assert_array_equal(values(joined=[i], left=[j]), values(joined=[j], left=[i]))
    for i, j in game.dominated_pairs:
        assert (values(joined=[i], left=[j]) > values(joined=[j], left=[i])).all()

    phi = game.shapley_values
    assert (phi[list(game.null_players)] == 0).all()
    assert all(phi[i] == pytest.approx(phi[j], abs=1e-13) for i, j in game.duplicate_pairs)
    assert all(phi[i] > phi[j] for i, j in game.dominated_pairs)


def test_planted_game_is_not_additive_and_its_places_are_shuffled():
    games = [PlantedGame(9, seed=seed) for seed in range(20)]
    assert len({game.null_players for game in games}) > 3
    alone = np.eye(9, dtype=bool)
    assert all(not np.isclose(g(alone).sum(), g(np.ones((1, 9), bool))[0]) for g in games)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Relabelled(Additive([1, 2]), [0, 0]), "once"),
        (lambda: Affine(Additive([1, 2]), scale=np.nan), "scale must be a finite"),
        (lambda: PlantedGame(4), "need 5 players"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
