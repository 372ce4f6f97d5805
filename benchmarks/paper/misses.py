"""Hypotheses on misses, tested: ``python -m benchmarks.paper.misses``.

Diabetes in the table of ξ: whole permutations, as in the authors' program, 50 a trial, 20 trials,
the truth from 500 of each. A target divided by c divides every value by c², with whatever is added
to them left as it is.

Kernel in Table 2: in the authors' program a coalition S gives the players M(z·v(S) − E[z]·v(∅)) +
(v(N) − v(∅))/n, in the form here M(z·(v(S) − v(∅))) + the same. Both have the same mean; the first
has noise of the size of v(∅). Contributions are pooled with the marginals of a bootstrap.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

import fairshapley as fs
from fairshapley._basics.types import FloatArray
from fairshapley.draws import Walks, random_ranks
from fairshapley.games.game import Game
from fairshapley_paper.measures import APE_OFFSET, XIS
from fairshapley_paper.metrics import nullity_error
from fairshapley_paper.scenarios.training_points import draw_rows, make_game

KERNEL_TRIALS = 200
TRIALS, PERMUTATIONS, LONG, PLAYERS = 20, 50, 500, 50
CASES = {"rows of seed 2022": (2, 2), "C₀ of one row": (0, 1), "rows of seed 2020": (0, 2)}
"""The shift of the seed from 2020, and the rows of C₀"""
DIVISORS = {"its unit": 1.0, "its standard deviation": 77.0, "its maximum": 346.0}


def marginals(game: Game, rng: np.random.Generator) -> FloatArray:
    """Return one row for each permutation, one column for each player."""
    ends = game(np.array([[False] * PLAYERS, [True] * PLAYERS]))
    found = []
    for _ in range(LONG // PERMUTATIONS):
        walks = Walks(random_ranks(rng, PERMUTATIONS, PLAYERS))
        values = game(walks.masks(0, len(walks)))
        by_place = walks.marginal_contributions(values, float(ends[0]), float(ends[1]))
        found.append(np.take_along_axis(by_place, walks.ranks.astype(int), axis=1))
    return np.concatenate(found)


def coefficient(sample: FloatArray, truth: FloatArray, xi: float) -> float:
    """Return the rank correlation of f, with the true values in it, and the accuracy."""
    errors = np.abs(sample.mean(axis=0) - truth) + APE_OFFSET
    accuracy = np.abs(errors / (truth + APE_OFFSET)) ** -0.5
    scores = (np.abs(truth) + xi) ** 2 / (sample.var(axis=0, ddof=1) + APE_OFFSET)
    return float(spearmanr(scores, accuracy).statistic)


def kernel_errors() -> None:
    """ε_abs of KernelSHAP in Table 2: m/n coalitions, with v(∅) taken out or left in."""
    n, coalitions, permutations = 20, 240, 60
    rows = draw_rows("breast_cancer", n, 0)
    game = make_game("svc", rows.train, rows.base, rows.validation)
    truth = fs.estimate(game, fs.RegressionAdjusted(), budget=60_000, seed=0).values
    empty, whole = game(np.array([[False] * n, [True] * n])).tolist()
    sizes = np.arange(1, n)
    chances = 1 / (sizes * (n - sizes))
    chances /= chances.sum()
    off = float(chances @ (sizes * (sizes - 1))) / (n * (n - 1))
    inverse = np.linalg.inv(off + (0.5 - off) * np.eye(n))
    projected = inverse - inverse.sum(1)[:, None] * inverse.sum(0) / inverse.sum()
    found: dict[str, list[float]] = {"taken out": [], "left in": []}
    for seed in range(KERNEL_TRIALS):
        rng = np.random.default_rng(seed)
        walks = Walks(random_ranks(rng, permutations, n))
        by_place = walks.marginal_contributions(game(walks.masks(0, len(walks))), empty, whole)
        bootstrap = np.take_along_axis(by_place, walks.ranks.astype(int), axis=1).mean(axis=0)
        chosen = rng.choice(sizes, coalitions, p=chances)
        z = random_ranks(rng, coalitions, n) < chosen[:, None]
        values = game(z)[:, None]
        for form, parts in (("taken out", z * (values - empty)), ("left in", z * values)):
            centre = 0.5 * empty if form == "left in" else 0.0
            mean = (parts.mean(axis=0) - centre) @ projected + (whole - empty) / n
            pooled = permutations * bootstrap + coalitions * mean
            found[form].append(nullity_error(pooled / (permutations + coalitions), truth))
    for form, errors in found.items():
        spread = np.std(errors, ddof=1)
        print(
            f"Table 2, kernel, v(∅) {form}: ε_abs {np.mean(errors):.3f}, spread of one trial "
            f"{spread:.3f}, {np.mean(np.array(errors) >= 0.644):.1%} of trials at 0.644 or more"
        )


def main() -> None:
    kernel_errors()
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
