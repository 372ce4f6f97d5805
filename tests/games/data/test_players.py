"""Who the players of a data game are, who is identical, and what tells two games apart."""

# ruff: noqa: N803, N806 - features are X, as in scikit-learn

import pickle

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import get_scorer
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import (
    KNeighborsClassifier,
)
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

import fairshapley as fs
from fairshapley.games.data import DataGame
from tests.games.data_samples import IRIS, all_coalitions, coalitions_of


def test_groups_are_players_in_sorted_order():
    (X, y), test = IRIS
    labels = np.array(["north", "east", "south"])[np.arange(24) % 3]
    game = DataGame(LogisticRegression(), (X, y), test, groups=labels)
    assert game.n_players == 3
    assert game.player_names == ("east", "north", "south")
    points = DataGame(LogisticRegression(), (X, y), test)
    rows = all_coalitions(3)
    expected = points(rows[:, np.array([1, 0, 2])[np.arange(24) % 3]])
    np.testing.assert_array_equal(game(rows), expected)
    parts = {name: (X[labels == name], y[labels == name]) for name in ("north", "east", "south")}
    sets = DataGame(LogisticRegression(), parts, test)
    assert sets.player_names == ("north", "east", "south")
    np.testing.assert_array_equal(sets(rows[:, [1, 0, 2]]), game(rows))


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5),
        SGDClassifier(max_iter=5),
        MLPClassifier((3,), max_iter=5),
        LogisticRegression(),
    ],
)
def test_rows_with_the_same_content_are_identical_players(model):
    """Also for models that look at the order of the rows, to the bit."""
    (X, y), test = IRIS
    X, y = np.concatenate([X[:8], X[2:4]]), np.concatenate([y[:8], y[2:4]])
    game = DataGame(model, (X, y), test, vectorised=False)
    assert game.identical_players == ((2, 8), (3, 9))
    rows = coalitions_of(10, 6)
    rows[:, 2], rows[:, 8] = True, False
    swapped = rows.copy()
    swapped[:, 2], swapped[:, 8] = False, True
    np.testing.assert_array_equal(game(rows), game(swapped))


@pytest.mark.parametrize("vectorised", [True, False])
def test_equally_near_rows_do_not_part_identical_players(vectorised):
    """Rows 0 and 2 are equal, and row 1 between them is as near to the test row."""
    train, test = ([[0.0], [2.0], [0.0]], ["a", "b", "a"]), ([[1.0]], ["a"])
    game = DataGame(KNeighborsClassifier(1), train, test, vectorised=vectorised)
    assert game.identical_players == ((0, 2),)
    np.testing.assert_array_equal(game(np.array([[True, True, False], [False, True, True]])), 1.0)
    # So too when the equal row is always there, behind all players.
    base = ([[0.0]], ["a"])
    always = DataGame(KNeighborsClassifier(1), train, test, base=base, vectorised=vectorised)
    np.testing.assert_array_equal(always(all_coalitions(3)), 1.0)


def test_groups_with_the_same_rows_are_identical():
    X, y = [[1.0], [2.0], [2.0], [1.0], [5.0]], [0, 1, 1, 0, 1]
    test = ([[1.0], [2.0]], [0, 1])
    game = DataGame(GaussianNB(), (X, y), test, groups=["p", "p", "q", "q", "r"])
    assert game.identical_players == ((0, 1),)
    different = DataGame(GaussianNB(), (X, [0, 1, 1, 1, 1]), test, groups=list("ppqqr"))
    assert different.identical_players == ()
    many = DataGame(GaussianNB(), (np.zeros((700, 1)), np.arange(700) % 2), test)
    assert many.identical_players[:2] == ((0, 2), (2, 4)), "neighbours, where pairs are too many"
    assert len(many.identical_players) == 698


@pytest.mark.parametrize("vectorised", [None, False])
def test_fingerprints_are_of_content_and_survive_pickling(vectorised):
    (X, y), test = IRIS

    def make(model=None, X=X, **options):
        model = LogisticRegression() if model is None else model
        return DataGame(model, (X, y), test, vectorised=vectorised, **options)

    game = make()
    own = fs.games.fingerprint(game)
    rows = coalitions_of(24, 5)
    values = game(rows)
    assert fs.games.fingerprint(game) == own, "the same after use"
    copied = pickle.loads(pickle.dumps(game))  # noqa: S301
    assert fs.games.fingerprint(copied) == own
    np.testing.assert_array_equal(copied(rows), values)
    assert fs.games.fingerprint(make()) == own
    names = [f"plant {i}" for i in range(24)]
    assert fs.games.fingerprint(make(player_names=names)) == own
    assert fs.games.fingerprint(make(LogisticRegression(random_state=0))) == own
    assert fs.games.fingerprint(make(make_pipeline(RandomForestClassifier(n_jobs=2)))) == (
        fs.games.fingerprint(make(make_pipeline(RandomForestClassifier())))
    )
    assert fs.games.fingerprint(make(metric="auc")) == fs.games.fingerprint(make(metric="roc_auc"))
    changed = X.copy()
    changed[0, 0] += 1e-9
    others = [
        make(X=changed),
        make(LogisticRegression(C=2.0)),
        make(metric="f1"),
        make(base=(X, y)),
        make(empty_value=0.0),
        make(groups=np.arange(24) % 5),
        make(metric=get_scorer("accuracy"), empty_value=0.0) if vectorised is False else game,
    ]
    prints = {fs.games.fingerprint(other) for other in others}
    assert len(prints - {own}) == 6 + (vectorised is False)


def test_data_are_copied():
    (X, y), test = IRIS
    mine = X.copy()
    game = DataGame(GaussianNB(), (mine, y), test, "log_likelihood")
    rows = coalitions_of(24, 5)
    before = game(rows)
    mine[:] = 0.0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(game))(rows), before)  # noqa: S301
