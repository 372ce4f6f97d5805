"""Feature games: values known by hand, utilities against their definition, efficiency."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import fairshapley as fs
from fairshapley.games.features import FeatureGame
from tests.games.features.samples import DIABETES, IRIS, PROGRESSION, SPECIES, coalitions

# --- known values -------------------------------------------------------------------------------


def test_marginal_values_of_a_linear_model_are_its_slopes_times_the_differences():
    """φ_i = w_i·(x_i − mean z_i): on diabetes, 10 features, all 1024 coalitions."""
    model = LinearRegression().fit(DIABETES, PROGRESSION)
    game = FeatureGame(model, DIABETES, rows=7, background=50)
    expected = model.coef_ * (DIABETES[7] - game.background.mean(axis=0))
    assert_allclose(fs.exact(game).values, expected, rtol=1e-9, atol=1e-9)


def test_marginal_utilities_of_a_product_by_hand():
    """x = (3, 5), z = (1, 1) and (1, −1): v = 0, 3·0, 5·1 and 15, so φ = 5 and 10."""
    game = FeatureGame(lambda x: x.prod(axis=1), [[3.0, 5.0]], background=[[1.0, 1.0], [1.0, -1.0]])
    assert_array_equal(game(coalitions(2)), [0.0, 5.0, 0.0, 15.0])
    assert_array_equal(fs.exact(game).values, [5.0, 10.0])


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 5), st.integers(1, 7))
def test_marginal_utilities_are_their_definition(seed, n_rows, n_background, max_rows):
    """Two outputs with interactions, a group, several rows, calls of any size."""
    rng = np.random.default_rng(seed)
    data, background = rng.normal(size=(n_rows, 4)), rng.normal(size=(n_background, 4))
    weights = rng.normal(size=(4, 2))

    def predict(rows):
        return np.tanh(rows[:, :, None] * weights).prod(axis=1)

    game = FeatureGame(
        predict, data, background=background, groups=[[1, 3]], output=1, max_rows=max_rows
    )
    masks = coalitions(3)
    expected = [
        np.mean([predict(np.where(mask, x, z)[None])[0, 1] for x in data for z in background])
        for mask in masks[:, [0, 1, 2, 1]]
    ]
    assert game.player_names == ("x0", "x1 + x3", "x2")
    assert_allclose(game(masks), expected, rtol=1e-12, atol=1e-15)


# --- efficiency and structure -------------------------------------------------------------------


def test_a_group_of_a_linear_model_has_the_sum_of_the_values():
    """Groups by name, by position, and as a list; ungrouped columns stay players."""
    features = load_diabetes(as_frame=True).data
    model = LinearRegression().fit(features, PROGRESSION)
    options = {"rows": 11, "background": 30}
    single = fs.exact(FeatureGame(model, features, **options)).values
    blood = ["s1", "s2", "s3", "s4", "s5", "s6"]
    game = FeatureGame(model, features, groups={"blood": blood}, **options)
    assert game.player_names == ("age", "sex", "bmi", "bp", "blood")
    values = fs.exact(game).values
    assert_allclose(values, [*single[:4], single[4:].sum()], atol=1e-9)
    unnamed = FeatureGame(model, features, groups=[range(4, 10)], **options)
    assert unnamed.player_names[-1] == "s1 + s2 + s3 + s4 + s5 + s6"
    assert_array_equal(fs.exact(unnamed).values, values)


def test_an_output_is_a_number_or_the_name_of_a_class():
    names = load_iris().target_names[SPECIES]
    model = DecisionTreeClassifier(random_state=0).fit(IRIS, names)
    game = FeatureGame(model.predict_proba, IRIS, rows=0, output="virginica")
    assert game.output == 2
    assert game.output_names == ("setosa", "versicolor", "virginica")
    assert FeatureGame(model, IRIS, rows=0, output=-1).output == 2
    with pytest.raises(fs.InputError, match="3 outputs \\(setosa, versicolor and virginica\\)"):
        FeatureGame(model, IRIS)
