"""Small forms of the studies: the directions of what holds, and of what does not."""

import math
import re

import pytest

from tests.paper.small import tiny

GREEDY = ("gae-0", "gae-5")
OTHERS = ("mc", "owen", "kernel")


@pytest.fixture(scope="module")
def symmetry(tmp_path_factory):
    methods = [*GREEDY, *OTHERS, "adjusted"]
    return tiny("symmetry", tmp_path_factory.mktemp("paper"), methods, "gaussian")


def test_gae_reports_a_minimum_fidelity_several_times_as_high(symmetry):
    def said(method):
        return symmetry.value("gaussian", method, "min_fidelity")

    assert min(map(said, GREEDY)) > 3 * max(map(said, OTHERS))


def test_but_the_audited_one_is_far_below(symmetry):
    for method in GREEDY:
        said = symmetry.value("gaussian", method, "min_fidelity")
        true = symmetry.value("gaussian", method, "true_min_fidelity")
        assert true < said / 3


def test_at_equal_evaluations_adjusted_wins(symmetry):
    methods = (*GREEDY, *OTHERS)
    error = symmetry.value("gaussian", "adjusted", "mse", "honest")
    assert error < min(symmetry.value("gaussian", method, "mse", "honest") for method in methods)
    score = symmetry.value("gaussian", "adjusted", "true_min_fidelity", "honest")
    assert score > max(
        symmetry.value("gaussian", method, "true_min_fidelity", "honest") for method in methods
    )


def test_fidelity_tells_of_accuracy(tmp_path):
    scenario = "breast_cancer-logistic"
    report = tiny("fig:ri_mape", tmp_path, ["mc", "mc-walks"], scenario, trials=8)
    assert report.value(scenario, "mc", "spearman") > 0.15
    first = report.value(scenario, "mc", "ranked_accuracy", x=0.0)
    assert first < report.value(scenario, "mc", "ranked_accuracy", x=9.0)
    bands = [one.error for one in report.numbers if one.measure == "ranked_fidelity"]
    assert min(bands) > 0
    assert report.folder / "figure_1.png" in report.paths
    # A number of all trials together has an error, from drawing the trials again.
    audited = [
        one
        for one in report.numbers
        if one.measure.startswith("true_min_fidelity") and one.accounting == "paper"
    ]
    assert len(audited) == 2 * 2
    assert all(0 < one.error < math.inf for one in audited)


def test_noisy_labels_and_moving_points_run(tmp_path):
    noisy = tiny("noisy-labels", tmp_path, ["mc", "kernel"], "gaussian-beta")
    assert 0 <= noisy.value("gaussian-beta", "mc", "f1") <= 1
    # There is no kernel estimator of Beta Shapley values.
    assert math.isnan(noisy.value("gaussian-beta", "kernel", "f1"))
    moved = tiny("add-remove", tmp_path, ["mc-walks"], "gaussian")
    good = moved.value("gaussian", "mc-walks", "add_high_area")
    assert good > moved.value("gaussian", "mc-walks", "add_low_area")
    # The report says what the true values themselves have: an estimate above that is lucky.
    true = re.search(
        r"they have: .*add high first ([\d.]+), .*add low first ([\d.]+)", moved.notes[-1]
    )
    assert true is not None
    assert float(true[1]) > float(true[2])


def test_nullity(tmp_path):
    report = tiny("nullity", tmp_path, ["mc", "gae-5"])
    greedy = report.value("breast_cancer-svc", "gae-5", "nl_nsw")
    assert greedy < report.value("breast_cancer-svc", "mc", "nl_nsw")
