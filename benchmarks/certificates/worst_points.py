"""The worst 20 of 200 points with 10 % flipped labels: `Decided` against `Fair`.

`Fair` gets the tolerance that the same decision needs: within ε1·(|φ| + ξ) of the 20th and the 21st
lowest value, which may be confused up to ξ, so that ε1 = (gap + ξ)/(2·(|φ| + ξ)). ξ = mean |φ|. The
truth is a run of 40,000 evaluations with another seed.

``python -m benchmarks.certificates.worst_points`` writes WORST_POINTS.md
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import fairshapley as fs

PLAYERS, WORST, MOST, DELTA = 200, 20, 60_000, 0.1


def flipped(seed: int) -> fs.games.DataGame:
    """Points of two classes, a tenth of them with the wrong label."""
    X, y = make_classification(PLAYERS + 300, 10, n_informative=6, random_state=seed)  # noqa: N806
    wrong = np.random.default_rng(seed).choice(PLAYERS, PLAYERS // 10, replace=False)
    given = y[:PLAYERS].copy()
    given[wrong] = 1 - given[wrong]
    model = LogisticRegression(solver="liblinear", C=1.0)
    return fs.games.DataGame(model, (X[:PLAYERS], given), (X[PLAYERS:], y[PLAYERS:]), "accuracy")


def main() -> None:
    """Compare the two aims, and write the table."""
    lines = ["| points | seed | ε1 | Decided | wrong | Fair | ratio |", "|---" * 7 + "|"]
    for number in range(3):
        game = flipped(number)
        phi = fs.estimate(game, "adjusted", budget=40_000, seed=99, progress=False).values
        xi, rising = float(np.abs(phi).mean()), np.sort(phi)
        low, high = rising[WORST - 1 : WORST + 1]
        epsilon1 = (high - low + xi) / (2 * (max(abs(low), abs(high)) + xi))
        for seed in range(2):
            rules = fs.Decided(bottom=WORST, delta=DELTA), fs.Fair(epsilon1=epsilon1, delta=DELTA)
            one, other = (
                fs.estimate(
                    game, "adjusted", until=rule, budget=MOST, xi=xi, seed=seed, progress=False
                )
                for rule in rules
            )
            chosen = np.argsort(one.values, kind="stable")
            decided = one.stopped.startswith("decided")
            wrong = decided and phi[chosen[:WORST]].max() > phi[chosen[WORST:]].min() + xi
            certified = other.certificate(epsilon1, DELTA).holds
            cost = f"{other.evaluations:,}" if certified else f"> {other.evaluations:,}"
            lines.append(
                f"| {number} | {seed} | {epsilon1:.3f} | {one.evaluations:,}"
                f"{'' if decided else ', not decided'} | {'yes' if wrong else 'no'} | {cost} "
                f"| {'' if certified else '< '}{one.evaluations / other.evaluations:.2f} |"
            )
    text = f"# The worst 20 of 200 points\n\n{__doc__}\n" + "\n".join(lines) + "\n"
    Path(__file__).with_name("WORST_POINTS.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
