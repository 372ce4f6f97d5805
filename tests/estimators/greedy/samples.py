"""What the tests of greedy active estimation share."""

import numpy as np

import fairshapley as fs
from fairshapley.estimators.estimator import Problem

XI = 0.01


def problem(game, semivalue=None):
    ends = game(np.array([[False] * game.n_players, [True] * game.n_players]))
    return Problem(game.n_players, semivalue or fs.Shapley(), *ends.tolist(), XI)


def rounds(method, game, count, *, seed=0, spoil=None):
    """Play rounds without the run loop; the state, and what was asked and told."""
    state, rng, log = method.start(problem(game)), np.random.default_rng(seed), []
    for _ in range(count):
        draw = method.ask(state, rng)
        values = game(draw.masks(0, len(draw)))
        if spoil is not None:
            spoil(values)
        method.tell(state, draw, values)
        log.append((draw, values))
    return state, log
