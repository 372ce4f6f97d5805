"""Coalitions that are computed without a look into the cache."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.draws import FreshCoalitions, ListedCoalitions
from fairshapley.evaluation.evaluator import Evaluator

N = 100


class Counting:
    n_players = N

    def __init__(self):
        self.asked = []

    def __call__(self, masks):
        self.asked.append(masks.copy())
        return masks @ np.arange(1.0, N + 1)


def coalitions(sizes, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(N) < size for size in sizes])


def test_only_rare_repeats_are_looked_up():
    """Of size 2 each coalition is computed once, of size 50 as often as a fresh draw has it."""
    masks = coalitions([2, 50, 2, 50, 98])
    masks = np.concatenate([masks, masks])
    game = Counting()
    with Evaluator(game, N) as evaluator:
        answers = evaluator.evaluate(FreshCoalitions.of(masks))
        np.testing.assert_array_equal(answers.values, masks @ np.arange(1.0, N + 1))
        np.testing.assert_array_equal(answers.sizes, masks.sum(axis=1))
        assert evaluator.tally.evaluations == evaluator.tally.computed == 7
        assert evaluator.tally.cache_hits == 3
        assert sum(len(one) for one in game.asked) == 7
        evaluator.evaluate(ListedCoalitions.of(masks))  # says nothing of its coalitions
        assert evaluator.tally.evaluations == 9


@pytest.mark.parametrize("method", ["mc", "adjusted", "kernel"])
def test_results_are_those_of_a_run_that_looks_everything_up(method, tmp_path):
    """Without a journal fewer are looked up than with one."""
    game = Counting()
    game.fingerprint = "counting"
    quick = fs.estimate(game, method, budget=1500, seed=0)
    slow = fs.estimate(game, method, budget=1500, seed=0, journal=tmp_path / "run.db")
    np.testing.assert_array_equal(quick.values, slow.values)
    assert quick.evaluations == slow.evaluations
    for name in ("computed", "cache_hits", "profile"):
        assert getattr(quick.run, name) == getattr(slow.run, name)


@pytest.mark.parametrize("bad", [np.nan, 1e200, ValueError])
def test_failures_are_named_and_skipped_as_ever(bad):
    class Broken(Counting):
        def __call__(self, masks):
            values = super().__call__(masks)
            wrong = masks[:, 7] & ~masks[:, 9] & (masks.sum(axis=1) == 50)
            if bad is ValueError and wrong.any():
                raise ValueError("no")
            return np.where(wrong, np.nan if bad is ValueError else bad, values)

    with pytest.raises(fs.errors.GameError) as caught:
        fs.estimate(Broken(), "adjusted", budget=1000, seed=0)
    assert 7 in caught.value.coalition
    assert 9 not in caught.value.coalition
    if bad is not ValueError:  # every batch would be halved many times
        run = fs.estimate(Broken(), "mc", budget=1000, seed=0, on_error="skip")
        assert run.run.skipped > 1
        assert np.isfinite(run.values).all()
