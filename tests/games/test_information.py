"""Information gain: values by hand, log determinants, submodularity, learning, and bad input."""

import math
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import fairshapley as fs
from fairshapley.games.information import InformationGame
from fairshapley.testing import check_game
from tests.games.data_samples import all_coalitions

KERNEL = {"length_scale": 2.0, "scale": 1.5, "noise": 0.1}


def agents(n, rows, features=4):
    """Standardised rows of the diabetes data and their targets, dealt to n agents."""
    data = load_diabetes()
    table = data.data[:, :features] / data.data[:, :features].std(axis=0)
    order = np.random.default_rng(0).permutation(len(table))[: n * rows].reshape(n, rows)
    return [table[part] for part in order], [data.target[part] for part in order]


def gain(datasets, mask, length_scale, scale=1.5, noise=0.1):
    """The definition, with a determinant of its own for every coalition."""
    if not mask.any():
        return 0.0
    rows = np.concatenate([part for part, inside in zip(datasets, mask, strict=True) if inside])
    kernel = scale * np.exp(-(cdist(rows / length_scale, rows / length_scale) ** 2) / 2)
    return np.linalg.slogdet(np.eye(len(rows)) + kernel / noise)[1] / 2


def test_gains_by_hand():
    """One row: ½·log(1 + r), r = scale/noise. The same row twice: ½·log(1 + 2r), halved."""
    game = InformationGame([[[0.0]], [[0.0]], [[1e6]]], length_scale=1.0, scale=3.0, noise=0.5)
    values = game(np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [0, 0, 0]], dtype=bool))
    one, two = math.log(7) / 2, math.log(13) / 2
    np.testing.assert_allclose(values, [one, two, 2 * one, 0.0], rtol=1e-14)
    np.testing.assert_allclose(fs.exact(game).values, [two / 2, two / 2, one], rtol=1e-13)
    assert game.identical_players == ((0, 1),)


@pytest.mark.parametrize("length_scale", [2.0, [2.0, 0.5, 1.0, 9.0]])
def test_every_coalition_has_the_gain_of_its_own_determinant(length_scale):
    datasets, _ = agents(9, 12)
    masks = all_coalitions(9)
    expected = [gain(datasets, mask, length_scale) for mask in masks]
    game = InformationGame(datasets, **KERNEL | {"length_scale": length_scale})
    np.testing.assert_allclose(game(masks), expected, rtol=1e-12, atol=1e-12)
    assert fs.exact(game).values.sum() == pytest.approx(expected[-1], rel=1e-12)


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.floats(-2, 2), st.floats(-3, 2))
def test_gains_are_monotone_and_submodular(seed, log_length, log_noise):
    """v(S∪i) ≥ v(S), and what i adds to S it adds no more to S∪j."""
    rng = np.random.default_rng(seed)
    datasets = [rng.normal(size=(rng.integers(1, 4), 2)) for _ in range(4)]
    game = InformationGame(
        datasets, length_scale=10.0**log_length, scale=1.0, noise=10.0**log_noise
    )
    table = game(all_coalitions(4)[:, ::-1])  # the index is a bit mask
    slack = 1e-9 * (1 + table[-1])
    for mask in range(16):
        for i in range(4):
            assert table[mask | 1 << i] >= table[mask] - slack
            for j in range(4):
                with_j = mask | 1 << j
                added = table[mask | 1 << i] - table[mask]
                assert table[with_j | 1 << i] - table[with_j] <= added + slack or mask >> i & 1
    assert table.max() <= game.value_range[1]


def test_learnt_parameters_maximise_the_marginal_likelihood():
    """As scikit-learn's own process on standardised targets, and a maximum in each direction."""
    datasets, targets = agents(5, 30)
    game = InformationGame(datasets, targets)
    rows, y = np.concatenate(datasets), np.concatenate(targets)
    kernel = ConstantKernel(game.scale) * RBF(game.length_scale[0]) + WhiteKernel(game.noise)
    process = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(rows, y - y.mean())
    theta = process.kernel_.theta
    best = process.log_marginal_likelihood(theta)
    for index, step in product(range(3), (-0.3, 0.3)):
        moved = theta.copy()
        moved[index] += step
        assert process.log_marginal_likelihood(moved) < best
    again = InformationGame(datasets, targets)
    assert fs.games.fingerprint(again) == fs.games.fingerprint(game)
    np.testing.assert_array_equal(again(all_coalitions(5)), game(all_coalitions(5)))


def test_the_unit_of_the_targets_does_not_matter():
    datasets, targets = agents(4, 25)
    game = InformationGame(datasets, targets)
    other = InformationGame(datasets, [1000 * y - 7 for y in targets])
    np.testing.assert_allclose(other(all_coalitions(4)), game(all_coalitions(4)), rtol=1e-3)
    assert other.noise == pytest.approx(1e6 * game.noise, rel=1e-2)


def test_a_parameter_that_the_bounds_chose_is_reported():
    """Targets without noise ask for none."""
    x = np.linspace(0, 6, 40)[:, None]
    with pytest.warns(UserWarning, match="bounds chose a parameter"):
        InformationGame([x[::2], x[1::2]], [np.sin(x[::2, 0]), np.sin(x[1::2, 0])])


def test_the_game_keeps_the_contract():
    datasets, _ = agents(8, 10)
    game = InformationGame(datasets, **KERNEL)
    check_game(game)
    masks = all_coalitions(8)
    values = game(masks)
    assert values[0] == 0.0
    copy = pickle.loads(pickle.dumps(game))  # noqa: S301 - made here
    assert "_matrix" not in vars(copy)
    np.testing.assert_array_equal(copy(masks), values)
    assert copy.value_range == game.value_range
    other = InformationGame(datasets, **KERNEL | {"noise": 0.2})
    named = InformationGame(dict(zip("abcdefgh", datasets, strict=True)), **KERNEL)
    assert named.player_names == tuple("abcdefgh")
    prints = [fs.games.fingerprint(each) for each in (game, copy, named, other)]
    assert prints[0] == prints[1] == prints[2] != prints[3]


def test_a_matrix_without_a_positive_determinant_names_the_coalition():
    game = InformationGame([[[0.0]], [[1.0]]], **KERNEL)
    vars(game)["_matrix"] = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(fs.errors.GameError, match=r"coalition \(0, 1\) has no positive") as caught:
        game(all_coalitions(2))
    assert caught.value.coalition == (0, 1)


LINE = [[[0.0], [1.0]], [[2.0], [3.0]]]
HEIGHTS = [[0.0, 1.0], [0.5, 0.2]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "length_scale, scale and noise are all given, or all learnt from targets"),
        (KERNEL | {"noise": 1e-20}, "noise = 1e-20 is too small .* give a noise of at least"),
        ({"targets": HEIGHTS[:1]}, "targets has 1 entries for 2 agents"),
        ({"targets": [[0.0, 1.0], [0.5, np.nan]]}, "targets of agent 1 has a nan in row 1"),
        ({"targets": [[0.1, 0.1], [0.1, 0.1]]}, "targets are all the same"),
        ({"targets": [[1e300, 0.0], [-1e300, 0.0]]}, "targets are too large"),
        ({"targets": HEIGHTS, "datasets": [[[1e200], [0]], [[1], [2]]]}, "standardise"),
    ],
)
def test_bad_input_is_named(options, message):
    arguments = {"datasets": LINE} | options
    with pytest.raises(fs.InputError, match=message):
        InformationGame(**arguments)
