"""Rows explained one by one: against TreeSHAP, for several outputs, and in shap's plots."""

import warnings
from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier

import fairshapley as fs
from fairshapley.explanations import explain
from fairshapley.games.features import FeatureGame

DIABETES, PROGRESSION = load_diabetes(return_X_y=True)
WINE, CULTIVAR = load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def shap():
    pytest.importorskip("matplotlib", reason="the extra 'report' is not installed").use("Agg")
    with warnings.catch_warnings():
        # shap sets up its colours in a way that newer versions of matplotlib warn about.
        warnings.simplefilter("ignore")
        return pytest.importorskip("shap", reason="the extra 'shap' is not installed")


@pytest.fixture(scope="module")
def forest():
    """Six of wine's features, three classes."""
    return RandomForestClassifier(5, max_depth=4, random_state=0).fit(WINE[:, :6], CULTIVAR)


@pytest.fixture(scope="module")
def wine_game(forest):
    return FeatureGame(
        forest, WINE[:, :6], output=1, background=25, feature_names=load_wine().feature_names[:6]
    )


# --- against the closed form for trees ----------------------------------------------------------


def closed_form(tree, x, z):
    """The interventional values of one tree for one background row (Lundberg et al. 2020).

    A leaf is reached when S holds all features that only x leads there (A) and none that only z
    does (B): a game whose values are (|A|−1)!·|B|!/(|A|+|B|)! for A, −|A|!·(|B|−1)!/… for B.
    """
    values = np.zeros((len(x), tree.n_outputs if tree.n_classes[0] == 1 else tree.n_classes[0]))

    def visit(node, mine, others):
        if tree.children_left[node] < 0:
            a, b = len(mine), len(others)
            leaf = tree.value[node, 0]
            for player in mine:
                values[player] += leaf * (factorial(a - 1) * factorial(b) / factorial(a + b))
            for player in others:
                values[player] -= leaf * (factorial(a) * factorial(b - 1) / factorial(a + b))
            return
        at, threshold = tree.feature[node], tree.threshold[node]
        children = tree.children_right[node], tree.children_left[node]
        # Trees compare features in single precision.
        to_x, to_z = (children[int(np.float32(row[at]) <= threshold)] for row in (x, z))
        if to_x == to_z:
            visit(to_x, mine, others)
        else:
            if at not in others:
                visit(to_x, mine | {at}, others)
            if at not in mine:
                visit(to_z, mine, others | {at})

    visit(0, frozenset(), frozenset())
    return values


def of_forest(forest, x, background):
    parts = [closed_form(each.tree_, x, z) for each in forest.estimators_ for z in background]
    return np.mean(parts, axis=0)


def test_probabilities_of_all_classes_have_the_closed_form_of_trees(forest, wine_game):
    found = explain(wine_game, [1, 80, 177], outputs="all")
    rows = WINE[[1, 80, 177], :6]
    expected = [of_forest(forest, row, wine_game.background) for row in rows]
    assert_allclose(found.values, expected, atol=1e-12)
    assert_allclose(found.predictions, forest.predict_proba(rows), atol=1e-12)


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


def test_frames_have_a_line_per_row_and_output(wine_game):
    own = explain(wine_game, [2, 5])
    assert list(own.to_frame().columns) == load_wine().feature_names[:6]
    assert_array_equal(own.to_frame().loc[5], own.values[1])
    found = explain(wine_game, [2, 5], outputs="all")
    assert_array_equal(found.to_frame().loc[(5, "2")], found.values[1, :, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": [178]}, "rows must name some of the 178 rows of X"),
        ({"outputs": "4"}, "there is no output '4'"),
        ({"outputs": [0, "0"]}, "each of them once"),
    ],
)
def test_bad_arguments_are_named(wine_game, arguments, message):
    with pytest.raises(fs.InputError, match=message):
        explain(wine_game, **{"rows": [0], **arguments})


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


# --- the paper's setting ------------------------------------------------------------------------


def test_explanations_are_readable_in_console_and_notebook():
    rows = np.random.default_rng(0).normal(size=(30, 7))
    names = [f"x{at}" for at in range(6)] + ["<b>"]
    game = fs.games.FeatureGame(lambda x: x[:, 0] * 2 - x[:, 6], rows, feature_names=names)
    found = fs.explain(game, range(12))
    text = str(found)
    assert repr(found) == text
    first, *lines = text.splitlines()
    assert first == "values of 7 players for the predictions of 12 rows, exact"
    assert lines[0].startswith("mean |value| over the rows: x0 ")
    assert lines[1].startswith("row 0: ")
    assert "on average, x0 " in text
    assert "2 others +0" in lines[1]
    assert lines[-1] == "… 2 more rows"
    assert "array(" not in text
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    sampled = fs.explain(game, 0, budget=60, seed=0)
    assert " ± " in str(sampled)
    assert "estimated" in str(sampled)
