"""P2: providers, their volumes, and what the table of results says."""

from dataclasses import replace

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.draws import AllCoalitions
from fairshapley.games.volume import VolumeGame
from fairshapley_paper.experiment import Setup
from fairshapley_paper.scenarios import datasets
from fairshapley_paper.scenarios.tables import tabulated
from tests.data_folder import needs
from tests.paper.small import tiny

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
    """Both readings of the same cars, with few marginals."""
    folder = tmp_path_factory.mktemp("paper")
    chosen = {"datasets": ["mc", "adjusted", "exact"], "datasets-code": ["mc-program"]}
    return {
        name: tiny(name, folder, methods, "used_cars", trials=6) for name, methods in chosen.items()
    }


def test_at_equal_evaluations_adjusted_wins(report):
    text = report["datasets"]
    error = text.value("used_cars", "adjusted", "mse", "honest")
    assert error < 0.1 * text.value("used_cars", "mc", "mse", "honest")
    assert text.value("used_cars", "mc", "evaluations", "honest") <= 128
    assert text.value("used_cars", "exact", "mse", "honest") < 1e-20


def test_published_numbers_stand_beside_the_papers_budget_alone(report):
    for short in report.values():
        assert "9.00e-04" not in short.summary()
    text = replace(report["datasets"], size="full").summary()
    assert "[9.00e-04 ± 1.8e-04]" in text  # the paper's MSE of MC
    assert "50% of all coalitions" in text
    # The program's forms are not measured at equal evaluations.
    assert "honest accounting" not in report["datasets-code"].summary()
