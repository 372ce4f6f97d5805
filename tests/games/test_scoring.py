"""Batched metrics against scikit-learn's own, on numpy and on torch."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, f1_score, log_loss, mean_squared_error, r2_score
from sklearn.metrics import roc_auc_score as auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from fairshapley.errors import InputError
from fairshapley.games.data.metric_choice import make_metric
from fairshapley.games.data.scoring import AUC, F1, METRICS, R2, Accuracy, LogLikelihood, NegMSE

# scikit-learn's metrics take a millisecond each.
FEW = settings(max_examples=8)
OVR = {True: {}, False: {"multi_class": "ovr"}}
SHAPES = st.tuples(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(6, 70))


def draw(seed, n_classes, n_test, n_models=4):
    """Targets with every class, and labels, probabilities with many ties, and numbers."""
    rng = np.random.default_rng(seed)
    targets = rng.permutation(np.arange(n_test) % n_classes)
    labels = rng.integers(0, n_classes, (n_models, n_test))
    weights = rng.integers(1, 5, (n_models, n_test, n_classes)).astype(float)
    return targets, labels, weights / weights.sum(axis=2, keepdims=True)


def constant(metric, *frequencies, **mean):
    """The score of the same prediction for every test row."""
    return metric.score(metric.same_for_all(*frequencies, **mean))[0]


def best(metric):
    """The best score that one and the same prediction for every test row can have."""
    return metric.score(metric.best_prediction())[0]


def both(metric, predictions):
    """The scores on numpy, which torch must share."""
    scores = metric.score(predictions)
    on_torch = metric.score(torch.asarray(predictions))
    assert scores.dtype == on_torch.dtype == np.float64
    np.testing.assert_allclose(on_torch, scores, rtol=1e-14)
    return scores


@given(SHAPES)
@FEW
def test_labels_are_scored_as_by_scikit_learn(shape):
    n_classes = shape[1]
    targets, labels, _ = draw(*shape)
    accuracies = both(Accuracy(targets, n_classes, "label"), labels)
    np.testing.assert_array_equal(accuracies, [accuracy_score(targets, row) for row in labels])
    average = "binary" if n_classes == 2 else "macro"
    expected = [
        f1_score(targets, row, average=average, labels=range(n_classes), zero_division=0)
        for row in labels
    ]
    np.testing.assert_allclose(both(F1(targets, n_classes, "label"), labels), expected, rtol=1e-13)


@given(SHAPES)
@FEW
def test_probabilities_are_scored_as_by_scikit_learn(shape):
    n_classes = shape[1]
    targets, _, probabilities = draw(*shape)
    scores = both(LogLikelihood(targets, n_classes, "probability"), probabilities)
    expected = [-log_loss(targets, one, labels=range(n_classes)) for one in probabilities]
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    areas = both(AUC(targets, n_classes, "probability"), probabilities)
    scored = probabilities[..., 1] if n_classes == 2 else probabilities
    # Rows whose probabilities are equal but for rounding are ties to us: make them equal.
    expected = [auc_score(targets, one.round(12), **OVR[n_classes == 2]) for one in scored]
    np.testing.assert_allclose(areas, expected, rtol=1e-12)


@given(SHAPES)
@FEW
def test_decisions_with_ties_have_the_area_of_scikit_learn(shape):
    seed, levels, n_test = shape
    targets = np.arange(n_test) % 2
    scores = np.random.default_rng(seed).integers(0, 3 * levels, (4, n_test)) / 3
    expected = [auc_score(targets, row) for row in scores]
    np.testing.assert_allclose(both(AUC(targets, 2, "decision"), scores), expected, rtol=1e-13)


@given(SHAPES)
@FEW
def test_numbers_are_scored_as_by_scikit_learn(shape):
    rng = np.random.default_rng(shape[0])
    targets, values = rng.normal(3, 2, shape[2]), rng.normal(3, 2, (4, shape[2]))
    expected = [-mean_squared_error(targets, row) for row in values]
    np.testing.assert_allclose(both(NegMSE(targets, 0, "value"), values), expected, rtol=1e-12)
    expected = [r2_score(targets, row) for row in values]
    np.testing.assert_allclose(both(R2(targets, 0, "value"), values), expected, rtol=1e-10)


@pytest.mark.parametrize("name", METRICS)
def test_a_score_does_not_depend_on_its_company_or_its_layout(name):
    targets, labels, probabilities = draw(1, 12, 57, n_models=9)
    metric = METRICS[name](targets, 12, "probability" if name in ("auc", "log_likelihood") else "")
    predictions = probabilities if metric.kind else labels
    alone = [metric.score(one[None])[0] for one in predictions]
    turned = np.asfortranarray(predictions)
    np.testing.assert_array_equal(metric.score(predictions), alone)
    np.testing.assert_array_equal(metric.score(turned), alone)
    assert metric.score(predictions[:0]).shape == (0,)


def test_f1_by_hand():
    """Class 1: 2 found of 3, and 1 too many; class 2 is neither there nor predicted."""
    truth, predicted = np.array([1, 1, 1, 0, 0]), np.array([[1, 1, 0, 1, 0]])
    assert F1(truth, 2, "label").score(predicted) == pytest.approx(2 * 2 / (4 + 1 + 1))
    # Class 0: 1 of 2 found, and 1 too many. The mean is over the classes of the test rows.
    assert F1(truth, 3, "label").score(predicted) == pytest.approx((2 / 3 + 2 / 4) / 2)
    # A class that no training row has is a third one, and never found.
    assert F1(np.append(truth, 2), 2, "label").score(np.append(predicted, 0)[None]) == (
        pytest.approx((2 / 5 + 2 / 3 + 0) / 3)
    )
    assert F1(np.zeros(3, dtype=int), 2, "label").score(np.zeros((1, 3))) == 0.0


def test_area_by_hand():
    """Of the 4 pairs two are in order, one is a tie."""
    metric = AUC(np.array([0, 1, 0, 1]), 2, "decision")
    assert metric.score(np.array([[1.0, 1.0, 2.0, 3.0]])) == (2 + 0.5) / 4
    assert np.isnan(metric.score(np.array([[1.0, np.nan, 2.0, 3.0]]))[0])
    half_known = np.full((1, 4, 2), 0.5)
    half_known[0, 2, 1] = np.nan
    assert np.isnan(AUC(np.array([0, 1, 0, 1]), 2, "probability").score(half_known)[0])


def test_saturated_probabilities_are_ties_and_smaller_ones_are_not():
    metric = AUC(np.array([0, 1]), 2, "probability")
    tiny, small = 1e-14, 1e-8
    saturated = [[tiny, 1.0 - tiny], [tiny / 2, 1.0]]
    ordered = [[small, 1.0 - small], [small / 2, 1.0 - small / 2]]
    np.testing.assert_array_equal(metric.score(np.array([saturated, ordered])), [0.5, 1.0])


@pytest.mark.parametrize("n_test", [15, 18, 64, 100])
def test_the_worst_log_likelihood_is_in_the_range(n_test):
    """The mean of 15 equal logarithms is a last bit below them."""
    metric = LogLikelihood(np.zeros(n_test, dtype=int), 2, "probability")
    worst, lowest = constant(metric, np.array([0.0, 1.0])), metric.value_range[0]
    assert lowest <= worst <= lowest * (1 - 1e-14)


def test_constant_predictions_and_the_best_of_them():
    classes = np.array([0, 1, 1, 2])
    assert best(Accuracy(classes, 3, "label")) == 0.5
    assert best(Accuracy(np.array([0, 1, 2, 2]), 2, "label")) == 0.25  # 2 is never said
    assert best(F1(classes, 3, "label")) == pytest.approx((4 / 6) / 3)
    assert best(F1(np.array([0, 0, 0, 1]), 2, "label")) == pytest.approx(2 / 5)
    assert best(AUC(classes, 3, "probability")) == 0.5
    entropy = 1.5 * np.log(2)
    assert best(LogLikelihood(classes, 3, "probability")) == pytest.approx(-entropy)
    shares = np.array([0.5, 0.25, 0.25])
    assert constant(Accuracy(classes, 3, "label"), shares) == 0.25
    assert constant(AUC(classes, 3, "probability"), shares) == 0.5
    assert constant(AUC(classes[:3], 2, "decision"), shares[:2]) == 0.5
    mean_log = (np.log(0.5) + 3 * np.log(0.25)) / 4
    assert constant(LogLikelihood(classes, 3, "probability"), shares) == pytest.approx(mean_log)
    numbers = np.array([1.0, 3.0])
    assert best(NegMSE(numbers, 0, "value")) == -1.0
    assert best(R2(numbers, 0, "value")) == 0.0
    assert constant(R2(numbers, 0, "value"), mean=2.0) == 0.0


@pytest.mark.parametrize(
    ("name", "model", "targets", "n_classes", "said"),
    [
        ("r2", LogisticRegression(), [0, 1], 2, "use 'accuracy', 'log_likelihood', 'f1', 'auc'"),
        ("accuracy", Ridge(), [0.0, 1.0], 0, "Ridge predicts numbers: use 'r2', 'rmse', 'mae'"),
        ("auc", GaussianNB(), [0, 1, 2], 2, "1 test rows have classes that no training row has"),
        ("log_likelihood", GaussianNB(), [0, 1, 2], 2, "always count as wrong"),
        ("r2", Ridge(), [2.0, 2.0], 0, "equal"),
    ],
)
def test_metrics_that_do_not_fit_say_so(name, model, targets, n_classes, said):
    with pytest.raises(InputError, match=said):
        make_metric(name, model, np.array(targets), n_classes)


def test_what_is_ranked():
    """As scikit-learn: a decision function where there is one; probabilities of several classes."""
    for model, n_classes, kind in [
        (LogisticRegression(), 2, "decision"),
        (LogisticRegression(), 3, "probability"),
        (GaussianNB(), 2, "probability"),
        (CalibratedClassifierCV(LinearSVC()), 2, "probability"),
        (LinearSVC(), 2, "decision"),
    ]:
        assert make_metric("auc", model, np.array([0, 1]), n_classes).kind == kind
