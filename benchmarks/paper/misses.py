"""Hypotheses on diabetes in the table of ξ, tested: ``python -m benchmarks.paper.misses``.

Whole permutations, as in the authors' program: 50 a trial, 20 trials, the truth from 500 of each. A
target divided by c divides every value by c², with whatever is added to them left as it is.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from fairshapley._basics.types import FloatArray
from fairshapley.draws import Walks, random_ranks
from fairshapley.games.game import Game
from fairshapley_paper.measures import APE_OFFSET, XIS
from fairshapley_paper.scenarios.training_points import draw_rows, make_game

TRIALS, PERMUTATIONS, LONG, PLAYERS = 20, 50, 500, 50
CASES = {"rows of seed 2022": (2, 2), "C₀ of one row": (0, 1), "rows of seed 2020": (0, 2)}
"""The shift of the seed from 2020, and the rows of C₀"""
DIVISORS = {"its unit": 1.0, "its standard deviation": 77.0, "its maximum": 346.0}


def marginals(game: Game, rng: np.random.Generator) -> FloatArray:
    """One row for each permutation, one column for each player."""
    ends = game(np.array([[False] * PLAYERS, [True] * PLAYERS]))
    found = []
    for _ in range(LONG // PERMUTATIONS):
        walks = Walks(random_ranks(rng, PERMUTATIONS, PLAYERS))
        values = game(walks.masks(0, len(walks)))
        by_place = walks.marginal_contributions(values, float(ends[0]), float(ends[1]))
        found.append(np.take_along_axis(by_place, walks.ranks.astype(int), axis=1))
    return np.concatenate(found)


def coefficient(sample: FloatArray, truth: FloatArray, xi: float) -> float:
    """The rank correlation of f, with the true values in it, and the accuracy."""
    errors = np.abs(sample.mean(axis=0) - truth) + APE_OFFSET
    accuracy = np.abs(errors / (truth + APE_OFFSET)) ** -0.5
    scores = (np.abs(truth) + xi) ** 2 / (sample.var(axis=0, ddof=1) + APE_OFFSET)
    return float(spearmanr(scores, accuracy).statistic)


def main() -> None:
    for case, (shift, base) in CASES.items():
        rows = draw_rows("diabetes", PLAYERS, shift, base)
        game = make_game("ridge", rows.train, rows.base, rows.validation)
        rng = np.random.default_rng(1)
        trials = [marginals(game, rng) for _ in range(TRIALS)]
        truth = np.mean([trial.mean(axis=0) for trial in trials], axis=0)
        for unit, divisor in DIVISORS.items():
            said = []
            for xi in XIS:
                found = [
                    coefficient(one[:PERMUTATIONS] / divisor**2, truth / divisor**2, xi)
                    for one in trials
                ]
                said.append(f"{np.mean(found):.2f}")
            error = np.std(found, ddof=1) / np.sqrt(TRIALS)
            print(f"{case}, target in {unit}: {', '.join(said)} (± {error:.2f})")


if __name__ == "__main__":
    main()
