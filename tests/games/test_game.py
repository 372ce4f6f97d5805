import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fairshapley.errors import GameError, InputError
from fairshapley.games import FunctionGame, Game, TableGame
from fairshapley.games.game import members

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)


def all_coalitions(n_players):
    return (np.arange(1 << n_players)[:, None] >> np.arange(n_players) & 1).astype(bool)


@given(st.integers(1, 6).flatmap(lambda n: hnp.arrays(np.float64, 1 << n, elements=FINITE)))
def test_a_table_is_read_by_bit_masks(table):
    game = TableGame(table)
    np.testing.assert_array_equal(game(all_coalitions(game.n_players)), table)
    assert game.value_range == (table.min(), table.max())


@given(
    st.integers(1, 6).flatmap(
        lambda n: hnp.arrays(np.bool_, st.tuples(st.integers(0, 5), st.just(n)))
    )
)
def test_a_function_gets_the_members_in_order(coalitions):
    seen = []
    game = FunctionGame(lambda c: seen.append(c) or sum(2.0**i for i in c), coalitions.shape[1])
    values = game(coalitions)
    assert seen == [members(row) for row in coalitions]
    assert all(list(c) == sorted(c) for c in seen)
    np.testing.assert_array_equal(values, TableGame(np.arange(2.0**game.n_players))(coalitions))


@pytest.mark.parametrize("game", [TableGame([0, 1, 2, 4]), FunctionGame(len, 2)])
class TestEveryGame:
    def test_is_a_game(self, game):
        assert isinstance(game, Game)

    def test_an_empty_batch_has_no_utilities(self, game):
        values = game(np.zeros((0, 2), dtype=bool))
        assert values.shape == (0,)
        assert values.dtype == np.float64

    @pytest.mark.parametrize("shape", [(1, 3), (3,), (), (1, 2, 1), (0, 1)])
    def test_refuses_a_wrong_shape(self, game, shape):
        with pytest.raises(InputError, match=r"shape \(m, 2\)"):
            game(np.zeros(shape, dtype=bool))

    @pytest.mark.parametrize("dtype", [np.int64, np.float64, object])
    def test_refuses_what_is_not_boolean(self, game, dtype):
        with pytest.raises(InputError, match="boolean"):
            game(np.ones((1, 2), dtype=dtype))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], r"2\*\*n utilities"),
        ([0.0, 1.0, np.inf, 1.0], "coalition 2 .* not finite"),
        ([0.0, 1j], "real numbers alone"),
        ([None, 1.0], None),
    ],
)
def test_refuses_a_bad_table(values, message):
    with pytest.raises(InputError, match=message):
        TableGame(values)


def test_a_table_is_copied_and_cannot_be_changed():
    table = np.array([0.0, 1.0])
    game = TableGame(table)
    table[1] = 7.0
    assert game(np.array([[True]])) == 1.0
    with pytest.raises(ValueError, match="read-only"):
        game.values[1] = 7.0


@pytest.mark.parametrize("answer", [1j, "many", "3.5", None, [1.0, 2.0], np.zeros(2)])
def test_a_utility_that_is_no_number_names_its_coalition(answer):
    game = FunctionGame(lambda c: answer if c == (0, 2) else 0.0, 3)
    with pytest.raises(GameError, match=r"coalition \(0, 2\)") as raised:
        game(np.array([[True, False, False], [True, False, True]]))
    assert raised.value.coalition == (0, 2)


@pytest.mark.parametrize("n_players", [0, -1, 2.5, "3", None])
def test_refuses_a_bad_number_of_players(n_players):
    with pytest.raises(InputError):
        FunctionGame(len, n_players)


def test_names():
    assert FunctionGame(len, 2, player_names=["a", 1]).player_names == ("a", "1")
    assert TableGame([0, 1], player_names=["a"]).player_names == ("a",)
    with pytest.raises(InputError, match="3 names for 2 players"):
        FunctionGame(len, 2, player_names=["a", "b", "c"])
    with pytest.raises(InputError, match="list of names"):
        FunctionGame(len, 2, player_names="ab")
