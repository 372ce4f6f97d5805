"""P4: the conditional expectation in its two readings."""

import numpy as np
import pytest

from fairshapley.draws import AllCoalitions
from fairshapley_paper.experiment import Setup
from fairshapley_paper.scenarios import features
from tests.data_folder import needs


def by_hand(predictions, rows):
    """v(S), row by row and pair by pair."""
    utilities = []
    for coalition in AllCoalitions(rows.shape[1]).masks(0, 1 << rows.shape[1]):
        means = []
        for x in rows:
            near = [
                prediction
                for z, prediction in zip(rows, predictions, strict=True)
                if all(0.9 * x[i] <= z[i] <= 1.1 * x[i] for i in np.flatnonzero(coalition))
            ]
            means.append(np.mean(near) if near else 0.0)
        utilities.append(np.mean(means))
    return np.array(utilities)


def test_signed_expectation():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(25, 3)).round(1)
    predictions = rng.random(25)
    found = features.neighbourhood_expectation(predictions, rows, signed=True)
    assert np.allclose(found, by_hand(predictions, rows), rtol=0, atol=1e-12)
    # Rows that are negative in every feature have no neighbours.
    assert (
        features.neighbourhood_expectation(predictions, -np.abs(rows) - 1, signed=True)[1:].max()
        == 0
    )


def test_ten_percent_are_of_the_own_value_and_the_edge_is_inside():
    """1.1 is near 1.0 but 0.89 is not; seen from 1.1 everything from 0.99 on is near; −1 alone."""
    rows = np.array([[1.0], [1.1], [0.9], [0.89], [-1.0]])
    near = [(1.0 + 1.1 + 0.9) / 3, (1.0 + 1.1) / 2, (0.9 + 0.89) / 2, (0.89 + 0.9) / 2, -1.0]
    found = features.neighbourhood_expectation(rows[:, 0], rows)
    assert np.allclose(found, [rows.mean(), np.mean(near)])


def test_iris_needs_no_second_reading_of_near():
    plain = features.explained_rows(Setup("tiny", 0), "iris").game
    assert plain.player_names[0].startswith("sepal")
    programmed = features.explained_rows(Setup("tiny", 0, "program"), "iris")
    assert programmed.game.values[0] == pytest.approx(1 / 3, abs=0.2)
    assert "30 others" in programmed.notes[0]


@needs("adult", "covertype")
@pytest.mark.parametrize("name", ["adult", "wine", "covertype"])
def test_the_readings_differ_on_components(name):
    plain = features.explained_rows(Setup("tiny", 0), name).game
    programmed = features.explained_rows(Setup("tiny", 0, "program"), name).game
    assert plain.n_players == programmed.n_players == features.COMPONENTS
    # A row is its own neighbour in the one, and has none in the other where it is negative.
    assert abs(plain.values[-1] - plain.values[0]) < 0.01
    assert programmed.values[-1] < 0.15 * programmed.values[0]
    # The rows are drawn at random, as the text says: another seed, other rows.
    other = features.explained_rows(Setup("tiny", 1), name).game
    assert not np.array_equal(plain.values, other.values)
