"""Truths: from a formula, from all coalitions, or from a long run; kept with their own errors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import fairshapley as fs
from benchmarks.efficiency.cases import Case, knn_values
from fairshapley.games import Game

TRUTHS = Path(__file__).with_name("truths")
# Another seed than any repeat's.
SEED = 987_654_321
# Errors of a truth must be ten times smaller than those compared: a hundred times the evaluations
# of the same method, and half as many again for the luck of the draw.
LONG_RUN = 150


@dataclass(frozen=True, eq=False)
class Truth:
    """True values and how well they are known."""

    values: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    source: str


def truth_of(case: Case, game: Game, *, renew: bool = False, folder: Path = TRUTHS) -> Truth:
    """Return the truth of a case, computed when it is not kept for this very game."""
    path = folder / f"{case.name}.json"
    utilities = probe(game)
    if path.exists() and not renew:
        kept = json.loads(path.read_text())
        if np.allclose(kept.get("utilities", np.nan), utilities, rtol=1e-9, atol=1e-12):
            errors = np.array(kept["standard_errors"])
            return Truth(np.array(kept["values"]), errors, kept["source"])
    found = _compute(case, game)
    record = {
        "utilities": utilities.tolist(),
        "source": found.source,
        "values": found.values.tolist(),
        "standard_errors": found.standard_errors.tolist(),
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record, indent=0) + "\n", encoding="utf-8")
    return found


def probe(game: Game) -> NDArray[np.float64]:
    """Utilities of some coalitions: by them a kept truth is known to be that of a game.

    A fingerprint would change with the code that computes the game; these change with the game.
    """
    n_players = game.n_players
    rows = np.random.default_rng(0).random((30, n_players)) < 0.5
    ends = np.repeat([[False], [True]], n_players, axis=1)
    return np.asarray(game(np.concatenate([ends, rows])), dtype=np.float64)


def _compute(case: Case, game: Game) -> Truth:
    if case.truth == "exact":
        values = fs.exact(game).values
        return Truth(values, np.zeros_like(values), "all coalitions")
    if case.truth == "formula":
        values = knn_values() if case.name.startswith("knn") else _known_values(game)
        return Truth(values, np.zeros_like(values), "formula")
    budget = LONG_RUN * max(case.per_player) * game.n_players
    run = fs.estimate(game, "adjusted", budget=budget, seed=SEED, progress=False)
    return Truth(run.values, run.standard_errors, f"adjusted, {run.evaluations:,} evaluations")


def _known_values(game: Game) -> NDArray[np.float64]:
    values: NDArray[np.float64] = game.shapley_values  # type: ignore[attr-defined]
    return values
