"""An estimator's state is sufficient statistics: it does not grow with what it was told."""

import pickle

import numpy as np
import pytest

from fairshapley.estimators import Problem
from fairshapley.randomness import round_generator
from fairshapley.semivalues import Shapley
from tests.laws.estimators import ESTIMATORS

N_PLAYERS = 12
# They keep what they were told, packed, and say so in their docstrings.
KEEP_SAMPLES = {"adjusted"}


def state_sizes(estimator, marks):
    """The size of the state when so many coalitions were told."""
    rng = np.random.default_rng(0)
    state = estimator.start(Problem(N_PLAYERS, Shapley(), 0.0, 1.0, 1e-3))
    told, sizes = 0, []
    for index in range(100_000):
        draw = estimator.ask(state, round_generator(1, index))
        estimator.tell(state, draw, rng.random(len(draw)))
        told += len(draw)
        if told >= marks[len(sizes)]:
            sizes.append(len(pickle.dumps(state)))
            if len(sizes) == len(marks):
                return sizes
    raise AssertionError("the rounds are too small")


@pytest.mark.parametrize(
    "estimator", [one for one in ESTIMATORS if one.name not in KEEP_SAMPLES], ids=str
)
def test_the_state_does_not_grow(estimator):
    early, late = state_sizes(estimator, (4_000, 40_000))
    # Ten times the samples; lists of epochs or group sizes may grow with their logarithm.
    assert late < 1.25 * early
