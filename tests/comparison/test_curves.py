"""Curves: the order that values give, one call of the game, and what a picture shows."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import fairshapley as fs

mpl.use("Agg")

WORTH = np.array([2.0, -1.0, 5.0, 2.0])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize(
    ("action", "first", "utilities"),
    [
        ("add", "high", [0, 5, 7, 9, 8]),
        ("add", "low", [0, -1, 1, 3, 8]),
        ("remove", "high", [8, 3, 1, -1, 0]),
        ("remove", "low", [8, 9, 7, 5, 0]),
    ],
)
def test_curves_of_an_additive_game(action, first, utilities):
    game = fs.games.Additive(WORTH)
    curve = fs.curve(game, fs.exact(game), action=action, first=first)
    np.testing.assert_array_equal(curve.counts, np.arange(5))
    np.testing.assert_allclose(curve.utilities, utilities)
    assert (curve.action, curve.first) == (action, first)
    inner = (utilities[0] + utilities[-1]) / 2 + sum(utilities[1:-1])
    assert curve.area == pytest.approx(inner / 4)


@pytest.mark.parametrize("action", ["add", "remove"])
@pytest.mark.parametrize("first", ["high", "low"])
def test_of_equal_values_the_lower_number_moves_first(action, first):
    seen = []

    def game(coalitions):
        seen.append(coalitions.copy())
        return np.zeros(len(coalitions))

    fs.curve(game, np.ones(4), action=action, first=first)
    (masks,) = seen  # one call for all points
    moved = masks if action == "add" else ~masks
    np.testing.assert_array_equal(moved, np.arange(4) < np.arange(5)[:, None])


@given(arrays(np.float64, st.integers(1, 6), elements=st.floats(-10, 10)))
def test_no_order_of_an_additive_game_beats_that_of_its_values(worth):
    game = fs.games.Additive(worth)
    best = fs.curve(game, worth)
    other = fs.curve(game, np.random.default_rng(0).random(len(worth)))
    assert (best.utilities >= other.utilities - 1e-9).all()
    # Removing the worst first passes through the same coalitions backwards where values differ.
    if len(set(worth)) == len(worth):
        back = fs.curve(game, worth, action="remove", first="low")
        np.testing.assert_array_equal(back.utilities[::-1], best.utilities)


@pytest.mark.parametrize("steps", [1, 3, 10, 99])
def test_steps_go_from_nobody_to_all(steps):
    values = np.random.default_rng(0).permutation(10)
    curve = fs.curve(lambda coalitions: coalitions.sum(axis=1), values, steps=steps)
    assert (curve.counts[0], curve.counts[-1]) == (0, 10)
    assert len(curve.counts) == min(steps, 10) + 1
    assert curve.utilities.tolist() == curve.counts.tolist()


def test_plot_shares_axes():
    game = fs.games.Additive(WORTH)
    axes = fs.curve(game, WORTH).plot()
    assert fs.curve(game, WORTH, first="low").plot(axes, label="_the $worst$ first") is axes
    high, low = axes.get_lines()
    np.testing.assert_array_equal(high.get_ydata(), [0, 5, 7, 9, 8])
    np.testing.assert_array_equal(low.get_ydata(), [0, -1, 1, 3, 8])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("players added", "utility")
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["highest value first", r" _the \$worst\$ first"]
    axes.figure.canvas.draw()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"first": "best"}, "'high', 'low'"),
        ({"values": [1.0, 2.0]}, "2 values for the 4 players"),
        ({"steps": 0}, "steps"),
    ],
)
def test_bad_input_is_refused(arguments, words):
    with pytest.raises(fs.InputError, match=words):
        fs.curve(fs.games.Additive(WORTH), **({"values": WORTH} | arguments))


def test_bad_utilities_are_named():
    with pytest.raises(fs.errors.GameError, match=r"coalition \(1,\)") as caught:
        fs.curve(lambda c: np.where(c.sum(axis=1) == 1, np.nan, 0.0), [1.0, 2.0])
    assert caught.value.coalition == (1,)
