"""Results for shap, shapiq and MLflow, and from them."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

import fairshapley as fs
from fairshapley.errors import InputError

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
    assert back.endpoints == (1.0, 6.0)


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
    assert fs.Result.load(tmp_path / "values.json").digest == foreign.digest
    pytest.importorskip("plotly")
    assert "read from shap" in foreign.report(tmp_path / "page.html").read_text(encoding="utf-8")


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
        explainer = shapiq.TabularExplainer(
            model,
            rows[:30],
            sample_size=30,
            approximator=approximator,
            index="SV",
            max_order=1,
            random_state=0,
        )
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


def logged(result, **settings):
    """What is logged, by a stand-in for the package."""
    calls, files = {}, {}

    def log_artifacts(folder, path):
        files.update({one.name: one.read_text(encoding="utf-8") for one in folder.iterdir()})
        calls["path"] = path

    from pathlib import Path

    fake = SimpleNamespace(
        log_params=lambda found: calls.update(params=found),
        log_metrics=lambda found, step: calls.setdefault("metrics", []).append((step, found)),
        log_artifacts=lambda folder, path: log_artifacts(Path(folder), path),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "mlflow", fake)
        result.log_to_mlflow(**settings)
    return calls, files


def test_what_is_logged():
    pytest.importorskip("plotly")
    result = fs.estimate(fs.games.SumOfUnanimity(12, seed=1), "mc", budget=600, seed=0)
    calls, files = logged(result, epsilon1=0.9, name="rows")
    assert calls["params"]["rows.method"] == "mc"
    step, first = calls["metrics"][0]
    assert step == result.evaluations == first["rows.evaluations"]
    assert first["rows.certified"] in (0.0, 1.0)
    course = [found["rows.min_fidelity"] for _, found in calls["metrics"][1:] if found]
    assert course[-1] == result.history[-1].min_fidelity
    assert calls["path"] == "rows"
    assert set(files) == {"result.json", "values.csv", "certificate.txt", "report.html"}
    assert files["certificate.txt"] == str(result.certificate(0.9, 0.1))


def test_exact_results_are_logged_without_infinities():
    calls, _ = logged(fs.exact(GAME))
    assert all(np.isfinite(number) for _, found in calls["metrics"] for number in found.values())


@pytest.mark.filterwarnings("ignore")  # of what the package is built on
def test_a_store_of_mlflow(tmp_path):
    """With the package itself, into a database and folders of its own."""
    mlflow = pytest.importorskip("mlflow")
    result = fs.estimate(fs.games.SumOfUnanimity(12, seed=1), "mc", budget=600, seed=0)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    experiment = mlflow.create_experiment("values", artifact_location=str(tmp_path / "artifacts"))
    with mlflow.start_run(experiment_id=experiment) as run:
        result.log_to_mlflow()
    kept = mlflow.get_run(run.info.run_id).data
    assert kept.params["values.method"] == "mc"
    assert kept.metrics["values.evaluations"] == result.evaluations
    course = mlflow.MlflowClient().get_metric_history(run.info.run_id, "values.min_fidelity")
    assert [one.step for one in course] == [one.evaluations for one in result.history]
    [saved] = (tmp_path / "artifacts").rglob("result.json")
    assert fs.Result.load(saved).digest == result.digest


def test_without_mlflow_the_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(fs.MissingExtraError, match=r"needs mlflow or mlflow-skinny: .*or use save"):
        fs.exact(GAME).log_to_mlflow()
