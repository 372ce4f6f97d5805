"""Values of passages from few calls: ``python -m benchmarks.passages [--runs 10]``.

Five games of 15 passages, each with exact values; the root of the mean squared error at 60, 120 and
240 calls, and the share of runs that name the three best. The other ways are written here from
their descriptions: KernelSHAP (paired), ContextCite's LASSO on random sets, LeverageSHAP (paired,
without replacement, leverage scores as probabilities), and two samplers of llmSHAP. Its windows
slide over the passages, as wide as the calls allow; its counterfactuals take 16 calls at any
budget. Its random coalitions are not compared: they begin with 121 calls for prompts without one or
two passages.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import fairshapley as fs

Array = NDArray[np.float64]
Utility = Callable[[NDArray[np.bool_]], Array]
PLAYERS, BUDGETS, TOP = 15, (60, 120, 240), 3


def saturating(rng: np.random.Generator) -> Utility:
    """Evidence adds up to a certainty."""
    weights = rng.exponential(size=PLAYERS) * (rng.random(PLAYERS) < 0.6)
    return lambda masks: 1.0 - np.exp(-(masks @ weights))


def redundant(rng: np.random.Generator) -> Utility:
    """Each of five facts stands in some passages, and counts once."""
    facts, worth = rng.random((PLAYERS, 5)) < 0.3, rng.random(5)
    return lambda masks: ((masks.astype(int) @ facts) > 0) @ worth


def conjunction(rng: np.random.Generator) -> Utility:
    """Answers need two passages together."""
    pairs, worth = rng.integers(PLAYERS, size=(6, 2)), rng.random(6)
    return lambda masks: masks[:, pairs].all(axis=2) @ worth + 0.1 * masks[:, 0]


def distracted(rng: np.random.Generator) -> Utility:
    """Some passages mislead, the more the fewer others there are."""
    weights = rng.normal(size=PLAYERS)
    return lambda masks: 1.0 / (1.0 + np.exp(-(masks @ weights)))


def diluted(rng: np.random.Generator) -> Utility:
    """Return a long prompt weakens what each passage adds."""
    weights = rng.random(PLAYERS) * (rng.random(PLAYERS) < 0.5)
    return lambda masks: (masks @ weights) / (2.0 + masks.sum(axis=1)) ** 0.5


GAMES = {game.__name__: game for game in (saturating, redundant, conjunction, distracted, diluted)}


def ends(utility: Utility) -> tuple[float, float]:
    """Return v(∅) and v(N)."""
    both = np.repeat([[False], [True]], PLAYERS, axis=1)
    empty, full = utility(both).tolist()
    return empty, full


def constrained(masks: NDArray[np.bool_], values: Array, weights: Array, gap: float) -> Array:
    """Return the weighted least-squares fit whose coefficients add up to the gap."""
    roots = np.sqrt(weights)[:, None]
    rows = masks - masks[:, -1:].astype(float)
    target = values - gap * masks[:, -1]
    found = np.linalg.lstsq(roots * rows[:, :-1], roots[:, 0] * target, rcond=None)[0]
    return np.append(found, gap - found.sum())


def paired(sizes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a random coalition of each size, each followed by its complement."""
    half = rng.random((len(sizes), PLAYERS)).argsort(axis=1).argsort(axis=1) < sizes[:, None]
    return np.stack([half, ~half], axis=1).reshape(-1, PLAYERS)


def kernel_shap(utility: Utility, budget: int, rng: np.random.Generator) -> Array:
    """Sizes by the Shapley kernel, paired, equal weights."""
    empty, full = ends(utility)
    sizes = np.arange(1, PLAYERS)
    chances = 1.0 / (sizes * (PLAYERS - sizes))
    drawn = rng.choice(sizes, size=(budget - 2) // 2, p=chances / chances.sum())
    masks = paired(drawn, rng)
    return constrained(masks, utility(masks) - empty, np.ones(len(masks)), full - empty)


def leverage_shap(utility: Utility, budget: int, rng: np.random.Generator) -> Array:
    """Pairs without replacement; the leverage scores make all sizes equally likely."""
    empty, full = ends(utility)
    seen: dict[bytes, NDArray[np.bool_]] = {}
    while 2 * len(seen) < budget - 2:
        pair = paired(rng.integers(1, PLAYERS, size=1), rng)
        pair = pair[np.lexsort(pair.T)]
        seen.setdefault(pair[0].tobytes(), pair)
    masks = np.concatenate(list(seen.values()))[: budget - 2]
    sizes = masks.sum(axis=1)
    # Kernel over probability: 1/(C(n, s)·s·(n − s)) over 1/C(n, s).
    weights = 1.0 / (sizes * (PLAYERS - sizes))
    return constrained(masks, utility(masks) - empty, weights, full - empty)


def context_cite(utility: Utility, budget: int, rng: np.random.Generator) -> Array:
    """Return the LASSO of ContextCite on sets of passages drawn by fair coins."""
    from sklearn.linear_model import Lasso

    masks = rng.random((budget, PLAYERS)) < 0.5
    values = utility(masks)
    scale = float(values.std()) or 1.0
    model = Lasso(alpha=0.01, max_iter=10_000).fit(masks, (values - values.mean()) / scale)
    return np.asarray(model.coef_ * scale)


def window_calls(width: int) -> int:
    """Return how many prompts leave out passages that lie within a window, or none.

    Examples
    --------
    >>> [window_calls(width) for width in (1, 3, 4, 5, 15)]
    [16, 56, 104, 192, 32768]
    """
    return 1 + sum(2 ** (min(width, PLAYERS - first) - 1) for first in range(PLAYERS))


def llmshap_windows(utility: Utility, budget: int, _rng: np.random.Generator) -> Array:
    """Return mean Shapley values within the windows around a passage; all others are shown."""
    width = max(width for width in range(1, PLAYERS) if window_calls(width) <= budget)
    totals, windows = np.zeros(PLAYERS), np.zeros(PLAYERS)
    for first in range(PLAYERS):
        members = np.arange(first, min(first + width, PLAYERS))
        masks = np.ones((1 << len(members), PLAYERS), dtype=bool)
        masks[:, members] = np.arange(len(masks))[:, None] >> np.arange(len(members)) & 1
        totals[members] += fs.exact(fs.games.TableGame(utility(masks))).values
        windows[members] += 1
    return totals / windows


def llmshap_counterfactual(utility: Utility, _budget: int, _rng: np.random.Generator) -> Array:
    """Return what each passage adds to all others: 16 calls."""
    return ends(utility)[1] - utility(~np.eye(PLAYERS, dtype=bool))


def fairshapley(utility: Utility, budget: int, rng: np.random.Generator) -> Array:
    """Return the default, with the calls that look for noise."""

    def function(chosen: tuple[int, ...]) -> float:
        mask = np.zeros((1, PLAYERS), dtype=bool)
        mask[0, list(chosen)] = True
        return float(utility(mask)[0])

    seed = int(rng.integers(2**31))
    result = fs.estimate(function, players=range(PLAYERS), budget=budget, seed=seed)
    assert result.run.computed <= budget
    return result.values


PEERS = (kernel_shap, leverage_shap, context_cite, llmshap_windows, llmshap_counterfactual)
WAYS = {way.__name__: way for way in (fairshapley, *PEERS)}


def main() -> None:
    """Print two tables: errors, and how often the three best are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    errors: dict[tuple[str, int], list[float]] = {
        (way, budget): [] for way in WAYS for budget in BUDGETS
    }
    named: dict[tuple[str, int], list[bool]] = {key: [] for key in errors}
    write = sys.stdout.write
    write("| game | calls | " + " | ".join(WAYS) + " |\n|---|---|" + "---|" * len(WAYS) + "\n")
    for name, made in GAMES.items():
        for budget in BUDGETS:
            cells = []
            for way, estimate in WAYS.items():
                squares = []
                for run in range(runs):
                    utility = made(np.random.default_rng([run, 1]))
                    game = _Table(utility)
                    truth = fs.exact(game).values
                    values = estimate(utility, budget, np.random.default_rng([run, 2]))
                    squares.append(float(np.mean((values - truth) ** 2) / np.mean(truth**2)))
                    best = set(np.argsort(truth)[-TOP:])
                    named[way, budget].append(set(np.argsort(values)[-TOP:]) == best)
                errors[way, budget] += squares
                cells.append(f"{np.sqrt(np.mean(squares)):.3f}")
            write(f"| {name} | {budget} | " + " | ".join(cells) + " |\n")
    for title, table, fold in (
        ("all: relative RMSE", errors, lambda found: np.sqrt(np.mean(found))),
        ("all: three best named", named, np.mean),
    ):
        for budget in BUDGETS:
            cells = [f"{fold(table[way, budget]):.3f}" for way in WAYS]
            write(f"| {title} | {budget} | " + " | ".join(cells) + " |\n")


class _Table:
    """A game of a batch utility, for exact values."""

    n_players = PLAYERS

    def __init__(self, utility: Utility) -> None:
        self.utility = utility

    def __call__(self, masks: NDArray[np.bool_]) -> Array:
        return self.utility(masks)


if __name__ == "__main__":
    main()
