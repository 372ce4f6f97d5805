import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import fairshapley as fs
from fairshapley.estimators import METHODS
from fairshapley.randomness import root_seed, round_generator, side_generator


def test_rounds_have_streams_of_their_own():
    draws = {round_generator(3, index).random() for index in range(100)}
    draws |= {round_generator(4, index).random() for index in range(100)}
    draws |= {side_generator(3, purpose).random() for purpose in ("verify", "other")}
    assert len(draws) == 202


def test_fresh_seeds_differ():
    assert root_seed(None) != root_seed(None)


@pytest.mark.parametrize("seed", [-1, 1.5, "7"])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(fs.InputError, match="seed"):
        root_seed(seed)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_seed_gives_the_same_bits_whatever_the_threads_of_blas(method):
    # A journal must continue on a machine with other cores: one last bit may change a plan.
    n_players = 14 if method == "exact" else 120
    game = fs.games.SumOfUnanimity(n_players, n_terms=200, seed=0)
    runs = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            runs.append(fs.estimate(game, method, budget=1 << 14, seed=0))
    np.testing.assert_array_equal(*(run.values for run in runs))
    np.testing.assert_array_equal(*(run.standard_errors for run in runs))
