"""Background rows with weights: clusters, and what is said of them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression

import fairshapley as fs
from fairshapley.games.features import FeatureGame
from tests.games.features.samples import IRIS, coalitions


def product(rows):
    return np.asarray(rows, dtype=float).prod(axis=1)


def test_weights_are_those_of_the_mean():
    """A row of weight 2 counts as two rows of weight 1."""
    rows, twice = IRIS[:3], IRIS[[0, 0, 1, 2]]
    weighted = FeatureGame(product, IRIS, rows=[7, 70], background=(rows, [2, 1, 1]))
    plain = FeatureGame(product, IRIS, rows=[7, 70], background=twice)
    assert_allclose(weighted(coalitions(4)), plain(coalitions(4)), rtol=1e-12)
    mean = FeatureGame(product, IRIS, kind="mean", background=(rows, [2, 1, 1]))
    assert_allclose(mean.background, twice.mean(axis=0)[None])


def test_centres_of_clusters_have_contents_that_occur_and_the_weight_of_their_rows():
    """Three clouds of 10, 20 and 30 rows."""
    rng = np.random.default_rng(0)
    clouds = np.repeat([[0.0, 5.0], [9.0, 0.0], [20.0, 90.0]], [10, 20, 30], axis=0)
    rows = clouds + rng.normal(scale=0.1, size=clouds.shape)
    game = FeatureGame(product, rows, background="kmeans:3")
    order = np.argsort(game.weights)
    assert_allclose(game.weights[order], [1 / 6, 1 / 3, 1 / 2])
    assert_allclose(game.background[order], clouds[[0, 10, 30]], atol=0.1)
    assert np.isin(game.background[:, 0], rows[:, 0]).all()
    assert_array_equal(
        game.background, FeatureGame(product, rows, background="kmeans:3").background
    )
    [said] = game.notes
    assert said.endswith(
        "3 background rows (centres of clusters of X, each with the weight of its rows)"
    )


def test_clusters_of_a_frame_keep_its_dtypes_and_fill_what_is_missing():
    frame = pd.DataFrame({"a": [1, 2, 8, 9], "b": [0.5, np.nan, 3.0, 3.5]})
    game = FeatureGame(lambda x: x["a"] + x["b"].fillna(0), frame, background="kmeans:2")
    assert list(game.background.dtypes) == list(frame.dtypes)
    assert_allclose(game.weights, [0.5, 0.5])


def test_linear_models_know_the_weights():
    model = LinearRegression().fit(IRIS[:, :3], IRIS[:, 3])
    found = fs.explain(model, IRIS[:, :3], "kmeans:5", rows=range(4))
    game = FeatureGame(model, IRIS[:, :3], background="kmeans:5")
    centre = game.weights @ game.background
    assert "linear" in found.results[0][0].stopped
    assert "centres of clusters" in found.results[0][0].notes[0]
    assert_allclose(found.values, (IRIS[:4, :3] - centre) * model.coef_, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"background": "kmeans"}, "or 'kmeans:20'"),
        ({"background": "kmeans:many"}, "or 'kmeans:20'"),
        ({"background": "kmeans:151"}, "from 1 to 150"),
        (
            {"background": "kmeans:3", "kind": lambda rows, masks: rows},
            "with weights is for kind='marginal'",
        ),
        ({"background": (IRIS[:2], [1.0])}, "one weight for each"),
        ({"background": (IRIS[:2], [1.0, -1.0])}, "none negative"),
    ],
)
def test_bad_backgrounds_are_named(options, message):
    with pytest.raises(fs.InputError, match=message):
        FeatureGame(product, IRIS, **options)


def test_texts_have_no_clusters():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    with pytest.raises(fs.InputError, match="column 'b' holds no numbers, and k-means"):
        FeatureGame(lambda x: x["a"], frame, background="kmeans:1")
