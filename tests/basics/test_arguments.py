from operator import attrgetter

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fairshapley as fs
from fairshapley._basics.arguments import PEERS, PLACES
from fairshapley.errors import InputError
from fairshapley.tables import table_game

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
        (lambda: fs.estimate(GAME, npermutations=10), "use budget=1000, counted in evaluations"),
        (lambda: fs.estimate(GAME, max_evals=10), "use budget=1000"),
        (lambda: fs.estimate(GAME, data=ROWS), "use the game as the first argument"),
        (
            lambda: fs.compare(GAME, ["mc"], n_samples=10),
            "compare has no argument n_samples: use b",
        ),
        (lambda: fs.audit(GAME, "mc", n_jobs=2), "use engine='processes', or 'processes:4' of fs."),
        (lambda: fs.forecast(GAME, max_time=60), "use budget=fs.Budget(seconds=60)"),
        (lambda: fs.resume("j.db", timeout=1), "use budget=fs.Budget(seconds=60)"),
        (
            lambda: fs.games.DataGame(LogisticRegression(), data=ROWS, test=ROWS),
            "DataGame has no argument data: use train=(X, y)",
        ),
        (lambda: fs.games.DataGame(LogisticRegression(), ROWS, ROWS, random_state=1), "use seeds="),
        (lambda: fs.games.FeatureGame(len, data=ROWS[0]), "use X, the rows as a matrix"),
        (lambda: fs.games.KNNUtilityGame(*ROWS, *ROWS, n_neighbors=1), "use k=5"),
        (lambda: fs.games.FeatureGame(sum, ROWS[0], rng=0), "use seed=0"),
        (lambda: fs.games.split_base(*ROWS, random_state=0), "use seed=0"),
    ],
)
def test_names_of_other_packages_are_answered_with_ours(call, words):
    with pytest.raises(InputError, match="has no argument") as refused:
        call()
    assert words in str(refused.value)


def test_every_answer_is_a_parameter_that_there_is():
    import inspect

    there = {
        place: {*inspect.signature(attrgetter(place.partition(".")[2])(fs)).parameters}
        for place in {*PLACES.values(), "fs.estimate"}
    }
    for forms in PEERS.values():
        first, *others = forms
        assert first in there[PLACES.get(first, "fs.estimate")]
        assert all(any(other in names for names in there.values()) for other in others)
