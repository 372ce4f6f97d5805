"""The scoreboard of bad rows: what is harmed, and how methods are scored."""

import numpy as np
import pytest
from benchmarks.bad_rows import audit, calibration, data, runner
from sklearn.datasets import load_wine


@pytest.fixture
def tumours(tmp_path):
    def made(harm, seed=0):
        return data.case("breast_cancer", harm, seed, (300, 30, 150), tmp_path)

    return made


def test_labels_become_other_ones(tumours, tmp_path):
    clean, harmed = tumours("labels 0 %"), tumours("labels 20 %")
    assert clean.harmed.sum() == 0
    assert harmed.harmed.sum() == 60
    rows, truths = data.load("breast_cancer", tmp_path)
    known = {row.tobytes(): truth for row, truth in zip(rows, truths, strict=True)}
    wrong = [known[row.tobytes()] != label for row, label in zip(*harmed.train, strict=True)]
    assert wrong == harmed.harmed.tolist()
    assert all(known[row.tobytes()] == label for row, label in zip(*harmed.test, strict=True))


def test_features_get_noise(tumours, tmp_path):
    harmed = tumours("features 20 %")
    known = {row.tobytes() for row in data.load("breast_cancer", tmp_path)[0]}
    assert [row.tobytes() not in known for row in harmed.train[0]] == harmed.harmed.tolist()


def test_scores_of_perfect_and_of_no_values(tumours):
    one = tumours("labels 20 %")
    perfect = runner.scores(one, 1.0 - one.harmed)
    assert perfect["f1"] == perfect["auc"] == perfect["precision"] == 1
    assert perfect["without_20"] >= perfect["without_0"]
    assert runner.scores(one, one.harmed.astype(float))["auc"] == 0
    assert runner.scores(one, np.zeros(300))["auc"] == 0.5


@pytest.mark.parametrize("kind", calibration.KINDS)
def test_planted_mistakes_are_of_their_kind(kind):
    labels = np.tile([0, 1, 2, 2], 500)
    planted, hit = calibration.plant(labels, kind, np.random.default_rng(0))
    assert ((planted != labels) == hit).all()
    if kind.startswith("class"):
        assert (labels[hit] == 2).all()
    if kind.startswith("pair"):
        assert (planted[hit] == (labels[hit] + 1) % 3).all()


@pytest.mark.parametrize("kind", audit.KINDS)
def test_no_range_of_a_small_table_is_a_false_all_clear(kind):
    line = audit.judge(load_wine(return_X_y=True), kind, 0)
    assert line["held"] == "1"
    assert line["false_all_clear"] == "0"
    if kind in ("hard rows", "none"):
        assert float(line["wrong"]) == 0
        assert int(line["flagged"]) <= 3
    else:
        assert int(line["flagged_wrong"]) > 0
    assert line["sources"] == ("source=s3" if kind.startswith("source") else "")
