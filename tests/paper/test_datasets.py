"""P2: providers, their volumes, and what the table of results says."""

import numpy as np
import pytest

import fairshapley as fs
import fairshapley_paper as paper
from fairshapley.draws import AllCoalitions
from fairshapley.games.volume import VolumeGame
from fairshapley_paper.experiment import Setup
from fairshapley_paper.scenarios import datasets
from fairshapley_paper.scenarios.tables import tabulated
from tests.data_folder import needs

pytestmark = needs("creditcard", "used_cars")


def test_a_tabulated_game_is_the_game():
    rng = np.random.default_rng(0)
    game = VolumeGame({name: rng.normal(size=(6, 2)) for name in "abcd"})
    played = tabulated(game)
    coalitions = AllCoalitions(4).masks(0, 1 << 4)[[0, 3, 9, 15]]
    assert np.array_equal(played.game(coalitions), game(coalitions))
    assert played.game.player_names == ("a", "b", "c", "d")
    assert np.allclose(fs.exact(played.game).values, fs.exact(game).values)


@pytest.mark.parametrize(
    ("build", "players"), [(datasets.credit_card, 10), (datasets.used_cars, 8)]
)
def test_providers(build, players):
    game = build(Setup("tiny", 0)).game
    assert game.n_players == players
    assert game.values[0] == 0
    # One provider more never spans less by much: volumes grow with the rows.
    assert game.values[-1] == game.values.max()
    assert np.array_equal(game.values, build(Setup("tiny", 0)).game.values)
    assert not np.array_equal(game.values, build(Setup("tiny", 1)).game.values)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return paper.run(
        "datasets-code",
        size="tiny",
        trials=6,
        only=["used_cars"],
        methods=["mc", "gae-5-uncounted", "adjusted", "exact"],
        out=tmp_path_factory.mktemp("paper"),
        progress=False,
    )


def test_uncounted_marginals_make_gae_look_better(report):
    """60 single marginals against 60 permutations: about half of the error, as published."""
    single = report.value("used_cars", "mc", "mse")
    assert report.value("used_cars", "gae-5-uncounted", "mse") < 0.7 * single
    for method in ("mc", "gae-5-uncounted"):
        assert report.value("used_cars", method, "marginals") == 35 * 8 + 60 - (method == "mc") * 4


def test_at_equal_evaluations_adjusted_wins(report):
    error = report.value("used_cars", "adjusted", "mse", "honest")
    assert error < 0.1 * report.value("used_cars", "mc", "mse", "honest")
    assert report.value("used_cars", "mc", "evaluations", "honest") <= 128
    assert report.value("used_cars", "exact", "mse", "honest") < 1e-20


def test_the_published_numbers_stand_beside_ours(report):
    text = report.summary()
    assert "[9.00e-04 ± 1.8e-04]" in text  # the paper's MSE of MC
    assert "50% of all coalitions" in text
