"""Explanations of rows: for several outputs, in shap's plots, and as text."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

import fairshapley as fs
from fairshapley.explanations import explain
from fairshapley.games.features import FeatureGame

WINE, CULTIVAR = load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def shap():
    pytest.importorskip("matplotlib", reason="the extra 'report' is not installed").use("Agg")
    with warnings.catch_warnings():
        # shap sets up its colours in a way that newer versions of matplotlib warn about.
        warnings.simplefilter("ignore")
        return pytest.importorskip("shap", reason="the extra 'shap' is not installed")


@pytest.fixture(scope="module")
def wine_game():
    """Six of wine's features, three classes."""
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(WINE[:, :6], CULTIVAR)
    return FeatureGame(
        forest, WINE[:, :6], output=1, background=25, feature_names=load_wine().feature_names[:6]
    )


# --- outputs, rows, seeds -----------------------------------------------------------------------


def test_outputs_are_all_some_or_the_games_own(wine_game):
    everything = explain(wine_game, [3, 90], outputs="all")
    own = explain(wine_game, [3, 90])
    some = explain(wine_game, [3, 90], outputs=["2", 0])
    assert_array_equal(own.values, everything.values[:, :, 1])
    assert_array_equal(some.values, everything.values[:, :, [2, 0]])
    assert_array_equal(some.base_values, everything.base_values[:, [2, 0]])
    assert own.output_names == ("1",)
    assert some.output_names == ("2", "0")
    total = everything.values.sum(axis=1)
    assert_allclose(total, everything.predictions - everything.base_values, atol=1e-12)
    assert_allclose(everything.importance(), np.abs(everything.values).mean(axis=0))
    assert everything.min_fidelity == np.inf


def test_the_mean_of_the_rows_is_the_game_of_the_mean(wine_game):
    mean = wine_game.for_rows(slice(0, 178, 40))
    found = explain(mean)
    assert found.rows == (0, 40, 80, 120, 160)
    assert_allclose(found.values.mean(axis=0), fs.exact(mean).values, atol=1e-12)


def test_bad_arguments_are_named(wine_game):
    with pytest.raises(fs.InputError, match="rows must name some of the 178 rows of X"):
        explain(wine_game, [178])
    with pytest.raises(fs.InputError, match="each of them once"):
        explain(wine_game, [0], outputs=[0, "0"])


# --- shap's plots -------------------------------------------------------------------------------


def test_shap_draws_the_explanation(shap, wine_game):
    """Bars of all rows, a waterfall of one, for one output and for one of several."""
    import matplotlib.pyplot as plt

    own = explain(wine_game, [2, 5, 100]).to_shap()
    every = explain(wine_game, [2, 5, 100], outputs="all").to_shap()
    assert own.feature_names == list(wine_game.player_names)
    assert list(every.output_names) == ["0", "1", "2"]
    assert_array_equal(own.data, WINE[[2, 5, 100], :6])
    assert_array_equal(every[..., 1].values, own.values)
    mean = fs.exact(wine_game.for_rows([2, 5])).to_shap()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shap's own, about matplotlib and numpy
        for draw, what in (
            (shap.plots.bar, own),
            (shap.plots.bar, mean),
            (shap.plots.waterfall, own[0]),
            (shap.plots.waterfall, every[1, :, 2]),
            (shap.plots.beeswarm, own),
        ):
            draw(what, show=False)
            labels = {text.get_text() for text in plt.gca().get_yticklabels()}
            assert any("alcohol" in label for label in labels)
            plt.close("all")


# --- texts --------------------------------------------------------------------------------------


def test_explanations_are_readable():
    rows = np.random.default_rng(0).normal(size=(30, 7))
    game = fs.games.FeatureGame(lambda x: x[:, 0] * 2 - x[:, 6], rows)
    found = fs.explain(game, range(12))
    text = str(found)
    first, *lines = text.splitlines()
    assert first == "values of 7 players for the predictions of 12 rows, exact"
    assert lines[0].startswith("mean |value| over the rows: x0 ")
    assert lines[1].startswith("row 0: ")
    assert "on average, x0 " in text
    assert "2 others +0" in lines[1]
    assert lines[-1] == "… 2 more rows"
