"""Classes that are equally likely: the lower one wins, however the scores were rounded."""

# ruff: noqa: N806

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from tests import portable

from fairshapley.games.learners import batch_learner

MODELS = {
    "logistic": LogisticRegression(),
    "liblinear": LogisticRegression(solver="liblinear"),
    "ridge": RidgeClassifier(),
    "bayes": GaussianNB(),
    "votes": KNeighborsClassifier(6),
}


def mirrored(n_classes, seed, *, turned):
    """Rows of two classes that are each other's mirror images, and test rows in the mirror.

    A third class lies in the mirror, far away. A turn of all rows rounds them, and so the scores.
    """
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(20, 4)) + np.eye(4)[0]
    mirror = np.array([-1.0, 1.0, 1.0, 1.0])
    far = rng.normal(size=(5, 4)) * [0.5, 0.2, 0.2, 0.2] + 9.0 * np.eye(4)[1]
    both = [half, half * mirror] + [far, far * mirror] * (n_classes == 3)
    X = np.vstack(both) * 10.0 ** rng.integers(-3, 4)
    X_test = rng.normal(size=(30, 4)) * [0.0, 1.0, 1.0, 1.0] * np.abs(X).mean()
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0] if turned else np.eye(4)
    y = np.repeat([0, 1, 2], [20, 20, 10])[: len(X)]
    # Sets of pairs of mirror images.
    pairs = rng.random((40, 20)) < 0.5
    pairs[:, :3] = True
    thirds = np.ones((40, len(X) - 40), dtype=bool)
    return X @ turn, y, X_test @ turn, np.hstack([pairs, pairs, thirds])


# liblinear fits two classes only.
CASES = [(name, 2) for name in MODELS] + [(name, 3) for name in MODELS if name != "liblinear"]


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_ties_go_to_the_lower_class(name, n_classes):
    for seed in range(4):
        # Naive Bayes looks at one feature at a time: turned, the classes are no mirror images.
        X, y, X_test, sets = mirrored(n_classes, seed, turned=name != "bayes")
        labels = batch_learner(MODELS[name], X, y, X_test).predict(sets, "label")
        assert (labels == 0).any()
        assert not (labels == 1).any()


@pytest.mark.parametrize("name", [name for name in MODELS if "votes" not in name])
def test_a_difference_beyond_rounding_is_no_tie(name):
    X, y, X_test, sets = mirrored(2, 0, turned=False)
    X_test[:, 0] = -1e-9 * np.abs(X).mean()
    labels = batch_learner(MODELS[name], X, y, X_test).predict(sets, "label")
    assert (labels == 1).all()


def test_the_same_with_fewer_vector_instructions():
    if not portable.restricted():
        pytest.skip("this processor has no instructions that numpy could do without")
    here = Path(__file__)
    files = [str(here), str(here.with_name("test_by_hand.py"))]
    assert portable.run_tests(*files, "-q", "-p", "no:cacheprovider", "-k", "not fewer") == 0
