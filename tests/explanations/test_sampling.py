"""Rows explained jointly: against enumeration, in few calls, within the budget, honest errors."""

import os
import signal
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairshapley as fs
from fairshapley.games.features import FeatureGame

ROWS = np.random.default_rng(0).normal(size=(60, 12))


def curved(rows):
    """Interactions of two and three features, and one feature (the last) that does nothing."""
    return (
        rows[:, 0] * rows[:, 1]
        + np.sin(2 * rows[:, 2])
        + np.maximum(rows[:, 3] + rows[:, 4] * rows[:, 5], 0)
        + rows[:, 6:11].sum(axis=1)
    )


@pytest.fixture(scope="module")
def exact():
    game = FeatureGame(curved, ROWS, background=8)
    return fs.explain(game, range(10), budget=1 << 12)


def counting(function):
    """The function, and the sizes of its calls."""
    calls = []

    def called(rows):
        calls.append(len(rows))
        return function(rows)

    return called, calls


# --- values -------------------------------------------------------------------------------------


def test_all_coalitions_within_the_budget_are_exact(exact):
    game = FeatureGame(curved, ROWS, background=8)
    for place in (0, 9):
        one = fs.exact(game.for_rows(place))
        assert_allclose(exact.values[place], one.values, atol=1e-12)
    assert exact.results[0][0].exact
    assert_array_equal(exact.values[:, 11], 0.0)  # marginals first: nothing is exactly nothing


@pytest.mark.parametrize("n_rows", [10, 2])
def test_estimates_lie_around_the_exact_values(exact, n_rows):
    """120 values, |z| < 5 with 60 degrees of freedom: false alarms below 1 in 1000."""
    found = fs.explain(curved, ROWS, 8, rows=range(n_rows), budget=300, seed=1)
    off = found.values - exact.values[:n_rows]
    assert (np.abs(off) < 5 * found.standard_errors + 1e-9).all()
    assert np.sqrt(np.mean(off**2)) < 0.02 * np.abs(exact.values).mean()
    total = found.predictions - found.base_values
    assert_allclose(found.values.sum(axis=1), total, atol=1e-9)
    assert {row[0].evaluations for row in found.results} <= set(range(270, 301))


def test_additive_models_are_found_exactly():
    found = fs.explain(lambda rows: rows @ np.arange(12.0), ROWS, 10, rows=range(5), budget=100)
    background = FeatureGame(curved, ROWS, background=10).background
    expected = (ROWS[:5] - background.mean(axis=0)) * np.arange(12.0)
    assert_allclose(found.values, expected, atol=1e-5)


def test_a_seed_fixes_the_draw():
    first, again, other = (
        fs.explain(curved, ROWS, 4, rows=range(3), budget=100, seed=seed).values
        for seed in (5, 5, 6)
    )
    assert_array_equal(first, again)
    assert (first != other).any()


# --- budgets, rules, calls ----------------------------------------------------------------------


def test_rows_share_few_calls():
    """50 coalitions of 40 rows against 10 background rows: 20 000 mixtures in one call or so."""
    predict, calls = counting(curved)
    fs.explain(predict, ROWS, 10, rows=range(40), budget=50, seed=0)
    mixtures = [call for call in calls if call > 500]
    assert sum(mixtures) >= 40 * 10 * 44
    assert len(mixtures) <= 12


def test_every_row_is_certified_and_done_rows_leave_their_budget():
    rule = fs.Fair(epsilon1=0.1, delta=0.1)
    found = fs.explain(curved, ROWS, 8, rows=range(12), until=rule, budget=400, seed=0)
    evaluations = np.array([row[0].evaluations for row in found.results])
    for row in found.results:
        assert row[0].stopped.startswith("certified as (0.1,")
        assert row[0].certificate(0.1, 0.1).holds
        assert row[0].xi == pytest.approx(np.abs(row[0].values).mean())
    assert len(set(evaluations)) > 1
    assert evaluations.mean() <= 400


def test_certificates_hold(exact):
    """10 rows × 5 seeds at δ = 0.1: more than 14 failures have a probability below 1 in 5000."""
    failures = 0
    for seed in range(5):
        rule = fs.Fair(epsilon1=0.3, delta=0.1)
        found = fs.explain(curved, ROWS, 8, rows=range(10), until=rule, seed=seed)
        sizes = np.abs(exact.values)
        xi = np.abs(found.values).mean(axis=1, keepdims=True)
        wrong = np.abs(found.values - exact.values) > 0.3 * (sizes + xi)
        failures += int(wrong.any(axis=1).sum())
    assert failures <= 14


def test_a_row_with_a_hidden_conjunction_is_not_certified_early():
    """Nine of twelve features together are worth 1: of few draws none may show it."""
    rows = np.ones((1, 12))

    def jackpot(x):
        return 1.0 * (x[:, :9] > 0.5).all(axis=1) + 0.02 * x.sum(axis=1)

    truth = np.where(np.arange(12) < 9, 1 / 9, 0.0) + 0.02
    near, wrong = truth.mean(), 0
    for seed in range(20):
        rule = fs.Fair(epsilon1=0.5, delta=0.1, xi=near)
        [[found]] = fs.explain(jackpot, rows, np.zeros((1, 12)), until=rule, seed=seed).results
        wrong += (np.abs(found.values - truth) > 0.5 * (truth + near)).any()
    assert wrong <= 6  # more have a probability of 0.2 % where 1 in 10 may be wrong


@pytest.mark.full
@pytest.mark.timeout(600)
def test_a_certificate_out_of_reach_is_given_up():
    """After 10,000 evaluations for each player, which here are fewer than the coalitions."""
    rows = np.random.default_rng(1).normal(size=(2, 20))
    rule = fs.Fair(epsilon1=1e-9, delta=0.01)
    found = fs.explain(
        lambda x: np.sin(x.sum(axis=1)) + x[:, 0] * x[:, 1], rows[:1], rows[1:], until=rule, seed=0
    )
    assert found.results[0][0].stopped.startswith("given up after ")
    assert 200_000 <= found.results[0][0].evaluations < 2**20


@pytest.mark.parametrize("until", [100, fs.Fidelity(at_least=60)])
def test_only_certificates_end_rows_before_the_budget(until):
    with pytest.raises(fs.InputError, match="until must be a certificate"):
        fs.explain(curved, ROWS, 8, until=until)


def test_a_small_budget_that_is_not_enough_is_said():
    rule = fs.Fair(epsilon1=1e-4, delta=0.01)
    found = fs.explain(curved, ROWS, 8, rows=range(2), until=rule, budget=60, seed=0)
    assert found.results[0][0].stopped == "the budget is spent"
    assert not found.results[0][0].certificate(1e-4, 0.01).holds


def test_a_budget_below_the_least_is_refused():
    with pytest.raises(fs.errors.BudgetError, match="a budget of 9 is too small: a row takes 10"):
        fs.explain(curved, ROWS, 8, rows=[0], budget=9)
    found = fs.explain(curved, ROWS, 8, rows=[0], budget=10, seed=0)
    assert found.results[0][0].evaluations == 10


def test_a_plot_comes_first_and_precision_when_asked_for():
    plot = fs.explain(curved, ROWS, 8, rows=range(4), seed=0)
    assert {row[0].evaluations for row in plot.results} == {10 * 12}
    assert "± are standard errors; precision=0.05" in str(plot)
    precise = fs.explain(curved, ROWS, 8, rows=range(4), precision=0.1, seed=0)
    assert all(row[0].certificate(0.1, 0.1).holds for row in precise.results)
    with pytest.raises(fs.InputError, match="a limit of its own: leave budget="):
        fs.explain(curved, ROWS, 8, precision=0.1, budget=100)


def test_long_work_is_announced(capsys):
    """The first part takes half a second, as all others would."""
    predict, calls = counting(curved)

    def slow(rows):
        if len(calls) < 6:
            time.sleep(0.5)
        return predict(rows)

    fs.explain(slow, ROWS, 1, rows=range(2), budget=4000, seed=0, progress=True)
    assert "explain: 2 rows take about " in capsys.readouterr().err
    fs.explain(curved, ROWS, 1, rows=range(2), budget=60, seed=0, progress=True)
    assert "take about" not in capsys.readouterr().err


def test_ctrl_c_keeps_estimates():
    """The interrupt comes in the middle: the rounds before it count."""
    predict, calls = counting(curved)

    def interrupted(rows):
        if sum(calls) > 60_000:
            os.kill(os.getpid(), signal.SIGINT)
        return predict(rows)

    found = fs.explain(interrupted, ROWS, 20, rows=range(10), budget=2000, seed=0)
    assert not found.complete
    assert len(found.rows) == 10
    assert found.results[0][0].evaluations < 1000
    assert found.results[0][0].evidence.obstacle == "the run did not finish"
    assert "interrupted" in str(found)


def test_many_players_are_estimated():
    """500 features: a linear proxy, no smooth part."""
    rows = np.random.default_rng(1).normal(size=(6, 500))
    weights = np.linspace(-1, 1, 500)
    found = fs.explain(
        lambda x: np.tanh(x @ weights / 10), rows, rows[3:], rows=range(3), budget=1600, seed=0
    )
    assert_allclose(found.values.sum(axis=1), found.predictions - found.base_values, atol=1e-9)
    assert np.isfinite(found.standard_errors).all()


# --- models -------------------------------------------------------------------------------------


def test_linear_models_have_a_closed_form():
    target = ROWS @ np.arange(12.0)
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(ROWS, target)
    found = fs.explain(model, ROWS, 20)
    game = FeatureGame(model, ROWS, background=20)
    assert "linear" in found.results[0][0].stopped
    expected = (ROWS - game.background.mean(axis=0)) * np.arange(12.0)
    assert_allclose(found.values, expected, atol=1e-9)
    grouped = fs.explain(model, ROWS, 20, groups={"both": [0, 1]}, rows=[3])
    assert grouped.values[0, 0] == pytest.approx(expected[3, :2].sum())


def test_what_is_linear_only_inside_is_not_taken_for_linear():
    small = ROWS[:, :4]
    poisson = PoissonRegressor().fit(small, np.exp(small[:, 0] / 2))
    logistic = LogisticRegression().fit(small, small[:, 0] > 0)
    for model in (poisson, logistic):
        assert "every coalition" in fs.explain(model, small, 10, rows=[0]).results[0][0].stopped


def test_trees_agree_with_enumeration():
    pytest.importorskip("shap", reason="the extra 'shap' is not installed")
    rows = ROWS.astype(np.float32).astype(np.float64)
    target = curved(rows)
    for kind, answers, called in (
        (RandomForestRegressor(5), target, "predict"),
        (HistGradientBoostingRegressor(max_iter=5), target, "predict"),
        (RandomForestClassifier(5), np.digitize(target, [-1, 1]), "predict_proba"),
    ):
        model = kind.set_params(random_state=0).fit(rows, answers)
        found = fs.explain(model, rows, 10, rows=range(3))
        assert "TreeExplainer" in found.results[0][0].stopped
        predict = partial(getattr(model, called))
        exact = fs.explain(predict, rows, 10, rows=range(3), budget=1 << 12)
        assert_allclose(found.values, exact.values, atol=1e-5)
        assert_allclose(found.predictions, predict(rows[:3]), atol=1e-6)


def test_the_second_of_two_classes_and_all_of_more():
    rows = ROWS[:, :3]
    two = LogisticRegression().fit(rows, np.where(rows[:, 0] > 0, "yes", "no"))
    found = fs.explain(two, rows, 5, rows=[0])
    assert found.output_names == ("yes",)
    assert_allclose(found.values, -fs.explain(two, rows, 5, rows=[0], outputs="no").values)
    three = LogisticRegression().fit(rows, np.digitize(rows[:, 0], [-0.5, 0.5]))
    assert fs.explain(three, rows, 5, rows=[0]).values.shape == (1, 3, 3)


def test_several_outputs_are_estimated_from_the_same_predictions():
    def both(rows):
        return np.stack([curved(rows), -2 * curved(rows)], axis=1)

    found = fs.explain(both, ROWS, 8, rows=range(4), budget=200, seed=0, outputs="all")
    assert_allclose(found.values[..., 1], -2 * found.values[..., 0], rtol=1e-6, atol=1e-9)


def test_frames_with_texts_reach_a_pipeline():
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "note": ["good", "bad", "good good"]})
    found = fs.explain(lambda x: x["size"] + x["note"].str.count("good"), frame)
    assert found.player_names == ("size", "note")
    assert found.data[2].tolist() == [3.0, "good good"]
    assert_allclose(found.values.sum(axis=1), found.predictions - found.base_values)


def test_torch_modules_take_frames():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    module = torch.nn.Linear(12, 1).eval()
    frame = pd.DataFrame(ROWS, columns=[f"f{at}" for at in range(12)])
    found = fs.explain(module, frame, frame.head(10), rows=range(3), budget=80)
    weights = module.weight.detach().numpy()[0]
    expected = (ROWS[:3] - ROWS[:10].mean(axis=0)) * weights
    assert_allclose(found.values, expected, atol=1e-4)
    assert found.player_names[0] == "f0"
    with pytest.raises(fs.InputError, match="holds no numbers"):
        fs.explain(module, frame.assign(f0="text"))


# --- trouble ------------------------------------------------------------------------------------


def test_answers_that_change_are_noticed():
    state = {"calls": 0}

    def drifting(rows):
        state["calls"] += 1
        return curved(rows) + (state["calls"] > 6)

    with pytest.raises(fs.errors.GameError, match="differently at the end"):
        fs.explain(drifting, ROWS, 8, rows=range(4), budget=200, seed=0)


def test_nan_names_row_and_coalition():
    def broken(rows):
        return np.where((rows[:, 0] == ROWS[1, 0]) & (rows[:, 1] != ROWS[1, 1]), np.nan, 1.0)

    with pytest.raises(
        fs.errors.GameError, match="an infinite number for row 1 where coalition"
    ) as caught:
        fs.explain(broken, ROWS, ROWS[2:6], rows=range(2), budget=200, seed=0)
    assert 0 in caught.value.coalition
    assert 1 not in caught.value.coalition


def test_wrong_shapes_are_named():
    with pytest.raises(fs.InputError, match="return one number for each row"):
        fs.explain(lambda rows: rows[:3, 0], ROWS)
    with pytest.raises(fs.InputError, match=r"columns 0, 1, .* and X has 0, 1"):
        fs.explain(curved, ROWS, ROWS[:, :5])


# --- texts ---------------------------------------------------------------------------


def test_words_of_a_linear_model_have_their_closed_form():
    """The decision function of a bag of words is a sum over words."""
    texts = ["a good film", "a bad film bad", "good good", "not bad"]
    model = make_pipeline(CountVectorizer(analyzer=str.split), LogisticRegression()).fit(
        texts, [1, 0, 1, 1]
    )
    words, weights = model[0].vocabulary_, model[1].coef_[0]
    long = " ".join(["a good bad film not"] * 3)
    found = fs.explain(model.decision_function, [*texts, long], seed=0)
    for place, text in enumerate([*texts, long]):
        pieces = text.split()
        expected = [weights[words[piece]] for piece in pieces]
        assert_allclose(found.values[place, : len(pieces)], expected, atol=1e-5)
        assert np.isnan(found.values[place, len(pieces) :]).all()
    assert found.data[1].tolist()[:4] == ["a", "bad", "film", "bad"]
    assert "good +" in str(found)


def test_sentences_and_masks_of_texts():
    seen = []

    def predict(texts):
        seen.extend(texts)
        return [text.count("good") for text in texts]

    found = fs.explain(predict, ["It is good. Very good! Bad?"], "[MASK]", groups="sentences")
    assert_allclose(found.values, [[1, 1, 0]])
    assert "[MASK] [MASK] [MASK]" in seen
    with pytest.raises(fs.InputError, match="text 0 has no words"):
        fs.explain(predict, ["..."])


# --- kinds of absence ---------------------------------------------------------------------------


def test_the_mean_row_stands_in():
    found = fs.explain(curved, ROWS, 20, kind="mean", rows=range(2), budget=1 << 12)
    background = FeatureGame(curved, ROWS, background=20).background
    one = FeatureGame(curved, ROWS, background=background.mean(axis=0)[None])
    assert_allclose(found.values, fs.explain(one, range(2), budget=1 << 12).values)


def test_absence_of_ones_own():
    found = fs.explain(
        curved, ROWS[:, :12], kind=lambda rows, masks: np.where(masks, rows, 0.0), rows=[0, 1],
        budget=1 << 12,
    )  # fmt: skip
    zero = FeatureGame(curved, ROWS, background=np.zeros((1, 12)))
    assert_allclose(found.values, fs.explain(zero, [0, 1], budget=1 << 12).values)
