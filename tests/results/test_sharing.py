"""Results for shap and shapiq, and from them."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

import fairshapley as fs
from fairshapley.errors import InputError
from fairshapley.results.serialising import result_digest

GAME = fs.games.TableGame([1.0, 2.0, 3.0, 6.0], player_names=["a", "b"])


def test_a_result_for_shaps_plots_and_back():
    pytest.importorskip("shap")
    result = fs.exact(GAME)
    explanation = result.to_shap(data=[10.0, 20.0])
    np.testing.assert_array_equal(explanation.values, result.values)
    assert explanation.base_values == 1.0
    assert explanation.feature_names == ["a", "b"]
    back = fs.Result.from_shap(explanation)
    np.testing.assert_array_equal(back.values, result.values)
    assert back.names() == ("a", "b")
    assert back.game.endpoints == (1.0, 6.0)


def test_rows_of_shaps_explanations():
    shap = pytest.importorskip("shap")
    many = shap.Explanation(np.arange(6.0).reshape(3, 2), np.zeros(3), feature_names=["u", "v"])
    assert fs.Result.from_shap(many[1]).values.tolist() == [2.0, 3.0]
    with pytest.raises(InputError, match=r"shape \(3, 2\): give explanation\[0\]"):
        fs.Result.from_shap(many)


@pytest.mark.parametrize("semivalue", ["shapley", "banzhaf"])
def test_shapiqs_values_both_ways(semivalue):
    shapiq = pytest.importorskip("shapiq")
    result = fs.exact(GAME, semivalue)
    theirs = result.to_shapiq()
    assert isinstance(theirs, shapiq.InteractionValues)
    assert theirs.index == {"shapley": "SV", "banzhaf": "BV"}[semivalue]
    assert [theirs[(player,)] for player in range(2)] == result.values.tolist()
    assert theirs.baseline_value == theirs[()] == 1.0
    back = fs.Result.from_shapiq(theirs)
    assert back.exact
    assert back.semivalue == semivalue
    np.testing.assert_array_equal(back.values, result.values)


def test_values_that_shapiq_computed():
    shapiq = pytest.importorskip("shapiq")
    game = fs.games.SumOfUnanimity(8, seed=3)
    truth = fs.exact(game).values
    found = fs.Result.from_shapiq(shapiq.KernelSHAP(n=8, random_state=0).approximate(256, game))
    np.testing.assert_allclose(found.values, truth, rtol=1e-5, atol=1e-6)
    assert found.evaluations == 256
    pairs = shapiq.KernelSHAPIQ(n=8, max_order=2, index="k-SII", random_state=0)
    with pytest.raises(InputError, match="k-SII of order 2 are no values of single players"):
        fs.Result.from_shapiq(pairs.approximate(256, game))


def test_values_of_others_are_reported_and_paid_but_not_certified(tmp_path):
    foreign = fs.Result.from_shap(
        SimpleNamespace(values=np.array([1.0, 3.0]), base_values=0.5, feature_names=None)
    )
    assert not foreign.certificate(0.5, 0.1).holds
    assert "come from shap, and their errors are not known" in str(foreign)
    assert [float(one) for one in foreign.payout(100).amounts] == [25.0, 75.0]
    foreign.save(tmp_path / "values.json")
    assert result_digest(fs.Result.load(tmp_path / "values.json")) == result_digest(foreign)
    pytest.importorskip("plotly")
    assert "read from shap" in foreign.report(tmp_path / "page.html").read_text(encoding="utf-8")


def test_what_is_no_explanation_is_named():
    with pytest.raises(InputError, match=r"from_shap needs a shap\.Explanation, not"):
        fs.Result.from_shap([1.0, 2.0])
    with pytest.raises(InputError, match=r"from_shapiq needs a shapiq\.InteractionValues, not"):
        fs.Result.from_shapiq([1.0, 2.0])


def test_what_shapiq_has_no_word_for():
    with pytest.raises(InputError, match=r"no index for beta\(16,1\)"):
        fs.exact(GAME, "beta(16,1)").to_shapiq()
    known = fs.knn_shapley([[0.0], [1.0]], [0, 1], [[0.2]], [0])
    with pytest.raises(InputError, match="utility of nobody is not recorded"):
        known.to_shap()


def test_our_method_in_shapiqs_explainers():
    shapiq = pytest.importorskip("shapiq")
    rows, targets = load_diabetes(return_X_y=True)
    rows = rows[:, :7]
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(rows, targets)

    def explained(approximator, budget):
        options = {"sample_size": 30, "index": "SV", "max_order": 1, "random_state": 0}
        explainer = shapiq.TabularExplainer(model, rows[:30], approximator=approximator, **options)
        return explainer.explain(rows[0], budget=budget, random_state=0)

    ours = fs.shapiq_approximator(7, seed=0)
    truth = explained("auto", 128)
    found = explained(ours, 128)
    assert ours.result.exact
    np.testing.assert_allclose(found.get_n_order_values(1), truth.get_n_order_values(1), atol=1e-3)
    assert found.baseline_value == pytest.approx(truth.baseline_value)
    rough = explained(fs.shapiq_approximator(7, "mc"), 60).get_n_order_values(1)
    assert np.corrcoef(rough, truth.get_n_order_values(1))[0, 1] > 0.9
    again = explained(ours, 40), explained(ours, 40)
    assert again[0] == again[1]
