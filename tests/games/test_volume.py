"""Robust and plain volume: values by hand, the definition, invariances, and bad input."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_matrix
from sklearn.datasets import load_wine

import fairshapley as fs
from fairshapley.games.volume import VolumeGame
from fairshapley.testing import check_game
from tests.games.data_samples import all_coalitions


def providers(n, rows, features):
    """The standardised rows of a data set, dealt to n providers."""
    table = load_wine().data[:, :features]
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    order = np.random.default_rng(0).permutation(len(table))
    return [table[order[i * rows : (i + 1) * rows]] for i in range(n)]


def robust_volume(rows, omega):
    """The definition, cube by cube."""
    cubes = {}
    for row in rows:
        cube = tuple(math.floor(x) for x in (row - rows.min(axis=0)) / omega)
        cubes.setdefault(cube, []).append(row)
    means = np.array([np.mean(cube, axis=0) for cube in cubes.values()])
    alpha = 1 / (10 * len(means))
    volume = math.sqrt(max(np.linalg.det(means.T @ means), 0.0) + 1e-8)
    for cube in cubes.values():
        volume *= (1 - alpha ** (len(cube) + 1)) / (1 - alpha)
    return volume


def test_plain_volumes_by_hand():
    """One vector spans nothing in the plane, two span the area |ad − bc| = 2·3."""
    game = VolumeGame([[[2.0, 0.0]], [[1.0, 3.0]], [[0.0, 0.0]]], omega=None)
    values = game(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1], [0, 0, 0]], dtype=bool))
    np.testing.assert_allclose(values, [math.sqrt(36 + 1e-8), 1e-4, 1e-4, 1e-4, 0.0], rtol=1e-12)


def test_robust_volumes_by_hand():
    """Rows 0 and 0.5 share a cube of edge 1, with mean 0.25; 2 has its own: α = 1/20."""
    game = VolumeGame({"a": [[0.0], [0.5], [2.0]], "b": [[-0.75]]}, omega=1.0)
    alone = math.sqrt(0.0625 + 4 + 1e-8) * (1 + 1 / 20 + 1 / 400) * (1 + 1 / 20)
    # With b the cubes start at −0.75: 0 joins b, and 0.5 and 2 are in cubes of their own.
    mean, alpha = -0.375, 1 / 30
    both = math.sqrt(mean**2 + 0.25 + 4 + 1e-8) * (1 + alpha + alpha**2) * (1 + alpha) ** 2
    values = game(np.array([[True, False], [True, True], [False, True], [False, False]]))
    lonely = math.sqrt(0.75**2 + 1e-8) * 1.1
    np.testing.assert_allclose(values, [alone, both, lonely, 0.0], rtol=1e-12)
    shapley = [(alone + both - lonely) / 2, (lonely + both - alone) / 2]
    np.testing.assert_allclose(fs.exact(game).values, shapley, rtol=1e-12)
    assert fs.exact(game).evidence.player_names == ("a", "b")


@pytest.mark.parametrize("copies", [2, 50])
def test_replication_does_not_pay(copies):
    """Copies leave X̃ as it is, and the factor below exp(1/9); plain volume grows by c^(d/2)."""
    (rows,) = providers(1, 60, 4)
    everybody = np.ones((1, 1), bool)
    copied = np.tile(rows, (copies, 1))
    inflation = VolumeGame([copied])(everybody)[0] / VolumeGame([rows])(everybody)[0]
    assert 1 <= inflation < math.exp(1 / 9)
    plain = VolumeGame([copied], None)(everybody)[0] / VolumeGame([rows], None)(everybody)[0]
    assert plain == pytest.approx(copies**2)


matrices = st.tuples(st.integers(1, 6), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-40, 40).map(lambda x: x / 8))
)


@settings(max_examples=100)
@given(matrices, st.sampled_from([0.5, 1.0, 3.0]), st.integers(0, 2**32))
def test_volume_is_the_definition_and_ignores_the_order_of_rows(rows, omega, seed):
    """Entries are eighths, so that no row lies on the border of a cube by rounding."""
    everybody = np.ones((1, 1), bool)
    value = VolumeGame([rows], omega)(everybody)[0]
    # The determinant of the definition has rounding errors where it should be 0.
    assert value == pytest.approx(robust_volume(rows, omega), rel=1e-5, abs=1e-4)
    shuffled = np.random.default_rng(seed).permutation(rows)
    assert VolumeGame([shuffled], omega)(everybody)[0] == pytest.approx(value, rel=1e-9)


def test_dependent_columns_and_too_few_rows_span_nothing():
    """det = 0 whatever the units: what rounding makes of it must not show."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 3)) * [1e5, 1.0, 1e-3]
    dependent = np.column_stack([rows, rows @ [1.0, -2.0, 3.0]])
    zero = np.column_stack([rows, np.zeros(50)])
    constant = np.column_stack([rows, np.full(50, 7.0)])
    everybody = np.ones((1, 1), bool)
    for table in (dependent, zero, rows[:2]):
        assert VolumeGame([table], None)(everybody)[0] == pytest.approx(1e-4)
        assert 1e-4 <= VolumeGame([table], 0.1)(everybody)[0] < 1.12e-4
    # A constant column that is not 0 is a direction like any other: rows are not centred.
    assert VolumeGame([constant], None)(everybody)[0] == pytest.approx(
        math.sqrt(np.linalg.det(constant.T @ constant)), rel=1e-6
    )


def test_very_large_numbers_do_not_overflow():
    """Logs all the way: det is 1e400 here, its root 1e200."""
    game = VolumeGame([np.diag([1e200, 1.0])], None)
    assert game(np.ones((1, 1), bool))[0] == pytest.approx(1e200)


@pytest.mark.parametrize("omega", [0.3, None])
def test_the_game_keeps_the_contract(omega):
    datasets = providers(8, 15, 5)
    game = VolumeGame(datasets, omega)
    check_game(game)
    masks = all_coalitions(8)
    copy = pickle.loads(pickle.dumps(game))  # noqa: S301 - made here
    pieces = [copy(masks[i : i + 7]) for i in range(0, len(masks), 7)]
    np.testing.assert_array_equal(np.concatenate(pieces), game(masks))
    other = VolumeGame([*datasets[:-1], datasets[-1] + 1e-9], omega)
    named = VolumeGame(datasets, omega, player_names=list("abcdefgh"))
    prints = [fs.games.fingerprint(each) for each in (game, copy, named, other)]
    assert prints[0] == prints[1] == prints[2] != prints[3]


def test_frames_are_matched_by_column_and_sparse_matrices_are_read():
    pd = pytest.importorskip("pandas")
    first, second = providers(2, 20, 3)
    expected = VolumeGame([first, second])(all_coalitions(2))
    left = pd.DataFrame(first, columns=["a", "b", "c"])
    right = pd.DataFrame(second, columns=["a", "b", "c"])[["c", "a", "b"]]
    game = VolumeGame({"north": left, "south": right})
    np.testing.assert_array_equal(game(all_coalitions(2)), expected)
    assert game.player_names == ("north", "south")
    sparse = VolumeGame([csr_matrix(first), csr_matrix(second)])
    np.testing.assert_array_equal(sparse(all_coalitions(2)), expected)
    with pytest.raises(fs.InputError, match="columns of dataset 'south' differ"):
        VolumeGame({"north": left, "south": right.rename(columns={"a": "d"})})
    # Columns by name would give each of the two twice.
    double = left.rename(columns={"b": "a"})
    with pytest.raises(fs.InputError, match="dataset 0 has the column 'a' twice"):
        VolumeGame([double, double])


SQUARE = [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("datasets", "options", "message"),
    [
        ([SQUARE, [[1.0]]], {}, "dataset 1 has 1 columns and dataset 0 2"),
        ([SQUARE, [[1.0, np.nan]]], {}, "dataset 1 has a nan in row 0, column 1"),
        ([SQUARE], {"omega": math.nan}, "omega must be a finite number"),
        ([SQUARE], {"omega": 1e-300}, "omega = 1e-300 is too small"),
        ([np.diag([1e200, 1e200])], {"omega": None}, "more than a float holds"),
    ],
)
def test_bad_input_is_named(datasets, options, message):
    with pytest.raises(fs.InputError, match=message):
        VolumeGame(datasets, **options)
