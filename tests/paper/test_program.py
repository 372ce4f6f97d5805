"""The forms of the authors' program: what they count, and which way they err."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.randomness import side_generator
from fairshapley_paper.program import FORMS, run_form

GAME = fs.games.SumOfUnanimity(8, seed=2)
BIASED = ("owen", "sobol", "stratified")


def outcomes(row, repeats=60, game=GAME, permutations=10, marginals=160):
    rng = side_generator(1, f"test of {row}")
    return [run_form(FORMS[row], game, permutations, marginals, 1e-3, rng) for _ in range(repeats)]


@pytest.mark.parametrize("row", FORMS)
def test_owen_sobol_and_stratified_are_biased_and_the_others_are_not(row):
    """z of the largest of 8 means over 60 runs: above 4.5 by chance once in 4000."""
    values = np.stack([outcome.values for outcome in outcomes(row)])
    errors = values.mean(axis=0) - GAME.shapley_values
    largest = np.abs(errors / (values.std(axis=0, ddof=1) / np.sqrt(60))).max()
    assert (largest > 8) if row in BIASED else (largest < 4.5)


def test_what_is_counted():
    assert {row: outcomes(row, 1)[0].marginals for row in FORMS} == {
        **dict.fromkeys(("mc", "owen", "sobol", "stratified"), 10 * 8 + 160),
        "kernel": 8 * (10 + 160),
        "kernel-nth": 8 * (10 + 20),
        **{f"gae-{alpha}": 8 * (10 + 160) for alpha in (0, 2, 5, 100)},
    }


def test_kernel_keeps_the_empty_coalition():
    """A constant changes no value, and adds its noise."""
    table = GAME(np.array([[place >> bit & 1 for bit in range(8)] for place in range(256)]) > 0)
    raised = fs.games.TableGame(table + 100.0)
    plain, noisy = (
        np.stack([outcome.values for outcome in outcomes("kernel", 20, game)]).std(axis=0).mean()
        for game in (GAME, raised)
    )
    assert noisy > 10 * plain
