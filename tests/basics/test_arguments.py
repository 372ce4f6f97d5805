import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fairshapley as fs
from fairshapley._basics.arguments import PEERS
from fairshapley.errors import InputError
from fairshapley.tabular import table_game

GAME = fs.games.Airport([1.0, 2.0])
ROWS = (np.array([[0.0], [1.0]]), np.array([0, 1]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fs.estimate(GAME, random_state=1), "estimate has no argument random_state: use s"),
        (lambda: fs.estimate(GAME, n_jobs=2), "use engine='processes', or 'processes:4'"),
        (lambda: fs.estimate(GAME, scoring="f1"), "use metric='accuracy' of fs.games.DataGame"),
        (lambda: fs.exact(GAME, random_state=1), "use seed=0 of fs.estimate"),
        (lambda: fs.estimate(GAME, budgets=100), "did you mean 'budget'?"),
        (lambda: fs.explain(GAME, nsamples=100), "use budget=1000"),
        (lambda: fs.leave_one_out(GAME, n_jobs=2), "use engine="),
        (lambda: fs.knn_shapley(*ROWS, *ROWS, n_neighbors=1), "use k=5"),
        (
            lambda: fs.games.DataGame(LogisticRegression(), ROWS, ROWS, scoring="f1"),
            "DataGame has no argument scoring: use metric='accuracy'",
        ),
        (lambda: fs.games.FeatureGame(len, ROWS[0], random_state=0), "use seed="),
        (lambda: table_game(None, "y", scoring="f1"), "use metric='accuracy'"),
        (lambda: fs.estimate(GAME, zzz=1), "it takes budget, engine"),
    ],
)
def test_names_of_other_packages_are_answered_with_ours(call, words):
    with pytest.raises(InputError, match="has no argument") as refused:
        call()
    assert words in str(refused.value)


def test_every_answer_is_a_parameter_that_there_is():
    import inspect

    known = {
        *inspect.signature(fs.estimate).parameters,
        *inspect.signature(fs.games.DataGame).parameters,
        *inspect.signature(fs.knn_shapley).parameters,
    }
    assert {own for own, _ in PEERS.values()} <= known
