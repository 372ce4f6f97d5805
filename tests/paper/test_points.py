"""The games of data points: the same utilities as scikit-learn's, rows where they belong."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from fairshapley.games import DataGame
from fairshapley_paper.experiment import Setup
from fairshapley_paper.scenarios import support_vectors
from fairshapley_paper.scenarios.support_vectors import SVCGame, svc_game
from fairshapley_paper.scenarios.training_points import build_points, draw_rows, make_game
from tests.data_folder import needs

TINY = Setup("tiny", 0)


def masks_of(n_players, count=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((count, n_players)) < rng.random((count, 1))


@pytest.mark.parametrize("name", ["breast_cancer", "gaussian"])
def test_support_vectors_agree_with_scikit_learn(name):
    rows = draw_rows(name, 40, seed=1)
    fast = SVCGame(rows.train, rows.validation, rows.base)
    plain = DataGame(SVC(C=1.0), rows.train, rows.validation, base=rows.base)
    masks = masks_of(40)
    masks[0], masks[1] = False, True
    np.testing.assert_allclose(fast(masks), plain(masks), atol=1e-12)
    assert fast(masks[:0]).shape == (0,)


def test_scikit_learn_stands_in_where_the_solver_has_changed(monkeypatch):
    rows = draw_rows("gaussian", 10, seed=1)
    assert isinstance(svc_game(rows.train, rows.validation, rows.base), SVCGame)

    def refuse(*_arguments, **_options):
        raise TypeError("another signature")

    monkeypatch.setattr(support_vectors._libsvm, "fit", refuse)
    assert isinstance(svc_game(rows.train, rows.validation, rows.base), DataGame)


@needs("mnist")
def test_fewer_columns_give_the_same_predictions():
    rows = draw_rows("mnist", 20, seed=0)
    small = make_game("logistic", rows.train, rows.base, rows.validation)
    model = LogisticRegression(C=0.05, solver="liblinear", tol=1e-8)
    plain = DataGame(model, rows.train, rows.validation, base=rows.base, vectorised=False)
    masks = masks_of(20)
    # liblinear stops a little before the optimum, which may turn one of 100 validation rows.
    assert np.abs(small(masks) - plain(masks)).max() <= 0.02


def test_no_row_is_in_two_parts():
    rows = draw_rows("gaussian", 50, seed=2)
    parts = [rows.train[0], rows.validation[0], rows.base[0], rows.held_out[0]]
    seen = [{row.tobytes() for row in part} for part in parts]
    assert sum(map(len, seen)) == len(set.union(*seen))
    reference = np.concatenate([rows.base[0], rows.train[0]])
    np.testing.assert_allclose(reference.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(reference.std(axis=0), 1)
    assert sorted(rows.base[1]) == [0, 1]
    assert len(rows.validation[1]) == 100


def test_duplicated_points_are_identical():
    played = build_points(
        TINY, dataset="gaussian", learner="logistic", rows={"tiny": 6}, duplicated=True
    )
    pairs = played.facts["pairs"]
    assert [tuple(pair) for pair in pairs] == [(i, i + 6) for i in range(6)]
    one, other = np.eye(12, dtype=bool)[pairs[2]]
    assert played.game(one[None]) == played.game(other[None])


def test_a_tenth_of_the_labels_is_flipped():
    clean = build_points(TINY, dataset="gaussian", learner="svc", rows={"tiny": 20})
    noisy = build_points(TINY, dataset="gaussian", learner="svc", rows={"tiny": 20}, flipped=0.1)
    assert len(noisy.facts["noisy"]) == 2
    masks = masks_of(20)
    assert not np.array_equal(clean.game(masks), noisy.game(masks))
